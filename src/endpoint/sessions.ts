import { randomUUID } from 'node:crypto'
import type { Clock, JsonObject } from '../base/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Id } from '../wire/index.ts'
import type { InboundCall } from './inbound-call.ts'

/** What a legacy client agreed on with `initialize`, and what it has in flight. */
export interface Session {
  readonly id: string
  readonly revision: RevisionId
  readonly clientInfo: JsonObject | undefined
  readonly capabilities: JsonObject
  readonly principal: string
  readonly inFlight: Map<Id, InboundCall>
  lastUsed: number
}

/** The legacy sessions of one HTTP endpoint. */
export class Sessions {
  readonly #clock: Clock
  readonly #idle: () => number
  readonly #sessions = new Map<string, Session>()

  /** `idle` in ms: a session that was not used for so long is forgotten when the next one is opened. */
  constructor(clock: Clock, idle: () => number) {
    this.#clock = clock
    this.#idle = idle
  }

  open(agreed: Omit<Session, 'id' | 'inFlight' | 'lastUsed'>): Session {
    this.#sweep()
    const session: Session = { ...agreed, id: randomUUID(), inFlight: new Map(), lastUsed: this.#clock.now() }
    this.#sessions.set(session.id, session)
    return session
  }

  /** The live session of that id and principal; using it moves it to the end of the line for being forgotten. */
  get(id: string, principal: string): Session | undefined {
    const session = this.#sessions.get(id)
    if (session === undefined || session.principal !== principal) return undefined
    const now = this.#clock.now()
    if (now - session.lastUsed > this.#idle()) {
      this.end(session, 'the session was idle for too long')
      return undefined
    }
    session.lastUsed = now
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    return session
  }

  end(session: Session, reason: string): void {
    this.#sessions.delete(session.id)
    for (const call of session.inFlight.values()) call.cancellation.cancel(reason)
  }

  get size(): number {
    return this.#sessions.size
  }

  #sweep(): void {
    const oldest = this.#clock.now() - this.#idle()
    for (const session of this.#sessions.values()) {
      if (session.lastUsed >= oldest) return
      this.end(session, 'the session was idle for too long')
    }
  }
}
