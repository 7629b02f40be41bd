const CAPACITY = 64 * 1024
const LF = 0x0a

/** The last 64 KiB of a child's stderr, in one buffer that is made when the first byte comes. */
export class StderrTail {
  #ring: Buffer | undefined
  #written = 0

  push(bytes: Uint8Array): void {
    this.#ring ??= Buffer.allocUnsafe(CAPACITY)
    const kept = bytes.subarray(-CAPACITY)
    const at = (this.#written + bytes.length - kept.length) % CAPACITY
    const first = kept.subarray(0, CAPACITY - at)
    this.#ring.set(first, at)
    this.#ring.set(kept.subarray(first.length), 0)
    this.#written += bytes.length
  }

  /** Oldest first, without empty lines. A line whose beginning is lost is left out, unless it is the only one. */
  lines(): readonly string[] {
    const bytes = this.#bytes()
    const cut = this.#written > CAPACITY ? bytes.indexOf(LF) + 1 : 0
    return bytes
      .toString('utf8', cut)
      .split(/\r?\n/)
      .filter((line) => line.trim() !== '')
  }

  #bytes(): Buffer {
    if (this.#ring === undefined) return Buffer.alloc(0)
    if (this.#written <= CAPACITY) return this.#ring.subarray(0, this.#written)
    const at = this.#written % CAPACITY
    return Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)])
  }
}
