// What a task waits for: questions that are open until its caller answers them, by keys that are never used twice.
import { McpxError } from '../../base/index.ts'
import type { Cancellation, Clock, JsonObject } from '../../base/index.ts'
import { ERRORS, QUESTIONS } from '../../spec/index.ts'
import type { Answer, Question } from '../../wire/index.ts'
import { asPut, replyFaults } from '../questions/index.ts'

interface Open {
  readonly question: Question
  readonly settle: (answer: Answer) => void
}

export class Pending {
  readonly #open = new Map<string, Open>()
  readonly #watchers = new Set<() => void>()
  #count = 0

  get size(): number {
    return this.#open.size
  }

  /** The open questions as a caller is shown them. */
  get requests(): JsonObject {
    return Object.fromEntries([...this.#open].map(([key, { question }]) => [key, asPut(question)]))
  }

  /** Opens a question and resolves with what answers it. Never rejects. */
  put(question: Question, cancellation: Cancellation): Promise<Answer> {
    const key = `${kindOf(question)}-${++this.#count}`
    return new Promise((resolve) => {
      const settle = (answer: Answer): void => {
        this.#open.delete(key)
        forget()
        resolve(answer)
      }
      this.#open.set(key, { question, settle })
      const forget = cancellation.onCancel((reason) => settle(unanswered(reason)))
      for (const look of this.#watchers) look()
    })
  }

  /** Takes answers; those of keys that are not open are ignored. Throws `ANSWER_INVALID` for what does not fit, which stays open. */
  answer(given: ReadonlyMap<string, Answer>): void {
    const faults: string[] = []
    for (const [key, answer] of given) {
      const open = this.#open.get(key)
      if (open === undefined) continue
      const wrong = 'result' in answer ? replyFaults(open.question, answer.result) : []
      if (wrong.length === 0) open.settle(answer)
      else faults.push(`${key}: ${wrong.join(', ')}`)
    }
    if (faults.length === 0) return
    throw new McpxError('ANSWER_INVALID', `The answers were not accepted: ${faults.join('; ')}`)
  }

  /** Resolves once something is open, and after `ms` in any case. */
  some(ms: number, clock: Clock): Promise<void> {
    if (this.#open.size > 0) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel()
        this.#watchers.delete(done)
        resolve()
      }
      const timer = clock.after(ms, done)
      this.#watchers.add(done)
    })
  }

  close(reason: string): void {
    for (const { settle } of [...this.#open.values()]) settle(unanswered(reason))
  }
}

function kindOf({ method }: Question): string {
  return Object.hasOwn(QUESTIONS, method)
    ? QUESTIONS[method as keyof typeof QUESTIONS].capability
    : 'question'
}

function unanswered(reason: string): Answer {
  return { error: { code: ERRORS.internal, message: `The question was not answered: ${reason}` } }
}
