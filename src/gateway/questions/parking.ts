// Calls that wait on a server for an answer of their caller: found again by the caller's retry, ended by their time.
import { McpxError } from '../../base/index.ts'
import type { Clock, Timer } from '../../base/index.ts'
import type { Answer, Call } from '../../wire/index.ts'
import type { HeldCall } from './held-call.ts'
import { GRACE, unanswered } from './inbox.ts'
import type { Round, Sent } from './party.ts'
import { inputRequired } from './rounds.ts'
import { invalid } from './states.ts'
import type { Bound, StateContent, States } from './states.ts'

export interface ParkingOptions {
  readonly clock: Clock
  readonly states: States
  /** Names this process in the states that it seals. */
  readonly replica: string
  readonly newId: () => string
  /** How long a round waits, in ms. */
  readonly ttl: () => number
  readonly rounds: () => number
  /** Parked calls of one principal, and of all. */
  readonly perPrincipal: () => number
  readonly inAll: () => number
}

/** What becomes of a held call's answer; it may lead to more questions. */
export type Finish = (sent: Sent, call: Call) => Promise<Answer>

interface Outcome {
  /** Digest of the answers that led to it. */
  readonly given: string
  readonly answer: Promise<Answer>
}

interface Parked {
  readonly id: string
  readonly held: HeldCall
  readonly bound: Bound
  readonly finish: Finish
  /** By the round that was answered. */
  readonly outcomes: Map<number, Outcome>
  state: 'waiting' | 'running' | 'expired' | 'over'
  timer: Timer | undefined
}

/** How long a repeated retry gets the same outcome, in ms, and how large it may be, in characters. */
const KEPT = 60_000
const MAX_KEPT = 2 ** 20
const MAX_KEPT_CALLS = 1000

export class Parking {
  readonly #options: ParkingOptions
  readonly #parked = new Map<string, Parked>()

  constructor(options: ParkingOptions) {
    this.#options = options
  }

  /** Calls that are open on a server. */
  get size(): number {
    return this.#open().length
  }

  /** Parks a call at its first round and resolves with what its caller is asked. Throws `TOO_MANY_PARKED`. */
  park(held: HeldCall, round: Round, more: { readonly bound: Bound; readonly finish: Finish }): Answer {
    const refused = this.#full(more.bound.principal)
    if (refused !== undefined) {
      held.cancellation.cancel(refused.message)
      throw refused
    }
    const entry: Parked = {
      ...{ held, ...more, id: this.#options.newId(), outcomes: new Map() },
      ...{ state: 'waiting', timer: undefined },
    }
    this.#parked.set(entry.id, entry)
    held.ended.then(
      () => this.#over(entry),
      () => this.#over(entry),
    )
    return this.#ask(entry, round)
  }

  /** Goes on with a parked call. A repeat of the same retry gets the same outcome. Throws `STATE_INVALID`. */
  retry(state: Extract<StateContent, { kind: 'parked' }>, call: Call, responses: unknown): Promise<Answer> {
    const entry = state.replica === this.#options.replica ? this.#parked.get(state.call) : undefined
    if (entry === undefined) {
      throw invalid('the call that it belongs to is over: it was answered, cancelled, or mcpx was restarted')
    }
    const given = this.#options.states.digestOf(responses ?? {})
    const prior = entry.outcomes.get(state.round)
    if (prior === undefined) {
      if (entry.state === 'expired') throw invalid('its questions were not answered in time')
      if (state.round !== entry.held.rounds) throw invalid('its round is not the present one')
      const answer = this.#goOn(entry, call, responses)
      entry.outcomes.set(state.round, { given, answer })
      return answer
    }
    if (prior.given !== given) throw invalid('its round was answered already, and otherwise')
    const detach = entry.held.attach(call)
    return prior.answer.finally(detach)
  }

  stop(reason: string): void {
    for (const entry of this.#open()) entry.held.cancellation.cancel(reason)
  }

  async #goOn(entry: Parked, call: Call, responses: unknown): Promise<Answer> {
    const { held } = entry
    entry.timer?.cancel()
    entry.state = entry.state === 'waiting' ? 'running' : entry.state
    const detach = held.attach(call)
    try {
      held.answer(responses)
      const turn = await held.next()
      if (turn.kind === 'sent') return await entry.finish(turn.sent, call)
      if (held.rounds <= this.#options.rounds()) return this.#ask(entry, turn.round)
      held.settleAll(unanswered)
      this.#endSoon(entry)
      const last = await held.ended
      return await entry.finish(last, call)
    } finally {
      detach()
    }
  }

  #ask(entry: Parked, round: Round): Answer {
    const { clock, states, replica, ttl } = this.#options
    entry.state = 'waiting'
    entry.timer = clock.after(ttl(), () => {
      entry.state = 'expired'
      entry.held.settleAll(unanswered)
      this.#endSoon(entry)
    })
    const content = { kind: 'parked', call: entry.id, replica, round: entry.held.rounds } as const
    return inputRequired(round, states.seal(content, entry.bound))
  }

  #endSoon(entry: Parked): void {
    entry.timer = this.#options.clock.after(GRACE, () =>
      entry.held.cancellation.cancel('its questions were not answered'),
    )
  }

  /** A call that is over stays known for a while, for those who did not get its outcome. */
  #over(entry: Parked): void {
    entry.timer?.cancel()
    if (entry.state !== 'expired') entry.state = 'over'
    entry.timer = this.#options.clock.after(KEPT, () => this.#parked.delete(entry.id))
    for (const { answer } of entry.outcomes.values()) {
      answer.then(
        (given) => {
          if (JSON.stringify(given).length > MAX_KEPT) this.#forget(entry)
        },
        () => {},
      )
    }
    const over = [...this.#parked.values()].filter(({ state }) => state === 'over')
    for (const oldest of over.slice(0, Math.max(0, over.length - MAX_KEPT_CALLS))) this.#forget(oldest)
  }

  #forget(entry: Parked): void {
    entry.timer?.cancel()
    this.#parked.delete(entry.id)
  }

  #open(): Parked[] {
    return [...this.#parked.values()].filter(({ state }) => state === 'waiting' || state === 'running')
  }

  #full(principal: string): McpxError | undefined {
    const { perPrincipal, inAll } = this.#options
    const open = this.#open()
    const own = open.filter(({ bound }) => bound.principal === principal).length
    const limit =
      own >= perPrincipal() ? 'questions.maxParked' : open.length >= inAll() ? 'questions.maxParkedAll' : ''
    if (limit === '') return undefined
    const count = limit === 'questions.maxParked' ? own : open.length
    return new McpxError(
      'TOO_MANY_PARKED',
      `The call needs an answer, and ${count} calls wait for answers already (${limit}). Answer or cancel some of them.`,
    )
  }
}
