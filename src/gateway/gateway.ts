// The gateway: every server behind one view, and each behind one of its own.
import { McpxError } from '../base/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { Pool } from '../pool/index.ts'
import { METHOD } from '../spec/index.ts'
import type { Sealer } from '../wire/index.ts'
import { Inbox, Parking, Questions, States, Strays } from './questions/index.ts'
import { LoginDesk } from './logins.ts'
import type { LoginWatch } from './logins.ts'
import { Member } from './member.ts'
import type { MemberOptions } from './member.ts'
import type { Naming } from './names.ts'
import { TaskIds, Tasks } from './tasks/index.ts'
import { View } from './view.ts'

export interface GatewayOptions {
  readonly pool: Pool
  /** What the configuration says of each server, by name. */
  readonly servers: ReadonlyMap<string, Omit<MemberOptions, 'upstream'>>
  readonly naming: Naming
  readonly patience: () => number
  readonly questions: QuestionOptions
  /** The logins that are under way, where anybody can log in. */
  readonly logins?: LoginWatch | undefined
  readonly clock: Clock
  readonly log: Log
}

/** How questions are carried. Read anew for each of them; times in ms. */
export interface QuestionOptions {
  readonly sealer: Sealer
  readonly newId: () => string
  /** The principal of whoever runs mcpx. */
  readonly operator: string
  readonly ttl: () => number
  readonly stateTtl: () => number
  readonly rounds: () => number
  readonly inbox: () => 'watched' | 'always' | 'off'
  readonly maxParked: () => number
  readonly maxParkedAll: () => number
}

export interface Gateway {
  /** All servers. */
  readonly merged: View
  /** One server under its own names, or undefined where the configuration has none of that name. */
  only(server: string): View | undefined
  readonly members: readonly Member[]
  /** The servers' names. */
  readonly names: readonly string[]
  readonly inbox: Inbox
  /** Calls that wait on a server for an answer of their caller. */
  readonly parked: () => number
  /** Somebody has logged in to a server: what it offers can be had now. */
  loggedIn(server: string): void
  /** Ends what waits for answers. */
  stop(reason: string): void
}

/** Throws `NAME_CLASH` where two servers' names could not be told apart. */
export function createGateway(options: GatewayOptions): Gateway {
  const { pool, servers, naming, patience, clock, log } = options
  const { inbox, parking, strays, questions } = questionsOf(options)
  const { sealer, newId } = options.questions
  const taskIds = new TaskIds(sealer)
  const tasks = new Tasks({ ids: taskIds, clock, questions, newId })
  const members = pool.upstreams.map((upstream): Member => {
    const { prefix = upstream.name, filter = NO_FILTER, roots } = servers.get(upstream.name) ?? {}
    const member = new Member(
      { upstream, prefix, filter, roots },
      { clock, log, questions, strays, taskIds, patience },
    )
    upstream.taskAsker = (own) => tasks.asker(member, own)
    return member
  })
  if (naming === 'prefix') refuseClash(members)
  const logins = new LoginDesk({ questions, watch: options.logins })
  const view = (some: readonly Member[]): View =>
    new View({ members: some, naming, patience, tasks, logins, clock, log })
  const single = new Map(members.map((member) => [member.name, view([member])]))
  const byName = new Map(members.map((member) => [member.name, member]))
  pool.onEvent((event) => {
    const member = byName.get(event.server)
    if (event.kind === 'start') member?.started(event.connection)
    if (event.kind === 'stop') member?.stopped()
    if (event.kind !== 'notification' || member === undefined) return
    const { method, params = {} } = event.notification
    if (method === METHOD.taskStatus || method === METHOD.taskChanged) tasks.heard(member, method, params)
    else member.heard(method, params)
  })
  return {
    ...{ merged: view(members), only: (server) => single.get(server), members, inbox },
    names: members.map(({ name }) => name),
    parked: () => parking.size,
    loggedIn: (server) => byName.get(server)?.entered(),
    stop: (reason) => {
      parking.stop(reason)
      tasks.book.stop(reason)
    },
  }
}

function questionsOf({ questions: options, clock }: GatewayOptions): {
  readonly inbox: Inbox
  readonly parking: Parking
  readonly strays: Strays
  readonly questions: Questions
} {
  const { sealer, newId, operator, ttl, stateTtl, rounds, maxParked, maxParkedAll } = options
  const states = new States(sealer, clock, stateTtl)
  const inbox = new Inbox({ clock, ttl, newId, mode: options.inbox })
  const strays = new Strays({ clock, inbox, operator })
  const parking = new Parking({
    ...{ clock, states, newId, ttl, rounds, replica: newId() },
    ...{ perPrincipal: maxParked, inAll: maxParkedAll },
  })
  return {
    inbox,
    parking,
    strays,
    questions: new Questions({ clock, states, inbox, parking, strays, ttl, rounds }),
  }
}

const NO_FILTER = { include: undefined, exclude: undefined }

function refuseClash(members: readonly Member[]): void {
  const owners = new Map<string, string>()
  for (const { name, prefix } of members) {
    const owner = owners.get(prefix)
    if (owner !== undefined) {
      throw new McpxError(
        'NAME_CLASH',
        `Servers "${owner}" and "${name}" have the same prefix "${prefix}". Give one of them another "prefix".`,
      )
    }
    owners.set(prefix, name)
  }
}
