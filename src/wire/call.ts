// The contract between those who serve clients (endpoint) and those who answer them (gateway).
import type { Cancellation, JsonObject } from '../base/index.ts'
import type { LogLevel, RevisionFacts, RevisionId } from '../spec/index.ts'
import type { Answer } from './message.ts'
import type { Question } from './question.ts'

/** Who calls, as the caller's edge knows it. */
export interface Caller {
  /** The revision that the caller speaks; every answer is spelled for it. */
  readonly revision: RevisionId
  /** What the caller calls itself; not verified, for display only. */
  readonly clientInfo: JsonObject | undefined
  /** What the caller can be asked. */
  readonly capabilities: JsonObject
  /** Whose credential came with the call; the local user where none is asked for. */
  readonly principal: string
  /** The legacy session the call belongs to; modern calls have none. */
  readonly session: string | undefined
}

/** One request on its way through mcpx, free of the hop it came by. */
export interface Call {
  readonly method: string
  /** As the caller sent them, the hop's own `_meta` keys included. */
  readonly params: JsonObject | undefined
  readonly caller: Caller
  readonly cancellation: Cancellation
  /** The distinct values of a header that the caller sent, where its revision repeats parameters in headers. */
  readonly headerValues?: ((name: string) => readonly string[] | undefined) | undefined
  /** Whether the caller gave a progress token: without one no progress is asked for upstream. */
  readonly wantsProgress: boolean
  /** From which level on the caller wants logs of this call; undefined where it wants none. */
  readonly logLevel: LogLevel | undefined
  /** Sends the caller a notification that belongs to this call, params in the newest shape. */
  notify(method: string, params: JsonObject): void
  /** The server ended its stream and goes on later: a caller that can come back for its answer is let go meanwhile. */
  interrupted?(): void
  /** How the caller is asked: by requests on `ask`, or by a result that requires input. */
  readonly asked: RevisionFacts['asks']
  /** Absent where the caller is asked by the results of its calls, or has no connection that could carry a question. */
  readonly ask?: Ask | undefined
}

/**
 * Puts a question to a caller over the connection that it has open, and resolves with its answer, both in the newest shape.
 * Never rejects: a caller that goes away answers with an error, and so does a question that is cancelled.
 */
export type Ask = (question: Question, cancellation: Cancellation) => Promise<Answer>

/** What a legacy caller says outside of its calls. */
export interface Remark {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly caller: Caller
  /** A way to ask back, where the caller has one open. */
  readonly ask: Ask | undefined
}

/** What answers calls. Rejects only with an McpxError; an upstream's own error is an Answer. */
export interface CallHandler {
  handle(call: Call): Promise<Answer>
  /** Hears what is no part of a call. */
  hear?(remark: Remark): void
  /**
   * Tells a legacy caller what it should know outside of calls, params in the newest shape, until the returned function is
   * called. What the caller subscribes to goes the same way.
   */
  tune?(caller: Caller, notify: (method: string, params: JsonObject) => void): () => void
}
