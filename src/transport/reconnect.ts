const FIRST_DELAY_MS = 1000
const LONGEST_DELAY_MS = 30_000
/** A server that asks for less would be polled in a loop. */
const SHORTEST_DELAY_MS = 10

/** When to reconnect an event stream, and when to stop: each try that brings nothing doubles the wait and uses up the budget. */
export class Reconnect {
  readonly #budget: number
  #first = FIRST_DELAY_MS
  #tries = 0

  constructor(budget: number) {
    this.#budget = budget
  }

  /** The server's own `retry`, in ms. */
  askedFor(ms: number): void {
    this.#first = Math.min(Math.max(ms, SHORTEST_DELAY_MS), LONGEST_DELAY_MS)
  }

  /** The stream brought something. */
  progressed(): void {
    this.#tries = 0
  }

  /** How long to wait before the next try, in ms; undefined when there shall be none. */
  next(): number | undefined {
    if (this.#tries === this.#budget) return undefined
    const delay = this.#first * 2 ** this.#tries
    this.#tries += 1
    return Math.min(delay, LONGEST_DELAY_MS)
  }
}
