// One server of the configuration: its two lanes, what is known of its era, and what it reports of itself.
import { McpxError } from '../base/index.ts'
import type { Cancellation, Clock, FailureCode, Log } from '../base/index.ts'
import { describeClose, stderrOf } from '../era/index.ts'
import type { EraMemory, EraRecord } from '../era/index.ts'
import { eraOf } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Answer, CloseReason, Dialer, RpcNotification } from '../wire/index.ts'
import { connect, serverInfoOf } from './connect.ts'
import type { Connecting, ProbeFrame } from './connect.ts'
import type { Connection, Identity, UpstreamRequest } from './connection.ts'
import type { Instance, Lease } from './instance.ts'
import { Lane } from './lane.ts'
import type { Line } from './line.ts'
import { planStart, recordOf } from './plan.ts'
import type { LaneName } from './plan.ts'
import type { ServerSpec } from './server-spec.ts'
import { remedyFor } from './trouble.ts'
import type { Remedy } from './trouble.ts'

/** What the pool shares between all servers. */
export interface Shared {
  /** Dialers by the server's name, for their messages and logs. */
  readonly dialer: { named(server: string): Dialer }
  readonly clock: Clock
  readonly log: Log
  /** Numbers from 0 to 1. */
  readonly random: () => number
  readonly identity: Identity
  readonly eras: EraMemory
  /** How long a legacy record is believed, in ms. */
  readonly eraMaxAge: () => number
  /** The places to start servers in. */
  readonly starts: Line
  readonly nextId: () => number
  readonly onEvent: (event: PoolEvent) => void
}

export type PoolEvent =
  | {
      readonly kind: 'start'
      readonly server: string
      readonly lane: LaneName
      readonly connection: Connection
      readonly ms: number
    }
  | {
      readonly kind: 'start-failed'
      readonly server: string
      readonly lane: LaneName
      readonly error: McpxError
      readonly ms: number
    }
  | { readonly kind: 'stop'; readonly server: string; readonly lane: LaneName; readonly reason: CloseReason }
  | {
      readonly kind: 'era-stale'
      readonly server: string
      readonly was: EraRecord | undefined
      readonly now: string
    }
  | {
      readonly kind: 'notification'
      readonly server: string
      readonly connection: Connection
      readonly notification: RpcNotification
    }

/** Who needs a connection: decides scope key and lane. */
export interface LeaseFor {
  readonly principal: string
  readonly session: string | undefined
  /** The caller's revision, undefined for calls that come from no client (the catalogue, REST): those are modern. */
  readonly revision: RevisionId | undefined
}

/** A server's answer, and the connection that it came over. */
export interface Served {
  readonly answer: Answer
  readonly connection: Connection
}

interface Attempt {
  readonly outcome: { readonly answer: Answer } | { readonly error: unknown }
  readonly connection: Connection
  readonly remedy: Remedy | undefined
}

/** What can be said of a server as a whole; its instances have states of their own. */
export type UpstreamState = 'idle' | 'starting' | 'ready' | 'failed'

export interface LastStart {
  readonly lane: LaneName
  readonly ms: number
  readonly frames: readonly ProbeFrame[]
  readonly connection: Connection | undefined
  readonly error: McpxError | undefined
}

/** How a server refuses `initialize` for good: by an error of its own, or by a status. */
const REFUSALS: ReadonlySet<FailureCode> = new Set(['ERA_REFUSED', 'LEGACY_HTTP_REFUSED'])

export class Upstream {
  readonly spec: ServerSpec
  readonly #shared: Shared
  readonly #lanes: Readonly<Record<LaneName, Lane>>
  #lastStart: LastStart | undefined
  #refusedUntil = 0
  #calls = 0

  constructor(spec: ServerSpec, shared: Shared) {
    this.spec = spec
    this.#shared = shared
    this.#lanes = { main: this.#lane('main'), legacy: this.#lane('legacy') }
  }

  get name(): string {
    return this.spec.name
  }

  /** The last start that ended, well or not. */
  get lastStart(): LastStart | undefined {
    return this.#lastStart
  }

  get lastError(): McpxError | undefined {
    if (this.spec.target instanceof McpxError) return this.spec.target
    return this.#lanes.main.circuit.lastError
  }

  get record(): EraRecord | undefined {
    return this.#shared.eras.recall(this.spec.digest)
  }

  instances(): readonly { readonly lane: LaneName; readonly instance: Instance }[] {
    return (['main', 'legacy'] as const).flatMap((lane) =>
      this.#lanes[lane].instances.map((instance) => ({ lane, instance })),
    )
  }

  get state(): UpstreamState {
    const states = this.instances().map(({ instance }) => instance.state)
    if (states.includes('ready')) return 'ready'
    if (states.includes('starting') || states.includes('waiting')) return 'starting'
    return this.spec.target instanceof McpxError || this.lastError !== undefined ? 'failed' : 'idle'
  }

  /** The connection that serves most callers, when one is open. */
  get current(): Connection | undefined {
    return this.#lanes.main.instances.find((instance) => instance.state === 'ready')?.connection
  }

  /** Leases a connection for a caller, opening one where needed. Rejects with the start's McpxError. */
  async lease(who: LeaseFor, cancellation?: Cancellation): Promise<Lease> {
    // What the definition lacks no further try can bring.
    if (this.spec.target instanceof McpxError) throw this.spec.target
    const key = this.#scopeKey(who)
    const lease = await this.#lanes.main.acquire(key, cancellation)
    const legacyCaller = who.revision !== undefined && eraOf(who.revision) === 'legacy'
    if (
      this.spec.tuning().preference !== 'follow' ||
      !legacyCaller ||
      lease.connection.verdict.era === 'legacy'
    )
      return lease
    if (this.#shared.clock.now() < this.#refusedUntil) return lease
    // Waiting for the other lane must not keep a place of this one.
    lease.release()
    try {
      return await this.#lanes.legacy.acquire(key, cancellation)
    } catch (error) {
      if (!(error instanceof McpxError) || cancellation?.reason !== undefined) throw error
      // A time-out or a crash is no refusal: the next call tries again. Only this one shares the modern session.
      if (REFUSALS.has(error.code)) this.#refusedUntil = this.#shared.clock.now() + this.#shared.eraMaxAge()
      return this.#lanes.main.acquire(key, cancellation)
    }
  }

  /**
   * Sends a request over a leased connection and resolves with the server's answer. Where the outcome proves that the request
   * did not run, or where it is safe to repeat, it is sent once more over another connection. Rejects with the McpxError of
   * the start or of the request.
   */
  async request(who: LeaseFor, request: UpstreamRequest): Promise<Served> {
    const first = await this.#attempt(who, request)
    const again = first.remedy?.resend === true && request.cancellation?.reason === undefined
    const { outcome, connection } = again ? await this.#attempt(who, request) : first
    if ('error' in outcome) throw outcome.error
    return { answer: outcome.answer, connection }
  }

  /** Starts the instance that most callers share, for nobody in particular. */
  start(): void {
    const nobody = { principal: '', session: undefined, revision: undefined }
    this.lease(nobody).then(
      (lease) => lease.release(),
      () => {},
    )
  }

  /** Ends all instances; the next call starts fresh ones. */
  async restart(reason: string): Promise<void> {
    await Promise.all([this.#lanes.main.close(reason), this.#lanes.legacy.close(reason)])
  }

  async stop(reason: string): Promise<void> {
    await Promise.all([this.#lanes.main.stop(reason), this.#lanes.legacy.stop(reason)])
  }

  async #attempt(who: LeaseFor, request: UpstreamRequest): Promise<Attempt> {
    const lease = await this.lease(who, request.cancellation)
    const { connection } = lease
    try {
      const outcome = await connection.request(request).then(
        (answer) => ({ answer }),
        (error: unknown) => ({ error }),
      )
      const remedy = remedyFor(outcome, connection.verdict, request.method)
      if (remedy?.leave === true) for (const lane of Object.values(this.#lanes)) lane.leave(connection)
      if (remedy?.doubt === true) this.#doubt()
      return { outcome, connection, remedy }
    } finally {
      lease.release()
    }
  }

  /** What is remembered is not believed at the next start. */
  #doubt(): void {
    const { record } = this
    if (record !== undefined) this.#shared.eras.remember(this.spec.digest, { ...record, doubted: true })
  }

  #scopeKey(who: LeaseFor): string {
    switch (this.spec.scope) {
      case 'global':
        return ''
      case 'principal':
        return `principal ${who.principal}`
      case 'session':
        // Without a session the nearest thing that shares less is the call itself.
        return who.session === undefined ? `call ${++this.#calls}` : `session ${who.session}`
      case 'call':
        return `call ${++this.#calls}`
    }
  }

  #lane(name: LaneName): Lane {
    const { max, min, tuning } = this.spec
    const { clock, random } = this.#shared
    const began = new WeakMap<Instance, number>()
    const ended = (instance: Instance, outcome: Pick<LastStart, 'connection' | 'error'>): number => {
      const ms = clock.now() - (began.get(instance) ?? clock.now())
      this.#lastStart = { lane: name, ms, frames: instance.frames, ...outcome }
      return ms
    }
    return new Lane({
      ...{ max, min: name === 'main' ? min : 0, clock, random },
      idleTimeout: () => tuning().idleTimeout,
      server: this.name,
      start: async (instance, givenUp) => {
        const leave = await this.#shared.starts.enter(givenUp)
        began.set(instance, clock.now())
        try {
          if (givenUp.reason !== undefined) throw new McpxError('CANCELLED', givenUp.reason)
          const connecting = this.#connect(name)
          connecting.connected.finally(leave).catch(() => {})
          return connecting
        } catch (error) {
          leave()
          throw error
        }
      },
      onReady: (instance, connection) => {
        const ms = ended(instance, { connection, error: undefined })
        if (name === 'main') this.#learn(connection)
        this.#shared.onEvent({ kind: 'start', server: this.name, lane: name, connection, ms })
      },
      onFailed: (instance, error) => {
        const ms = ended(instance, { connection: undefined, error })
        this.#shared.onEvent({ kind: 'start-failed', server: this.name, lane: name, error, ms })
      },
    })
  }

  #connect(lane: LaneName): Connecting {
    const { spec } = this
    if (spec.target instanceof McpxError) throw spec.target
    const { clock, log, identity, nextId, eras } = this.#shared
    const dialer = this.#shared.dialer.named(spec.name)
    const memory = { eras, now: clock.now(), eraMaxAge: this.#shared.eraMaxAge() }
    const { target } = spec
    const { callTimeout, callTimeoutMax } = spec.tuning()
    return connect({
      ...{ target, dialer, clock, log, identity, nextId, callTimeout, callTimeoutMax },
      plan: planStart(spec, lane, memory),
      onClosed: (reason, connection) => {
        const text = `Server "${spec.name}" ${describeClose(reason)}.${stderrOf(reason)}`
        const error = new McpxError('UPSTREAM_CLOSED', text, { data: { reason } })
        this.#lanes[lane].lost(connection, error)
        this.#shared.onEvent({ kind: 'stop', server: spec.name, lane, reason })
      },
      onNotification: (notification, connection) =>
        this.#shared.onEvent({ kind: 'notification', server: spec.name, connection, notification }),
      onCorrected: (revision) => this.#correct(revision),
    })
  }

  #learn(connection: Connection): void {
    const { eras, clock } = this.#shared
    const { verdict } = connection
    const previous = this.record
    const info = serverInfoOf(verdict)
    const server = { name: textOf(info?.['name']), version: textOf(info?.['version']) }
    const record = recordOf(this.spec, verdict, { now: clock.now(), previous, server })
    if (record !== undefined) eras.remember(this.spec.digest, record)
    // A record that was not believed any more may have been wrong too. One that another preference made says nothing.
    const changed = record !== undefined && previous?.first === record.first && previous.era !== record.era
    if (verdict.stale || changed || record?.doubted === true) {
      this.#shared.onEvent({ kind: 'era-stale', server: this.name, was: previous, now: verdict.revision })
    }
  }

  #correct(revision: RevisionId): void {
    const previous = this.record
    if (previous === undefined) return
    const { eras, clock } = this.#shared
    eras.remember(this.spec.digest, {
      ...previous,
      era: 'modern',
      revision,
      source: 'raced',
      at: clock.now(),
    })
    this.#shared.onEvent({ kind: 'era-stale', server: this.name, was: previous, now: revision })
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
