// A task that an upstream server runs, in either of the two forms.
import { Cancellation } from '../../base/index.ts'
import type { Clock, JsonObject } from '../../base/index.ts'
import type { Inquiry, Lease } from '../../pool/index.ts'
import { ERRORS, METHOD } from '../../spec/index.ts'
import type { Answer, Caller } from '../../wire/index.ts'
import type { Reply } from '../errand.ts'
import { questionOf, spelled } from '../questions/index.ts'
import { Pending } from './pending.ts'
import type { TaskServer } from './party.ts'
import { formOfServer, isTerminal, raiseTask, related } from './shape.ts'
import type { TaskState } from './shape.ts'
import { ACKNOWLEDGED } from './task.ts'
import type { Task } from './task.ts'

export interface TheirTaskOptions {
  readonly member: TaskServer
  /** The server's own id of it. */
  readonly id: string
  readonly clock: Clock
}

/** How long a look waits for a question of a task that says it has one, in ms. */
const GATHER = 100

export class TheirTask implements Task {
  /** Keeps the instance that has the task, while it runs. */
  lease: Lease | undefined
  readonly #options: TheirTaskOptions
  readonly #over = new Cancellation()
  readonly #pending = new Pending()
  #outcome: Promise<Answer> | undefined

  constructor(options: TheirTaskOptions) {
    this.#options = options
  }

  async look(caller: Caller): Promise<Answer> {
    const { answer, connection } = await this.#send(caller, METHOD.tasksGet)
    if ('error' in answer || formOfServer(connection) === 'extension') return answer
    return { result: await this.#detailed(raiseTask(answer.result), caller) }
  }

  async answer(caller: Caller, given: ReadonlyMap<string, Answer>): Promise<Answer> {
    if (this.#pending.size > 0 || this.#outcome !== undefined) {
      this.#pending.answer(given)
      return ACKNOWLEDGED
    }
    // The extension has no way to say an error in the place of an answer.
    const responses = [...given].map(([key, answer]) => [
      key,
      'result' in answer ? answer.result : { action: 'cancel' },
    ])
    const { answer } = await this.#send(caller, METHOD.tasksUpdate, {
      params: { inputResponses: Object.fromEntries(responses) },
    })
    // A server of 2025-11-25 asks by requests of its own, so that there is nothing to answer before one came.
    const unknown = 'error' in answer && answer.error.code === ERRORS.methodNotFound
    return unknown ? ACKNOWLEDGED : answer
  }

  async cancel(caller: Caller): Promise<Answer> {
    const { answer } = await this.#send(caller, METHOD.tasksCancel)
    if (!('error' in answer)) return ACKNOWLEDGED
    // A server of 2025-11-25 refuses to cancel what is over; the extension acknowledges it.
    const look = await this.look(caller)
    return 'result' in look && isTerminal(look.result) ? ACKNOWLEDGED : answer
  }

  /** Puts a question of the server as it comes, and answers under the server's own id of the task. */
  ask = async ({ request, revision, cancellation }: Inquiry): Promise<Answer> => {
    const question = questionOf(request, revision)
    const bare = question.params && related(question.params, undefined)
    const answer = await this.#pending.put({ ...question, params: bare }, cancellation)
    const reply = spelled(answer, question, revision)
    return 'error' in reply ? reply : { result: related(reply.result, this.#options.id) }
  }

  /** The task is over: its instance need not be kept for it. */
  rest(): void {
    this.#outcome = undefined
    this.lease?.release()
    this.lease = undefined
  }

  close(reason: string): void {
    this.#over.cancel(reason)
    this.#pending.close(reason)
    this.rest()
  }

  /** What a server of 2025-11-25 says of a task, with what it tells only where the outcome is waited for. */
  async #detailed(task: TaskState, caller: Caller): Promise<TaskState> {
    if (task['status'] === 'completed' || task['status'] === 'failed') {
      const outcome = await this.#await(caller)
      return 'result' in outcome
        ? { ...task, status: 'completed', result: related(outcome.result, undefined) }
        : { ...task, status: 'failed', error: outcome.error }
    }
    if (task['status'] === 'cancelled') return task
    if (task['status'] === 'input_required') {
      this.#await(caller).catch(() => {})
      await this.#pending.some(GATHER, this.#options.clock)
    }
    // What it asks may be on its way still, and a caller has to be shown questions with the status.
    if (this.#pending.size === 0) return { ...task, status: 'working' }
    return { ...task, status: 'input_required', inputRequests: this.#pending.requests }
  }

  /** What came of the task: asked for once, for as long as it takes. */
  #await(caller: Caller): Promise<Answer> {
    this.#outcome ??= this.#send(caller, METHOD.tasksResult, { lasting: true }).then(
      ({ answer }) => answer,
      (error: unknown) => {
        this.#outcome = undefined
        throw error
      },
    )
    return this.#outcome
  }

  #send(
    caller: Caller,
    method: string,
    more?: { readonly params?: JsonObject; readonly lasting?: true },
  ): Promise<Reply> {
    const { member, id } = this.#options
    const { params, ...how } = more ?? {}
    return member.aboutTask(
      caller,
      { method, params: { taskId: id, ...params }, cancellation: this.#over, ...how },
      this.lease?.connection,
    )
  }
}
