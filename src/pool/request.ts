import type { Cancellation, JsonObject } from '../base/index.ts'
import type { LogLevel } from '../spec/index.ts'
import type { Asker } from './asker.ts'
import type { Resume } from './params.ts'

/** What is asked of a server. */
export interface UpstreamRequest {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly cancellation?: Cancellation | undefined
  /** `Mcp-Param-*` and the like; ignored on a pipe. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whose the call is: what comes on a shared way goes to nobody else's. */
  readonly principal?: string | undefined
  readonly wantsProgress?: boolean | undefined
  /** From which level on logs are wanted; none where absent. */
  readonly logLevel?: LogLevel | undefined
  /** Receives what the server tells of this request: progress and logs, where they are wanted. */
  readonly onNotification?: ((method: string, params: JsonObject) => void) | undefined
  /** The server ended the request's stream and goes on later. */
  readonly onInterrupted?: (() => void) | undefined
  /** It ends when it is cancelled, and may be silent until then. */
  readonly lasting?: true
  /** What the caller can be asked: said to servers of the modern era, which ask by their results. */
  readonly answers?: JsonObject | undefined
  readonly resume?: Resume | undefined
  /** Answers what a legacy server asks during this request; without it no question can belong to it. */
  readonly asker?: Asker | undefined
  /** Whether such requests are known to ask; those run one after the other where they share a pipe. */
  readonly asks?: boolean | undefined
}
