// Legacy sessions. What was agreed on travels sealed in the session's id, so that a session outlives the process and any
// replica with the key can serve it; what is kept here is only what is going on.
import { randomUUID } from 'node:crypto'
import { clip, isObject } from '../base/index.ts'
import type { Clock, JsonObject, Timer } from '../base/index.ts'
import { isRevisionId } from '../spec/index.ts'
import type { LogLevel, RevisionId } from '../spec/index.ts'
import type { Id } from '../wire/index.ts'
import type { InboundCall } from './inbound-call.ts'
import { DEFAULT_LEVEL } from './legacy.ts'
import { OpenQuestions } from './questions.ts'
import type { Sealer } from '../wire/index.ts'
import type { Quotas } from './quotas.ts'
import { KEPT_FOR, Streams } from './streams.ts'
import type { Stream } from './streams.ts'

/** What a client agreed on with `initialize`. */
export interface Agreement {
  readonly revision: RevisionId
  readonly clientInfo: JsonObject | undefined
  readonly capabilities: JsonObject
  readonly principal: string
}

export class Session implements Agreement {
  readonly id: string
  readonly revision: RevisionId
  readonly clientInfo: JsonObject | undefined
  readonly capabilities: JsonObject
  readonly principal: string
  lastUsed: number
  logLevel: LogLevel = DEFAULT_LEVEL
  #inFlight: Map<Id, InboundCall> | undefined
  #streams: Streams | undefined
  #questions: OpenQuestions | undefined
  #untune: (() => void) | undefined
  readonly #clock: Clock

  constructor(id: string, agreed: Agreement, clock: Clock) {
    this.#clock = clock
    this.id = id
    this.revision = agreed.revision
    this.clientInfo = agreed.clientInfo
    this.capabilities = agreed.capabilities
    this.principal = agreed.principal
    this.lastUsed = clock.now()
  }

  get inFlight(): Map<Id, InboundCall> {
    this.#inFlight ??= new Map()
    return this.#inFlight
  }

  get streams(): Streams {
    this.#streams ??= new Streams(this.#clock)
    return this.#streams
  }

  /** The session's own stream, where the client has it open. */
  get standing(): Stream | undefined {
    const stream = this.#streams?.standing
    return stream?.connected === true ? stream : undefined
  }

  /** Whether nothing goes on: no request, no stream, no question. */
  get quiet(): boolean {
    return (this.#inFlight?.size ?? 0) === 0 && (this.#streams?.connected ?? 0) === 0
  }

  /** What the client is being asked. */
  get questions(): OpenQuestions {
    this.#questions ??= new OpenQuestions()
    return this.#questions
  }

  /** Lets go of what is kept for a client that has it by now. Whether there will be more of that, without another request. */
  prune(): boolean {
    return this.#streams?.prune() === true
  }

  /** Begins what the client is told outside of calls, once. */
  tune(begin: () => (() => void) | undefined): void {
    this.#untune ??= begin()
  }

  end(reason: string): void {
    this.#untune?.()
    for (const call of this.#inFlight?.values() ?? []) call.cancellation.cancel(reason)
    this.questions.close(reason)
    this.#streams?.closeAll()
  }
}

export interface SessionsOptions {
  readonly clock: Clock
  readonly idle: () => number
  readonly sealer: Sealer
  /** Tells the sessions of one endpoint from those of another under the same key. */
  readonly path: string
  /** How many sessions of a principal are kept; without it, any number. */
  readonly quotas?: Quotas | undefined
}

/** Ended sessions that are remembered, so that their ids stay dead; the oldest go first. */
const MAX_ENDED = 10_000
/** Sessions that are looked at for one that can make room. */
const MAX_LOOKED_AT = 1_000

export class Sessions {
  readonly #clock: Clock
  readonly #idle: () => number
  readonly #sealer: Sealer
  readonly #purpose: string
  readonly #quotas: Quotas | undefined
  readonly #began: number
  readonly #live = new Map<string, Session>()
  readonly #ended = new Set<string>()
  #timer: Timer | undefined

  /** `idle` in ms: a session that was not used for so long is over. */
  constructor(options: SessionsOptions) {
    this.#purpose = `session ${options.path}`
    this.#quotas = options.quotas
    this.#clock = options.clock
    this.#idle = options.idle
    this.#sealer = options.sealer
    this.#began = options.clock.now()
  }

  get size(): number {
    return this.#live.size
  }

  /** A new session, or undefined where its principal has too many and all of them are in use. */
  open(agreed: Agreement): Session | undefined {
    this.#sweep()
    if (this.#quotas?.sessionsFull(agreed.principal) === true && !this.#makeRoom(agreed.principal))
      return undefined
    const now = this.#clock.now()
    const id = this.#sealer.seal(this.#purpose, {
      ...{ r: agreed.revision, c: agreed.capabilities, p: agreed.principal, t: now, n: randomUUID() },
      i: agreed.clientInfo && briefly(agreed.clientInfo),
    })
    const session = new Session(id, agreed, this.#clock)
    this.#keep(session)
    return session
  }

  /** The session of an id, where it is the principal's and not over. */
  get(id: string, principal: string): Session | undefined {
    const session = this.#live.get(id) ?? this.#revive(id)
    if (session === undefined || session.principal !== principal) return undefined
    const now = this.#clock.now()
    if (now - session.lastUsed > this.#idle()) {
      this.end(session, 'the session was idle for too long')
      return undefined
    }
    session.lastUsed = now
    // Whoever is used last stands last, so the sweep can stop at the first that is young enough.
    this.#drop(session)
    this.#keep(session)
    return session
  }

  end(session: Session, reason: string): void {
    this.#drop(session)
    this.#ended.add(session.id)
    const [oldest] = this.#ended
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest)
    session.end(reason)
    if (this.#live.size === 0) this.#rest()
  }

  /** A session that another process opened, or this one before it was restarted. */
  #revive(id: string): Session | undefined {
    if (this.#ended.has(id)) return undefined
    const sealed = this.#sealer.open(this.#purpose, id)
    if (sealed === undefined) return undefined
    const { r: revision, i: clientInfo, c: capabilities, p: principal, t: opened } = sealed
    if (typeof revision !== 'string' || !isRevisionId(revision)) return undefined
    if (typeof principal !== 'string' || typeof opened !== 'number') return undefined
    const agreed: Agreement = {
      ...{ revision, principal },
      clientInfo: isObject(clientInfo) ? clientInfo : undefined,
      capabilities: isObject(capabilities) ? capabilities : {},
    }
    const session = new Session(id, agreed, this.#clock)
    // When it was last used is not known; it may have been the moment before this process began.
    session.lastUsed = Math.max(opened, this.#began)
    return session
  }

  stop(reason: string): void {
    for (const session of this.#live.values()) session.end(reason)
    this.#rest()
  }

  #rest(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** One timer for all sessions, while any of them has what it may let go of. */
  #tick(): void {
    this.#timer ??= this.#clock.after(KEPT_FOR, () => {
      this.#timer = undefined
      this.#sweep()
      let more = false
      for (const session of this.#live.values()) more = session.prune() || more
      if (more) this.#tick()
    })
  }

  #keep(session: Session): void {
    this.#live.set(session.id, session)
    this.#quotas?.sessions(session.principal, 1)
    this.#tick()
  }

  #drop(session: Session): void {
    if (this.#live.delete(session.id)) this.#quotas?.sessions(session.principal, -1)
  }

  /** Forgets the principal's session that was not used for longest and does nothing. Its id stays good: whoever comes back with it goes on. */
  #makeRoom(principal: string): boolean {
    let left = MAX_LOOKED_AT
    for (const session of this.#live.values()) {
      if (left-- === 0) return false
      if (session.principal !== principal || !session.quiet) continue
      this.#drop(session)
      session.end('its place was needed')
      return true
    }
    return false
  }

  #sweep(): void {
    const oldest = this.#clock.now() - this.#idle()
    for (const session of this.#live.values()) {
      if (session.lastUsed >= oldest) return
      this.end(session, 'the session was idle for too long')
    }
  }
}

/** What a client says of itself, short enough for a header. */
function briefly(info: JsonObject): JsonObject {
  const short = (value: unknown): string | undefined =>
    typeof value === 'string' ? clip(value, 100) : undefined
  return { name: short(info['name']), version: short(info['version']), title: short(info['title']) }
}
