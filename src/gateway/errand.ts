import type { JsonObject } from '../base/index.ts'
import type { Connection } from '../pool/index.ts'
import type { Answer } from '../wire/index.ts'

/** What is asked of a server for a caller. */
export interface Errand {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** What leads the server's questions, where it is one of several. */
  readonly lead?: string | undefined
  /** A server of the modern era is told that its answer may be a task. */
  readonly tasks?: boolean
  /** Told which connection the answer came over. */
  readonly onServed?: ((connection: Connection) => void) | undefined
}

/** A server's answer in the newest shape, and the connection that it came over. */
export interface Reply {
  readonly answer: Answer
  readonly connection: Connection
}
