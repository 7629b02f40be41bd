import type { Cancellation, JsonObject } from '../../base/index.ts'
import type { Connection, Lease, Upstream } from '../../pool/index.ts'
import type { Answer, Call, Caller } from '../../wire/index.ts'
import type { Errand, Reply } from '../errand.ts'
import type { AskingServer } from '../questions/index.ts'
import type { TaskForm, TaskSupport } from './shape.ts'

/** A request about a task. `lasting` ones wait as long as the task takes. */
export interface TaskRequest {
  readonly method: string
  readonly params: JsonObject
  readonly cancellation: Cancellation
  readonly lasting?: true
}

/** A server as those need it who carry its tasks. */
export interface TaskServer {
  readonly name: string
  readonly upstream: Pick<Upstream, 'current'>
  /** The longest that a call may last, in ms. */
  readonly longest: number
  run(call: Call, errand: Errand): Promise<Answer>
  /** How the server gives tasks for a caller's calls; it is opened where that is not known. Rejects with the start's McpxError. */
  tasksFor(call: Call): TaskForm | Promise<TaskForm>
  /** What a tool says of being called as a task. */
  taskSupport(caller: Caller, tool: string): Promise<TaskSupport>
  /** Sends a request about a task, over the connection that has it while that is open. Rejects with an McpxError. */
  aboutTask(caller: Caller, request: TaskRequest, over: Connection | undefined): Promise<Reply>
  /** Keeps the instance of a connection for a caller; undefined where it takes no more leases. */
  hold(connection: Connection, caller: Caller): Promise<Lease | undefined>
  asking(): AskingServer
}
