import { McpxError } from '../base/index.ts'
import type { Clock } from '../base/index.ts'

const CAP = 30_000
const BASE = 500

/**
 * The circuit of one lane. Closed until a start fails; then open for a random part of a growing pause, and half open after
 * it: one start is let through, and its outcome closes or opens the circuit again.
 */
export class Circuit {
  readonly #clock: Clock
  readonly #random: () => number
  #failures = 0
  #openUntil = 0
  #lastError: McpxError | undefined
  #halfOpen = false

  /** `random` gives numbers from 0 to 1: the whole pause is jitter, so that many servers do not start in step. */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  get lastError(): McpxError | undefined {
    return this.#lastError
  }

  get failures(): number {
    return this.#failures
  }

  /** The error to answer at once with while the circuit is open, or undefined when a start may be tried. */
  refusal(): McpxError | undefined {
    const wait = this.#openUntil - this.#clock.now()
    if (this.#lastError === undefined || (wait <= 0 && !this.#halfOpen)) return undefined
    const { code, message, data } = this.#lastError
    const next = this.#halfOpen ? 'the next try is under way' : `next try in ${Math.ceil(wait / 1000)} s`
    return new McpxError(code, `${message} (failed ${this.#failures} times; ${next})`, {
      cause: this.#lastError,
      data,
    })
  }

  /** A start is tried. After a failure it is the only one until it has ended. */
  trying(): void {
    this.#halfOpen = this.#failures > 0
  }

  /** The server wants credentials: it is well, and whoever has logged in must not wait for a next try. */
  wantsLogin(error: McpxError): void {
    this.#halfOpen = false
    this.#failures = 0
    this.#openUntil = 0
    this.#lastError = error
  }

  /** The start was given up: it proved nothing. */
  abandoned(): void {
    this.#halfOpen = false
  }

  failed(error: McpxError): void {
    this.#halfOpen = false
    this.#failures++
    this.#lastError = error
    const ceiling = Math.min(CAP, BASE * 2 ** this.#failures)
    this.#openUntil = this.#clock.now() + this.#random() * ceiling
  }

  succeeded(): void {
    this.#halfOpen = false
    this.#failures = 0
    this.#openUntil = 0
    this.#lastError = undefined
  }
}
