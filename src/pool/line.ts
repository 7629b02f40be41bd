import { McpxError } from '../base/index.ts'
import type { Cancellation } from '../base/index.ts'

interface Waiting {
  readonly enter: () => void
  readonly refuse: (error: McpxError) => void
}

/**
 * A bounded number of places, handed out in the order of asking; those who enter `ahead` go before the others. Waiting can
 * be cancelled and costs nothing meanwhile.
 */
export class Line {
  readonly #places: number
  readonly #waiting = { ahead: new Set<Waiting>(), behind: new Set<Waiting>() }
  #taken = 0

  constructor(places: number) {
    this.#places = places
  }

  get taken(): number {
    return this.#taken
  }

  /** Resolves with the function that gives the place back. Rejects with `CANCELLED`, or with the error of `clear`. */
  enter(cancellation?: Cancellation, where: 'ahead' | 'behind' = 'behind'): Promise<() => void> {
    if (this.#taken < this.#places) return Promise.resolve(this.#take())
    return new Promise((resolve, reject) => {
      let forget: (() => void) | undefined
      const waiting: Waiting = {
        enter: () => {
          forget?.()
          resolve(this.#take())
        },
        refuse: (error) => {
          forget?.()
          reject(error)
        },
      }
      const line = this.#waiting[where]
      line.add(waiting)
      forget = cancellation?.onCancel((reason) => {
        if (line.delete(waiting))
          reject(new McpxError('CANCELLED', `Cancelled while waiting in line: ${reason}`))
      })
    })
  }

  /** Sends everybody away who waits; those who are in stay. */
  clear(error: McpxError): void {
    for (const line of [this.#waiting.ahead, this.#waiting.behind]) {
      const all = [...line]
      line.clear()
      for (const waiting of all) waiting.refuse(error)
    }
  }

  #take(): () => void {
    this.#taken++
    let given = false
    return () => {
      if (given) return
      given = true
      this.#taken--
      this.#next()
    }
  }

  #next(): void {
    for (const line of [this.#waiting.ahead, this.#waiting.behind]) {
      const [next] = line
      if (next === undefined) continue
      line.delete(next)
      return next.enter()
    }
  }
}
