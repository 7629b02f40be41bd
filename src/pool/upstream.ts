// One server of the configuration: its two lanes, what is known of its era, and what it reports of itself.
import { clip, McpxError } from '../base/index.ts'
import type { Cancellation, FailureCode } from '../base/index.ts'
import { describeClose, stderrOf } from '../era/index.ts'
import type { EraRecord } from '../era/index.ts'
import { ERRORS, eraOf } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Answer, Authorizer, Target } from '../wire/index.ts'
import { AskMemory } from './ask-memory.ts'
import type { StrayInquiry, TaskAsker } from './asker.ts'
import { connect, serverInfoOf } from './connect.ts'
import type { Connecting, ProbeFrame } from './connect.ts'
import type { Connection } from './connection.ts'
import type { Instance, Lease } from './instance.ts'
import { Lane } from './lane.ts'
import { Needs } from './needs.ts'
import type { Need } from './need.ts'
import { planStart, recordOf } from './plan.ts'
import type { LaneName } from './plan.ts'
import type { UpstreamRequest } from './request.ts'
import type { ServerSpec } from './server-spec.ts'
import type { LeaseFor, Served, Shared } from './shared.ts'
import { remedyFor } from './trouble.ts'
import type { Remedy } from './trouble.ts'

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
  readonly #asks: AskMemory
  /** Answers what the server asks and no call can be named for; without it such questions are refused. Never rejects. */
  onStray: ((inquiry: StrayInquiry, owner: Need) => Promise<Answer>) | undefined
  /** Who answers for a task of this server, by the server's own id of it. */
  taskAsker: ((task: string) => TaskAsker | undefined) | undefined
  readonly #needs: Needs
  #lastStart: LastStart | undefined
  #refusedUntil = 0

  constructor(spec: ServerSpec, shared: Shared) {
    this.spec = spec
    this.#shared = shared
    this.#needs = new Needs(spec)
    this.#lanes = { main: this.#lane('main'), legacy: this.#lane('legacy') }
    // Without a record, as where the era is forced, what is learned lasts as long as the process.
    let unrecorded: readonly string[] = []
    this.#asks = new AskMemory(spec.asks ?? [], {
      recall: () => this.record?.asks ?? unrecorded,
      remember: (asks) => {
        const { record } = this
        if (record === undefined) unrecorded = asks
        else shared.eras.remember(spec.digest, { ...record, asks })
      },
    })
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

  /** Whether calls of that subject are known to ask their caller something. */
  asks(subject: string): boolean {
    return this.#asks.has(subject)
  }

  /** Whose instance a caller gets; undefined where it is everybody's, or only this call's. */
  ownerOf(who: LeaseFor): string | undefined {
    return this.#needs.ownerOf(who)
  }

  /** Tells the legacy instances of an owner something. */
  tell(owner: string, method: string): void {
    for (const { instance } of this.instances()) {
      const { connection } = instance
      if (instance.need.owner !== owner || connection?.verdict.era !== 'legacy') continue
      connection.notify(method, undefined)
    }
  }

  /** Equal for callers who may share what the server tells one of them, its lists for one. */
  sharing(who: LeaseFor): string {
    return this.#needs.sharing(who)
  }

  /** Leases a connection for a caller, opening one where needed. Rejects with the start's McpxError. */
  async lease(who: LeaseFor, cancellation?: Cancellation, asks = false): Promise<Lease> {
    // What the definition lacks no further try can bring.
    if (this.spec.target instanceof McpxError) throw this.spec.target
    const need = this.#needs.of(who, asks && this.record?.era !== 'modern')
    const lease = await this.#lanes.main.acquire(need, cancellation)
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
      return await this.#lanes.legacy.acquire(need, cancellation)
    } catch (error) {
      if (!(error instanceof McpxError) || cancellation?.reason !== undefined) throw error
      // A time-out or a crash is no refusal: the next call tries again. Only this one shares the modern session.
      if (REFUSALS.has(error.code)) this.#refusedUntil = this.#shared.clock.now() + this.#shared.eraMaxAge()
      return this.#lanes.main.acquire(need, cancellation)
    }
  }

  /** Another lease on the instance of an open connection, for what has to go on there; undefined where it takes none. */
  async hold(connection: Connection, who: LeaseFor): Promise<Lease | undefined> {
    for (const { instance } of this.instances()) {
      if (instance.connection !== connection || !instance.usable) continue
      return instance.lease(this.#needs.of(who, false))
    }
    return undefined
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
    const asks = request.asker !== undefined && this.#asks.has(request.asker.subject)
    const lease = await this.lease(who, request.cancellation, asks)
    const { connection } = lease
    const { answers, principal } = who
    try {
      const outcome = await connection.request({ answers, principal, ...request, asks }).then(
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

  async #answerStray(inquiry: StrayInquiry, owner: Need): Promise<Answer> {
    if (this.onStray !== undefined) return this.onStray(inquiry, owner)
    const message = `Method not found: ${clip(inquiry.request.method)}`
    return { error: { code: ERRORS.methodNotFound, message } }
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
      patience: () => tuning().callTimeout,
      server: this.name,
      start: async (instance, givenUp) => {
        const leave = await this.#shared.starts.enter(givenUp)
        began.set(instance, clock.now())
        try {
          if (givenUp.reason !== undefined) throw new McpxError('CANCELLED', givenUp.reason)
          const connecting = this.#connect(name, instance.need)
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

  #connect(lane: LaneName, need: Need): Connecting {
    const { spec } = this
    if (spec.target instanceof McpxError) throw spec.target
    const { clock, log, nextId, eras } = this.#shared
    const identity = { ...this.#shared.identity, capabilities: need.declared.capabilities }
    const dialer = this.#shared.dialer.named(spec.name)
    const memory = { eras, now: clock.now(), eraMaxAge: this.#shared.eraMaxAge() }
    const target = entered(spec.target, spec.authorizerFor?.(need.principal))
    const { callTimeout, callTimeoutMax } = spec.tuning()
    return connect({
      ...{ target, dialer, clock, log, identity, nextId, callTimeout, callTimeoutMax },
      plan: planStart(spec, lane, memory),
      onStrayInquiry: (inquiry) => this.#answerStray(inquiry, need),
      taskAsker: (task) => this.taskAsker?.(task),
      onSighting: (sighting, where) => this.#asks.learn(sighting, where),
      asksAside: () => this.#asks.aside,
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

/** The target with whoever holds its credentials; a process has none. */
function entered(target: Target, authorizer: Authorizer | undefined): Target {
  return target.kind === 'http' && authorizer !== undefined ? { ...target, authorizer } : target
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
