import type { Clock, Timer } from '../base/index.ts'
import type { Id } from '../wire/index.ts'

/** Told with the limit that was reached. */
type OnDue = (id: Id, limit: 'callTimeout' | 'callTimeoutMax') => void

interface Entry {
  readonly latest: number
  due: number
}

/** A request whose patience stands still: what is left of the longest that it may last, in ms. */
interface Paused {
  readonly left: number
}

/**
 * The deadlines of one connection's requests, on one timer. All have the same patience, so the map's order is the order in
 * which they fall due, and starting or ending one costs a map operation.
 */
export class Deadlines {
  readonly #entries = new Map<Id, Entry>()
  readonly #paused = new Map<Id, Paused>()
  readonly #clock: Clock
  readonly #idle: number
  readonly #longest: number
  readonly #onDue: OnDue
  #timer: Timer | undefined

  /** `idle` and `longest` in ms: since the last sign of life, and since the start. */
  constructor(
    clock: Clock,
    { idle, longest }: { readonly idle: number; readonly longest: number },
    onDue: OnDue,
  ) {
    this.#clock = clock
    this.#idle = idle
    this.#longest = Math.max(idle, longest)
    this.#onDue = onDue
  }

  start(id: Id): void {
    const now = this.#clock.now()
    this.#entries.set(id, { due: now + this.#idle, latest: now + this.#longest })
    this.#timer ??= this.#clock.after(this.#idle, () => this.#check())
  }

  /** A sign of life: the request has its patience anew, up to the longest that a request may last. */
  extend(id: Id): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    entry.due = Math.min(this.#clock.now() + this.#idle, entry.latest)
    if (entry.due === entry.latest) return
    this.#entries.delete(id)
    this.#entries.set(id, entry)
  }

  /** Nothing falls due until the request is resumed: it waits for a person. */
  pause(id: Id): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#entries.delete(id)
    this.#paused.set(id, { left: entry.latest - this.#clock.now() })
  }

  resume(id: Id): void {
    const paused = this.#paused.get(id)
    if (paused === undefined) return
    this.#paused.delete(id)
    const now = this.#clock.now()
    const latest = now + paused.left
    this.#entries.set(id, { latest, due: Math.min(now + this.#idle, latest) })
    this.#timer ??= this.#clock.after(this.#idle, () => this.#check())
  }

  end(id: Id): void {
    this.#entries.delete(id)
    this.#paused.delete(id)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#entries.clear()
    this.#paused.clear()
  }

  #check(): void {
    this.#timer = undefined
    const now = this.#clock.now()
    let next = Infinity
    for (const [id, entry] of [...this.#entries]) {
      if (entry.due <= now) {
        this.#entries.delete(id)
        this.#onDue(
          id,
          entry.due < entry.latest || this.#idle === this.#longest ? 'callTimeout' : 'callTimeoutMax',
        )
      } else {
        next = Math.min(next, entry.due)
        // Later ones fall due later, unless their longest time is near; those are found with the next check.
        if (entry.due < entry.latest) break
      }
    }
    if (this.#entries.size > 0)
      this.#timer ??= this.#clock.after(Math.max(1, next - now), () => this.#check())
  }
}
