// How often callers were turned away, by what for: a label has a few values, whatever callers send.
import type { RefusedFor } from '../endpoint/index.ts'

export class RefusalCounts {
  readonly #counts = new Map<RefusedFor, number>()

  add(reason: RefusedFor): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1)
  }

  all(): Iterable<readonly [RefusedFor, number]> {
    return this.#counts
  }

  report(): Partial<Record<RefusedFor, number>> {
    return Object.fromEntries(this.#counts)
  }
}
