import { McpxError } from '../base/index.ts'
import type { Cancellation } from '../base/index.ts'

interface Waiting {
  readonly enter: () => void
}

/** A bounded number of places, handed out in the order of asking. Waiting can be cancelled and costs nothing meanwhile. */
export class Line {
  readonly #places: number
  readonly #waiting = new Set<Waiting>()
  #taken = 0

  constructor(places: number) {
    this.#places = places
  }

  get taken(): number {
    return this.#taken
  }

  /** Resolves with the function that gives the place back. Rejects with `CANCELLED`. */
  enter(cancellation?: Cancellation): Promise<() => void> {
    if (this.#taken < this.#places) return Promise.resolve(this.#take())
    return new Promise((resolve, reject) => {
      let forget: (() => void) | undefined
      const waiting: Waiting = {
        enter: () => {
          forget?.()
          resolve(this.#take())
        },
      }
      this.#waiting.add(waiting)
      forget = cancellation?.onCancel((reason) => {
        if (this.#waiting.delete(waiting))
          reject(new McpxError('CANCELLED', `Cancelled while waiting in line: ${reason}`))
      })
    })
  }

  #take(): () => void {
    this.#taken++
    let given = false
    return () => {
      if (given) return
      given = true
      this.#taken--
      const [next] = this.#waiting
      if (next === undefined) return
      this.#waiting.delete(next)
      next.enter()
    }
  }
}
