// Calls that mcpx gave up: their server may be slow to hear of it, and ask all the same.
import type { Clock, Timer } from '../base/index.ts'
import type { Id } from '../wire/index.ts'
import type { Asker } from './asker.ts'

interface Ghost {
  readonly principal: string
  readonly subject: string
  readonly timer: Timer
}

/** How long such a call may still be the one that asks, in ms. */
const HAUNT = 60_000

export class Ghosts {
  readonly #clock: Clock
  readonly #ghosts = new Map<Id, Ghost>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get principals(): readonly string[] {
    return [...this.#ghosts.values()].map(({ principal }) => principal)
  }

  get subjects(): readonly string[] {
    return [...this.#ghosts.values()].map(({ subject }) => subject)
  }

  add(id: Id, { principal, subject }: Asker): void {
    const timer = this.#clock.after(HAUNT, () => this.#ghosts.delete(id))
    this.#ghosts.set(id, { principal, subject, timer })
  }

  /** The server has ended the call too. */
  forget(id: Id): void {
    this.#ghosts.get(id)?.timer.cancel()
    this.#ghosts.delete(id)
  }

  clear(): void {
    for (const id of this.#ghosts.keys()) this.forget(id)
  }

  /** Whether one of them is another principal's. */
  haunts(principal: string): boolean {
    return this.principals.some((other) => other !== principal)
  }
}
