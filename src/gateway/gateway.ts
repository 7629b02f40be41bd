// The gateway: every server behind one view, and each behind one of its own.
import { McpxError } from '../base/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { Pool } from '../pool/index.ts'
import { methodIn, newest } from '../spec/index.ts'
import { LISTS } from './lists.ts'
import type { ListKind } from './lists.ts'
import { Member } from './member.ts'
import type { MemberOptions } from './member.ts'
import type { Naming } from './names.ts'
import { View } from './view.ts'

export interface GatewayOptions {
  readonly pool: Pool
  /** What the configuration says of each server, by name. */
  readonly servers: ReadonlyMap<string, Omit<MemberOptions, 'upstream'>>
  readonly naming: Naming
  readonly patience: () => number
  readonly clock: Clock
  readonly log: Log
}

export interface Gateway {
  /** All servers. */
  readonly merged: View
  /** One server under its own names, or undefined where the configuration has none of that name. */
  only(server: string): View | undefined
  readonly members: readonly Member[]
}

/** Throws `NAME_CLASH` where two servers' names could not be told apart. */
export function createGateway(options: GatewayOptions): Gateway {
  const { pool, servers, naming, patience, clock, log } = options
  const members = pool.upstreams.map((upstream) => {
    const { prefix = upstream.name, filter = NO_FILTER } = servers.get(upstream.name) ?? {}
    return new Member({ upstream, prefix, filter }, { clock, log })
  })
  if (naming === 'prefix') refuseClash(members)
  const view = (some: readonly Member[]): View => new View({ members: some, naming, patience, clock, log })
  const single = new Map(members.map((member) => [member.name, view([member])]))
  const byName = new Map(members.map((member) => [member.name, member]))
  pool.onEvent((event) => {
    if (event.kind !== 'notification') return
    const member = byName.get(event.server)
    const changed = changedLists(event.notification.method)
    for (const kind of changed) for (const lists of member?.allLists() ?? []) lists.invalidate(kind)
    const [first] = changed
    if (first !== undefined) member?.changes.tell(LISTS[first].capability)
  })
  return { merged: view(members), only: (server) => single.get(server), members }
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

/** The lists that a notification says have changed. */
function changedLists(method: string): ListKind[] {
  const declared = methodIn(newest(), method)?.capability
  return (Object.keys(LISTS) as ListKind[]).filter(
    (kind) => declared === `${LISTS[kind].capability}.listChanged`,
  )
}
