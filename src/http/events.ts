// What happens in mcpx, for whoever watches: a bounded history that a reader who was away can catch up with.

export interface EventEntry {
  readonly id: number
  readonly type: string
  readonly data: unknown
}

export interface EventReader {
  /** Called for each event, in order. A reader that returns false cannot keep up and is left alone from then on. */
  readonly onEvent: (entry: EventEntry) => boolean
}

/** Events that are kept for readers who come back. Calls are many, so they are kept apart: they push out nothing else. */
const HISTORY = 1000
const FREQUENT = 'call'

export class EventLog {
  readonly #kept: EventEntry[] = []
  readonly #calls: EventEntry[] = []
  readonly #readers = new Set<EventReader>()
  #lastId = 0

  publish(type: string, data: unknown): void {
    const entry = { id: ++this.#lastId, type, data }
    const kept = type === FREQUENT ? this.#calls : this.#kept
    kept.push(entry)
    if (kept.length > HISTORY) kept.shift()
    for (const reader of this.#readers) if (!reader.onEvent(entry)) this.#readers.delete(reader)
  }

  /**
   * Reads from now on, or from after an event that was read before. What has been dropped shows as one `gap` event, which
   * says how many are missing. Returns the function that ends the reading.
   */
  read(reader: EventReader, after: number | undefined): () => void {
    const missed = after === undefined ? [] : this.#after(after)
    const first = missed[0]?.id ?? this.#lastId + 1
    // An id from the future is one of another run of the daemon: everything since its start is news.
    const lost = after === undefined ? 0 : after > this.#lastId ? -1 : this.#lastId - after - missed.length
    let open = true
    if (lost !== 0)
      open = reader.onEvent({ id: first - 1, type: 'gap', data: { missing: lost > 0 ? lost : null } })
    for (const entry of missed) open &&= reader.onEvent(entry)
    if (open) this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  #after(id: number): EventEntry[] {
    const missed = [...this.#kept, ...this.#calls].filter((entry) => entry.id > id)
    return missed.sort((a, b) => a.id - b.id)
  }
}
