// The inbox: questions that a caller cannot answer, for a person who can. Each principal sees its own.
import { clip, McpxError } from '../../base/index.ts'
import type { Cancellation, Clock, JsonObject, Timer } from '../../base/index.ts'
import { ERRORS, METHOD } from '../../spec/index.ts'
import type { Answer, Question } from '../../wire/index.ts'
import { replyFaults } from './check.ts'

/** A question that waits in the inbox. Times in ms since the epoch. */
export interface InboxEntry {
  readonly id: string
  readonly server: string
  readonly principal: string
  readonly question: Question
  readonly askedAt: number
  readonly expiresAt: number
}

export type InboxEvent =
  | { readonly kind: 'asked'; readonly entry: InboxEntry }
  | {
      readonly kind: 'ended'
      readonly entry: InboxEntry
      readonly how: 'answered' | 'withdrawn' | 'expired'
    }

export interface InboxOptions {
  readonly clock: Clock
  /** When the inbox takes questions: while its principal watches it, always, or never. */
  readonly mode: () => 'watched' | 'always' | 'off'
  /** How long a question waits, in ms. */
  readonly ttl: () => number
  readonly newId: () => string
}

interface Waiting {
  readonly entry: InboxEntry
  readonly settle: (answer: Answer, how: 'answered' | 'withdrawn' | 'expired') => void
}

/** What a person with any client of the inbox can answer. */
export const INBOX_ANSWERS: JsonObject = { elicitation: { form: {}, url: {} }, sampling: { context: {} } }

/** Questions of one principal that may wait. */
const MAX_WAITING = 200

export class Inbox {
  readonly #options: InboxOptions
  readonly #waiting = new Map<string, Waiting>()
  readonly #watchers = new Map<string, number>()
  readonly #listeners = new Set<(event: InboxEvent) => void>()

  constructor(options: InboxOptions) {
    this.#options = options
  }

  /** Whether somebody will see a question of that principal. */
  takes(principal: string): boolean {
    const mode = this.#options.mode()
    return mode === 'always' || (mode === 'watched' && this.#watchers.has(principal))
  }

  /** Counts a watcher of a principal's questions until the returned function is called. */
  watch(principal: string): () => void {
    this.#watchers.set(principal, (this.#watchers.get(principal) ?? 0) + 1)
    let watching = true
    return () => {
      if (!watching) return
      watching = false
      const left = (this.#watchers.get(principal) ?? 1) - 1
      if (left > 0) this.#watchers.set(principal, left)
      else this.#watchers.delete(principal)
    }
  }

  onEvent(listener: (event: InboxEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The principal's questions, the oldest first. */
  list(principal: string): readonly InboxEntry[] {
    return [...this.#waiting.values()]
      .map(({ entry }) => entry)
      .filter((entry) => entry.principal === principal)
  }

  /** Puts a question and resolves with its answer; one that nobody gives in time is a cancelled elicitation, or an error. */
  put(
    asked: { readonly server: string; readonly principal: string; readonly question: Question },
    cancellation: Cancellation,
  ): Promise<Answer> {
    const { clock, ttl, newId } = this.#options
    if (this.list(asked.principal).length >= MAX_WAITING) {
      const message = `The question was not answered: ${MAX_WAITING} others wait in the inbox`
      return Promise.resolve({ error: { code: ERRORS.internal, message } })
    }
    const now = clock.now()
    const entry: InboxEntry = { ...asked, id: newId(), askedAt: now, expiresAt: now + ttl() }
    return new Promise((resolve) => {
      let timer: Timer | undefined
      let forget: (() => void) | undefined
      const settle: Waiting['settle'] = (answer, how) => {
        if (!this.#waiting.delete(entry.id)) return
        timer?.cancel()
        forget?.()
        this.#tell({ kind: 'ended', entry, how })
        resolve(answer)
      }
      this.#waiting.set(entry.id, { entry, settle })
      timer = clock.after(ttl(), () => settle(unanswered(entry.question), 'expired'))
      this.#tell({ kind: 'asked', entry })
      forget = cancellation.onCancel((reason) => settle(givenUp(reason), 'withdrawn'))
    })
  }

  /** Answers a question. Throws `QUESTION_UNKNOWN`, or `ANSWER_INVALID` with what is wrong with the answer. */
  answer(id: string, principal: string, result: unknown): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined || waiting.entry.principal !== principal) {
      const text = `There is no open question "${clip(id)}": it was answered, withdrawn or expired. The open ones: mcpx questions`
      throw new McpxError('QUESTION_UNKNOWN', text)
    }
    const faults = replyFaults(waiting.entry.question, result)
    if (faults.length > 0) {
      throw new McpxError('ANSWER_INVALID', `The answer does not fit the question: ${faults.join('; ')}`, {
        data: { faults },
      })
    }
    waiting.settle({ result: result as JsonObject }, 'answered')
  }

  #tell(event: InboxEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}

/** How long a server may take to end a call whose question nobody answered, in ms. */
export const GRACE = 10_000

/** What a server gets for a question that nobody answered: nobody declined, so no elicitation is declined. */
export function unanswered(question: Question): Answer {
  return resultFor(question, {
    error: { code: ERRORS.internal, message: 'The question was not answered in time' },
  })
}

/** The answer, a cancelled elicitation in place of an error: elicitations end so where nobody answers. */
export function resultFor(question: Question, answer: Answer): Answer {
  return 'error' in answer && question.method === METHOD.elicit ? { result: { action: 'cancel' } } : answer
}

function givenUp(reason: string): Answer {
  return { error: { code: ERRORS.internal, message: `The question was given up: ${reason}` } }
}
