/**
 * Says that nobody waits for the answer any more. A plain object with a list of listeners, since one is made for every call
 * and an AbortController costs several times the rest of a relayed call's bookkeeping.
 */
export class Cancellation {
  #reason: string | undefined
  #listeners: ((reason: string) => void)[] | undefined

  /** Why the call was given up, or undefined while somebody waits. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Tells every listener once. Later calls do nothing. */
  cancel(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener(reason)
  }

  /** Calls back when cancelled (at once if it already is). Returns a function that takes the listener away. */
  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return nothing
    }
    this.#listeners ??= []
    this.#listeners.push(listener)
    return () => {
      this.#listeners = this.#listeners?.filter((other) => other !== listener)
    }
  }
}

function nothing(): void {}
