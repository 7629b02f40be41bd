// A call that is open on a server while its caller comes and goes: what a legacy server asks during it becomes rounds.
import { Cancellation, isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { QUESTIONS } from '../../spec/index.ts'
import type { Answer, Call, Question } from '../../wire/index.ts'
import { replyFaults } from './check.ts'
import type { Round, Sent } from './party.ts'
import { faulted } from './rounds.ts'

/** What a held call comes to next. */
export type Turn =
  { readonly kind: 'round'; readonly round: Round } | { readonly kind: 'sent'; readonly sent: Sent }

interface Pending {
  readonly question: Question
  readonly settle: (answer: Answer) => void
}

export class HeldCall {
  /** Ends the call on the server. */
  readonly cancellation = new Cancellation()
  /** Rounds so far. */
  rounds = 0
  readonly #attached = new Set<Call>()
  readonly #early: JsonObject
  readonly #counts = new Map<string, number>()
  /** Asked, and not yet part of a round. */
  readonly #fresh = new Map<string, Pending>()
  /** Those of the present round that wait for an answer. */
  readonly #out = new Map<string, Pending>()
  #ended: Promise<Sent> | undefined
  #deliver: ((turn: Turn) => void) | undefined
  #waiting: Round | undefined
  /** Answers in the caller's place what is asked from now on. */
  #standIn: ((question: Question) => Answer) | undefined

  /** `early` holds answers that came before anything was asked. */
  constructor(early: unknown) {
    this.#early = isObject(early) ? early : {}
  }

  /** The end of the call on the server. */
  get ended(): Promise<Sent> {
    return this.#ended ?? Promise.reject(new Error('the call was not begun'))
  }

  /** Whoever is attached hears what the server says meanwhile, and ends the call by going away. */
  attach(call: Call): () => void {
    this.#attached.add(call)
    const forget = call.cancellation.onCancel((reason) => {
      this.#attached.delete(call)
      if (this.#attached.size === 0) this.cancellation.cancel(reason)
    })
    return () => {
      forget()
      this.#attached.delete(call)
    }
  }

  notify(method: string, params: JsonObject): void {
    const latest = [...this.#attached].at(-1)
    latest?.notify(method, params)
  }

  /** The call was sent. */
  begin(sent: Promise<Sent>): void {
    this.#ended = sent
    // Whoever waits for a turn hears of a failure; nobody may be waiting.
    sent.catch(() => {})
  }

  /** What comes next: the answer, or the next round. Rejects as the call does. */
  async next(): Promise<Turn> {
    if (this.#ended === undefined) throw new Error('a turn needs a call that was begun')
    if (this.#waiting !== undefined) return this.#take(this.#waiting)
    const round = new Promise<Turn>((resolve) => {
      this.#deliver = resolve
    })
    return Promise.race([this.#ended.then((sent): Turn => ({ kind: 'sent', sent })), round])
  }

  /** A question of the server, for the caller; resolves with the caller's answer. */
  put(question: Question, cancellation: Cancellation): Promise<Answer> {
    if (this.#standIn !== undefined) return Promise.resolve(this.#standIn(question))
    const key = this.#keyFor(question)
    const early = this.#early[key]
    if (early !== undefined && replyFaults(question, early).length === 0) {
      return Promise.resolve({ result: early as JsonObject })
    }
    return new Promise((resolve) => {
      const settle = (answer: Answer): void => {
        forget()
        resolve(answer)
      }
      this.#fresh.set(key, { question, settle })
      const forget = cancellation.onCancel((reason) => {
        this.#fresh.delete(key)
        this.#out.delete(key)
        resolve({ error: { code: 0, message: reason } })
      })
    })
  }

  /** The server waits: what it asked since the last round is the next one. */
  parked(): void {
    if (this.#fresh.size === 0) return
    for (const [key, pending] of this.#fresh) this.#out.set(key, pending)
    this.#fresh.clear()
    this.#offer(questionsOf(this.#out))
  }

  /** Takes the answers of a round. What is missing or does not fit is asked again; the rest goes to the server. */
  answer(responses: unknown): void {
    const given = isObject(responses) ? responses : {}
    const again = new Map<string, Question>()
    // A round that nobody fetched is made anew of what stays open.
    this.#waiting = undefined
    for (const [key, { question, settle }] of [...this.#out]) {
      const faults = key in given ? replyFaults(question, given[key]) : []
      if (!(key in given) || faults.length > 0) {
        again.set(key, faulted(question, faults))
        continue
      }
      this.#out.delete(key)
      settle({ result: given[key] as JsonObject })
    }
    if (again.size > 0) this.#offer(again)
  }

  /** Answers in the caller's place everything that is open, and whatever is asked later: the caller is asked no more. */
  settleAll(answerFor: (question: Question) => Answer): void {
    this.#standIn = answerFor
    const all = [...this.#out.values(), ...this.#fresh.values()]
    this.#out.clear()
    this.#fresh.clear()
    this.#waiting = undefined
    for (const { question, settle } of all) settle(answerFor(question))
  }

  #offer(round: Round): void {
    if (this.#deliver === undefined) this.#waiting = round
    else this.#deliver(this.#take(round))
  }

  #take(round: Round): Turn {
    this.#waiting = undefined
    this.#deliver = undefined
    this.rounds++
    return { kind: 'round', round }
  }

  /** The same keys in the same order for a call that is made again. */
  #keyFor({ method }: Question): string {
    const kind = Object.hasOwn(QUESTIONS, method)
      ? QUESTIONS[method as keyof typeof QUESTIONS].capability
      : 'question'
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    return `${kind}-${count}`
  }
}

function questionsOf(pending: ReadonlyMap<string, Pending>): Round {
  return new Map([...pending].map(([key, { question }]) => [key, question]))
}
