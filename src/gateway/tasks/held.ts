// A task that mcpx holds in the place of a server that has none: the call runs on, and its caller comes back for the outcome.
import { asMcpxError, Cancellation, FAILURES } from '../../base/index.ts'
import type { Clock } from '../../base/index.ts'
import { ERRORS } from '../../spec/index.ts'
import type { Answer, Call, Caller } from '../../wire/index.ts'
import { Pending } from './pending.ts'
import { related } from './shape.ts'
import type { TaskState } from './shape.ts'
import { ACKNOWLEDGED } from './task.ts'
import type { Task } from './task.ts'

export interface HeldTaskOptions {
  readonly id: string
  readonly clock: Clock
  readonly ttl: number
  /** What an outcome may have at most, in characters. */
  readonly maxSize: number
}

/** How often a held task is worth a look, in ms. */
const POLL = 1_000

export class HeldTask implements Task {
  readonly ask = undefined
  readonly #options: HeldTaskOptions
  readonly #created: string
  readonly #cancellation = new Cancellation()
  readonly #pending = new Pending()
  #updated: string
  #outcome: Answer | undefined

  constructor(options: HeldTaskOptions) {
    this.#options = options
    this.#created = this.#updated = this.#now()
  }

  /** Runs the call to its end; resolves with its outcome as it is kept. Never rejects. */
  async run(call: Call, run: (call: Call) => Promise<Answer>): Promise<Answer> {
    const answer = await run(this.#detached(call)).catch((error: unknown): Answer => {
      const { code, message } = asMcpxError(error)
      return { error: { code: FAILURES[code].rpc, message, data: { code } } }
    })
    const kept = JSON.stringify(answer).length > this.#options.maxSize ? tooLarge() : answer
    this.#outcome ??= kept
    this.#updated = this.#now()
    this.#pending.close('the call is over')
    return kept
  }

  look(_caller: Caller): Promise<Answer> {
    return Promise.resolve({ result: this.state })
  }

  answer(_caller: Caller, given: ReadonlyMap<string, Answer>): Promise<Answer> {
    this.#pending.answer(given)
    return Promise.resolve(ACKNOWLEDGED)
  }

  cancel(_caller: Caller): Promise<Answer> {
    this.close('cancelled by the client')
    return Promise.resolve(ACKNOWLEDGED)
  }

  close(reason: string): void {
    if (this.#outcome !== undefined) return
    this.#outcome = { error: { code: ERRORS.internal, message: `The task was cancelled: ${reason}` } }
    this.#updated = this.#now()
    this.#cancellation.cancel(reason)
    this.#pending.close(reason)
  }

  get state(): TaskState {
    const { id, ttl } = this.#options
    const base = {
      ...{ resultType: 'complete', taskId: id, createdAt: this.#created, lastUpdatedAt: this.#updated },
      ...{ ttlMs: ttl, pollIntervalMs: POLL },
    }
    if (this.#cancellation.reason !== undefined)
      return { ...base, status: 'cancelled', statusMessage: this.#cancellation.reason }
    const outcome = this.#outcome
    if (outcome === undefined) {
      return this.#pending.size === 0
        ? { ...base, status: 'working' }
        : { ...base, status: 'input_required', inputRequests: this.#pending.requests }
    }
    return 'result' in outcome
      ? { ...base, status: 'completed', result: related(outcome.result, undefined) }
      : { ...base, status: 'failed', statusMessage: outcome.error.message, error: outcome.error }
  }

  /** The call without the request that it came by, which is over before the call is. */
  #detached({ method, params, caller, headerValues }: Call): Call {
    return {
      ...{ method, params, caller, headerValues, cancellation: this.#cancellation },
      ...{ wantsProgress: false, logLevel: undefined, asked: 'by-request' },
      notify() {},
      ask: (question, cancellation) => this.#pending.put(question, cancellation),
    }
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString()
  }
}

function tooLarge(): Answer {
  const message = 'The outcome of the task is larger than mcpx keeps. Make the call without a task.'
  return { error: { code: ERRORS.internal, message } }
}
