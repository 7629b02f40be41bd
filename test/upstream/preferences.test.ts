// Every preference with every kind of server on both transports: what is sent first, what comes of it, and what is remembered;
// at the first start, at the second, and with a record that is wrong.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import type { Child } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import {
  openingsIn,
  plant,
  processesIn,
  recorded,
  recordedIn,
  recordOf,
  remembered,
  digestOf,
  startIn,
  startRecorded,
  watch,
} from './setup.ts'
import type { Event } from './setup.ts'

const PREFERENCES = [
  'prefer-discover',
  'prefer-initialize',
  'force-discover',
  'force-initialize',
  'follow',
] as const
const KINDS = ['old', 'dual', 'new'] as const
const TRANSPORTS = ['stdio', 'http'] as const
const MEMORIES = ['cold', 'warm', 'wrong'] as const
type Preference = (typeof PREFERENCES)[number]
type Kind = (typeof KINDS)[number]
type Memory = (typeof MEMORIES)[number]

/** Opening requests in order; then the era with its source, or the code of the error; `!` marks a record found wrong. */
const TABLE: Record<Preference, Record<Kind, Record<Memory, string>>> = {
  'prefer-discover': {
    old: {
      cold: 'discover initialize: legacy probe',
      warm: 'initialize: legacy cache',
      wrong: 'discover initialize: legacy probe !',
    },
    dual: {
      cold: 'discover: modern probe',
      warm: 'discover: modern cache',
      // A dual-era server does as it is asked, so only the record's age can show that it is wrong.
      wrong: 'initialize: legacy cache',
    },
    new: {
      cold: 'discover: modern probe',
      warm: 'discover: modern cache',
      wrong: 'initialize discover: modern probe !',
    },
  },
  'prefer-initialize': {
    old: {
      cold: 'initialize: legacy probe',
      warm: 'initialize: legacy cache',
      wrong: 'discover initialize: legacy probe !',
    },
    dual: {
      cold: 'initialize: legacy probe',
      warm: 'initialize: legacy cache',
      wrong: 'discover: modern cache',
    },
    new: {
      cold: 'initialize discover: modern probe',
      warm: 'discover: modern cache',
      wrong: 'initialize discover: modern probe !',
    },
  },
  'force-discover': {
    old: forced('discover: ERA_REFUSED'),
    dual: forced('discover: modern forced'),
    new: forced('discover: modern forced'),
  },
  'force-initialize': {
    old: forced('initialize: legacy forced'),
    dual: forced('initialize: legacy forced'),
    new: forced('initialize: ERA_REFUSED'),
  },
  follow: {
    old: {
      cold: 'discover initialize: legacy probe',
      warm: 'initialize: legacy cache',
      wrong: 'discover initialize: legacy probe !',
    },
    dual: {
      cold: 'discover: modern probe',
      warm: 'discover: modern cache',
      wrong: 'initialize: legacy cache',
    },
    new: {
      cold: 'discover: modern probe',
      warm: 'discover: modern cache',
      wrong: 'initialize discover: modern probe !',
    },
  },
}

function forced(outcome: string): Record<Memory, string> {
  return { cold: outcome, warm: outcome, wrong: outcome }
}

const cells = TRANSPORTS.flatMap((transport) =>
  KINDS.flatMap((kind) =>
    PREFERENCES.map((preference) => ({
      transport,
      kind,
      preference,
      name: `${preference}-${kind}-${transport}`,
    })),
  ),
)
type Cell = (typeof cells)[number]

interface Seen {
  readonly outcome: string
  readonly processes: number
  readonly revision: string | undefined
  readonly record: object | undefined
}

let workspace: Workspace
let upstreams: Record<Kind, Child & { readonly url: string }>
let config: JsonObject
const planted = Object.fromEntries(cells.map(wrongRecord))
const seen = {} as Record<Memory, Record<string, Seen>>

beforeAll(async () => {
  workspace = await openWorkspace()
  const http = (...args: [string, ...string[]]) => startRecorded(workspace.file('http'), ...args)
  const [old, dual, only] = await Promise.all([
    http('sdk-v1', 'sessions'),
    http('sdk-v2', 'http'),
    http('sdk-v2', 'http', 'modern-only'),
  ])
  upstreams = { old, dual, new: only }
  config = {
    mcpServers: Object.fromEntries(cells.map((cell) => [cell.name, definitionOf(cell)])),
    // Nothing here is decided by time, however busy the machine is.
    upstream: { probeTimeout: '60s' },
  }
  await using configured = await openWorkspace(config, { MCPX_STATE_DIR: workspace.file('state') })
  for (const memory of MEMORIES) {
    if (memory === 'wrong') await plant(workspace, config, planted)
    seen[memory] = await look(configured)
  }
}, 240_000)
afterAll(async () => {
  for (const upstream of Object.values(upstreams)) await upstream.stop('SIGTERM')
  await workspace[Symbol.asyncDispose]()
})

function definitionOf({ name, transport, kind, preference }: Cell): object {
  const programs = { old: ['sdk-v1'], dual: ['sdk-v2'], new: ['sdk-v2', 'modern-only'] } as const
  const [program, ...args] = programs[kind]
  const place =
    transport === 'stdio'
      ? recorded(workspace.file(name), program, ...args)
      : { url: `${upstreams[kind].url}?${name}` }
  return { ...place, protocol: preference }
}

function wrongRecord({ name, transport, kind, preference }: Cell): [string, ReturnType<typeof recordOf>] {
  const right = TABLE[preference][kind].cold
  const record = recordOf(right.includes('legacy') ? 'modern' : 'legacy', {
    transport: transport === 'stdio' ? 'stdio' : 'streamable-http',
    first: preference === 'prefer-initialize' ? 'initialize' : 'discover',
    server: { name: kind === 'old' ? 'sdk-v1' : 'sdk-v2', version: '1.0.0' },
  })
  return [name, record]
}

/** One run of the daemon, in which each server is started once. */
async function look(configured: Workspace): Promise<Record<string, Seen>> {
  const before = Object.fromEntries(cells.map((cell) => [cell.name, framesOf(cell).length]))
  const daemon = await startIn(configured)
  const started = (name: string) => (all: readonly Event[]) =>
    all.find(({ type, data }) => type === 'server.start' && data['server'] === name)
  await using events = await watch(daemon.v1, 0)
  const all = await events.until((sofar) => cells.every(({ name }) => started(name)(sofar) !== undefined))
  await daemon.stop()
  const { records } = remembered(workspace)
  return Object.fromEntries(
    cells.map((cell) => {
      const { name } = cell
      const data: JsonObject = started(name)(all)?.data ?? {}
      const stale = all.some((event) => event.type === 'server.era.stale' && event.data['server'] === name)
      const frames = framesOf(cell).slice(before[name])
      const error = data['error'] as { code: string } | undefined
      const verdict = error === undefined ? `${String(data['era'])} ${String(data['eraSource'])}` : error.code
      const one: Seen = {
        outcome: `${openingsIn(frames)}: ${verdict}${stale ? ' !' : ''}`,
        processes: processesIn(frames).length,
        revision: data['revision'] as string | undefined,
        record: records[digestOf(config, name)],
      }
      return [name, one]
    }),
  )
}

function framesOf({ name, transport }: Cell) {
  if (transport === 'stdio') return recordedIn(workspace.file(name))
  return recordedIn(workspace.file('http')).filter(({ url }) => url?.endsWith(`?${name}`))
}

const rows = MEMORIES.flatMap((memory) => cells.map((cell) => ({ ...cell, memory })))

test.each(rows)(
  '$memory: $preference, $kind server on $transport',
  ({ memory, name, kind, preference, transport }) => {
    const { outcome, revision, processes, record } = seen[memory][name] as Seen
    const expected = TABLE[preference][kind][memory]
    expect(outcome).toBe(expected)
    const era = /legacy|modern/.exec(expected)?.[0]
    expect(revision).toBe({ legacy: '2025-11-25', modern: '2026-07-28' }[era ?? ''])
    expect(processes).toBe(transport === 'stdio' ? 1 : 0)
    const untouched = memory === 'wrong' ? planted[name] : undefined
    expect(record).toEqual(preference.startsWith('force') ? untouched : expect.objectContaining({ era }))
  },
)
