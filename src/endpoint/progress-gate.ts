import type { Clock, JsonObject, Timer } from '../base/index.ts'

/** The least time between two notifications, in ms, and how many go at once before it counts: short calls tell all they have. */
const PAUSE = 20
const FREE = 4

/**
 * What a caller hears of its call's progress: only values that increase, as the specification has it, and after the first few
 * no more often than once in 20 ms. The latest value waits for its turn and is never lost. Made with the first value.
 */
export class ProgressGate {
  readonly #clock: Clock
  readonly #send: (params: JsonObject) => void
  #reached = -Infinity
  #free = FREE
  #held: JsonObject | undefined
  #timer: Timer | undefined

  constructor(clock: Clock, send: (params: JsonObject) => void) {
    this.#clock = clock
    this.#send = send
  }

  offer(params: JsonObject): void {
    const { progress } = params
    if (typeof progress !== 'number' || !(progress > this.#reached)) return
    this.#reached = progress
    if (this.#free > 0) {
      this.#free--
      this.#send(params)
    } else if (this.#timer === undefined) this.#pass(params)
    else this.#held = params
  }

  /** Sends what waits, for the end of the call. */
  flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#send(held)
  }

  #pass(params: JsonObject): void {
    this.#timer = this.#clock.after(PAUSE, () => {
      this.#timer = undefined
      const held = this.#held
      this.#held = undefined
      if (held !== undefined) this.#pass(held)
    })
    this.#send(params)
  }
}
