// A pool over peers in memory, with a clock that is turned by hand.
import { SILENT } from '../../src/base/index.ts'
import type { Cancellation } from '../../src/base/index.ts'
import { memoryOnly, Pool } from '../../src/pool/index.ts'
import type { Lease, LeaseFor, PoolEvent, ServerSpec, Upstream } from '../../src/pool/index.ts'
import type { EraMemory } from '../../src/era/index.ts'
import { ERA_MAX_AGE, specOf } from '../era/plans.ts'
import type { Preference } from '../era/plans.ts'
import { createFakeClock } from './clock.ts'
import type { FakeClock } from './clock.ts'
import type { Peer } from './peers.ts'

export interface Setup {
  readonly pool: Pool
  readonly clock: FakeClock
  readonly eras: EraMemory
  readonly events: PoolEvent[]
  readonly files: Upstream
  /** Names of the events so far, without notifications. */
  readonly kinds: () => string[]
}

export interface Options {
  readonly preference?: Preference
  readonly spec?: Partial<ServerSpec>
  readonly peers?: Readonly<Record<string, Peer>>
  readonly maxStarting?: number
  readonly eras?: EraMemory
}

export function setup(peer: Peer, options: Options = {}): Setup {
  const { preference = 'prefer-discover', eras = memoryOnly() } = options
  const clock = createFakeClock()
  const events: PoolEvent[] = []
  const base = { ...specOf(preference, 'stdio'), ...options.spec }
  const peers: Readonly<Record<string, Peer>> = { files: peer, ...options.peers }
  const specs = Object.keys(peers).map((name) => ({ ...base, name, digest: `digest of ${name}` }))
  const pool = new Pool(specs, {
    dialer: {
      named: (name) => {
        const dialer = peers[name]
        if (dialer === undefined) throw new Error(`no peer ${name}`)
        return dialer
      },
    },
    clock,
    log: SILENT,
    random: () => 1,
    identity: { info: { name: 'mcpx', version: '0' }, capabilities: {} },
    eras,
    eraMaxAge: () => ERA_MAX_AGE,
    maxStarting: options.maxStarting ?? 4,
  })
  pool.onEvent((event) => events.push(event))
  const files = pool.get('files')
  if (files === undefined) throw new Error('no server')
  const kinds = (): string[] => events.map(({ kind }) => kind).filter((kind) => kind !== 'notification')
  return { pool, clock, eras, events, files, kinds }
}

export const who = (principal = 'ann', more: Partial<LeaseFor> = {}): LeaseFor => ({
  ...{ principal, session: undefined, revision: undefined },
  ...more,
})

export interface Watched {
  lease?: Lease
  code?: string
}

/** How a lease ended so far. */
export function lease(upstream: Upstream, caller: LeaseFor = who(), cancellation?: Cancellation): Watched {
  const seen: Watched = {}
  upstream.lease(caller, cancellation).then(
    (held) => (seen.lease = held),
    (error: { code: string }) => (seen.code = error.code),
  )
  return seen
}
