// What one principal may use at a time: requests in a second, streams that are open, legacy sessions. One object for all
// endpoints of a daemon. Principals are those of the configuration, so that their number is bounded.
import type { Clock } from '../base/index.ts'

/** Read anew for each request. 0 sets no bound. */
export interface QuotaLimits {
  /** Requests of one principal in a second. */
  rate(): number
  /** Event streams of one principal that are open. */
  streams(): number
  /** Legacy sessions of one principal that are kept. */
  sessions(): number
}

interface Use {
  /** Requests that may come at once, as of `at`. */
  tokens: number
  at: number
  streams: number
  sessions: number
}

const SECOND = 1000

export class Quotas {
  readonly #clock: Clock
  readonly #limits: QuotaLimits
  readonly #uses = new Map<string, Use>()

  constructor(clock: Clock, limits: QuotaLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get limits(): QuotaLimits {
    return this.#limits
  }

  /** Takes one request of a principal in. Returns 0, or after how many ms the next one may come. Constant time. */
  request(principal: string): number {
    const rate = this.#limits.rate()
    if (rate === 0) return 0
    const use = this.#useOf(principal)
    const now = this.#clock.now()
    // A second's worth may come at once; a clock that was set back gives nothing.
    use.tokens = Math.min(rate, use.tokens + (Math.max(0, now - use.at) * rate) / SECOND)
    use.at = now
    if (use.tokens < 1) return Math.ceil(((1 - use.tokens) * SECOND) / rate)
    use.tokens -= 1
    return 0
  }

  /** Takes one stream in, where it must be. Returns the function that gives it back, or undefined where there are too many. */
  stream(principal: string, must = false): (() => void) | undefined {
    const use = this.#useOf(principal)
    const most = this.#limits.streams()
    if (!must && most > 0 && use.streams >= most) return undefined
    use.streams++
    let open = true
    return () => {
      if (open) use.streams--
      open = false
    }
  }

  /** Whether another session would be one too many. */
  sessionsFull(principal: string): boolean {
    const most = this.#limits.sessions()
    return most > 0 && this.#useOf(principal).sessions >= most
  }

  /** Counts sessions that came or went. */
  sessions(principal: string, change: 1 | -1): void {
    this.#useOf(principal).sessions += change
  }

  #useOf(principal: string): Use {
    let use = this.#uses.get(principal)
    if (use === undefined) {
      use = { tokens: this.#limits.rate(), at: this.#clock.now(), streams: 0, sessions: 0 }
      this.#uses.set(principal, use)
    }
    return use
  }
}
