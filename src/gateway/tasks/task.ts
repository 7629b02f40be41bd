import type { JsonObject } from '../../base/index.ts'
import type { TaskAsker } from '../../pool/index.ts'
import type { Answer, Caller } from '../../wire/index.ts'

/** One task, whoever runs it. Everything is in the extension's shape; ids are those of whoever runs it. */
export interface Task {
  /** The state now, with what came of it or what it waits for, or the server's error. Rejects with an McpxError. */
  look(caller: Caller): Promise<Answer>
  /** Gives answers by the keys of the questions. Rejects with an McpxError. */
  answer(caller: Caller, given: ReadonlyMap<string, Answer>): Promise<Answer>
  /** Asks for the end of it; it may come later, or not. Rejects with an McpxError. */
  cancel(caller: Caller): Promise<Answer>
  /** Puts a question of the server to whoever asks for the state next. */
  readonly ask: TaskAsker | undefined
  /** Nobody looks at it any more. */
  close(reason: string): void
}

export const ACKNOWLEDGED: { readonly result: JsonObject } = { result: { resultType: 'complete' } }
