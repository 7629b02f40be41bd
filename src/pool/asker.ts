import { isObject } from '../base/index.ts'
import type { Cancellation, JsonObject } from '../base/index.ts'
import { META } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Answer, RpcRequest } from '../wire/index.ts'

/** Who answers what a server asks during a call. */
export interface Asker {
  readonly principal: string
  /** What is called, e.g. a tool by its name: under it is remembered that it asks. */
  readonly subject: string
  /** Puts a question of the server, in the server's revision. Never rejects; what it resolves with is sent to the server. */
  ask(inquiry: Inquiry): Promise<Answer>
  /** What the server asked for together is out, and the call waits for it. */
  parked(): void
}

/** A request of a server on its way to whoever answers it. */
export interface Inquiry {
  readonly request: RpcRequest
  readonly revision: RevisionId
  /** Cancelled when the server has stopped waiting. */
  readonly cancellation: Cancellation
}

/** A request of a server that belongs to no call that mcpx could name. */
export interface StrayInquiry extends Inquiry {
  /** The principals whose calls may have caused it. */
  readonly among: readonly string[]
}

/** What a caller can be asked, in the newest shape. */
export type Answers = JsonObject

/** Puts a question of a task, in the server's revision, as an asker does. */
export type TaskAsker = (inquiry: Inquiry) => Promise<Answer>

/** The task that a server says a message belongs to (2025-11-25, basic/utilities/tasks). */
export function relatedTaskOf({ params }: RpcRequest): string | undefined {
  const meta = params?.['_meta']
  const related = isObject(meta) ? meta[META.relatedTask] : undefined
  const id = isObject(related) ? related['taskId'] : undefined
  return typeof id === 'string' ? id : undefined
}
