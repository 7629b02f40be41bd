// Newline-delimited JSON as bytes: the framing of stdio. It splits and decodes; what a line means is for others.

/** 64 MiB: what one message may have, on every transport. */
export const DEFAULT_MAX_MESSAGE = 64 * 1024 * 1024

const LF = 0x0a
const CR = 0x0d
const BOM = '\uFEFF'
const HEAD_BYTES = 4096
const TAIL_BYTES = 512
const SMALLEST_BUFFER = 4096
/** A buffer that a long line needed is not kept for the short ones after it. */
const LARGEST_KEPT_BUFFER = 1024 * 1024

export interface LineSink {
  /** One line without its end, never empty. */
  onLine(text: string): void
  /** A line over the limit was dropped; the next one is read again. */
  onOversize(line: OversizeLine): void
}

/** What is left of a dropped line: its length in bytes, its first 4 KiB and its last 512 bytes. */
export interface OversizeLine {
  readonly bytes: number
  readonly head: string
  readonly tail: string
}

export interface LineFramer {
  /** Takes the next bytes of the stream, split anywhere. They are not kept after the call. */
  feed(bytes: Uint8Array): void
  /** The stream ended: a last line without its newline is handed out. */
  end(): void
}

/**
 * Splits a stream of bytes into lines at 0x0A only, so that U+2028, U+2029 and U+0085 stay inside their strings. A CR at a
 * line's end, a BOM at the stream's start and empty lines are left out; invalid UTF-8 becomes U+FFFD. Every byte is copied
 * a bounded number of times however the stream is split.
 */
export function createLineFramer(sink: LineSink, maxLine = DEFAULT_MAX_MESSAGE): LineFramer {
  // A line is decoded as a whole, so a character that two chunks share needs no care.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let pending = new Uint8Array(0)
  let size = 0
  let dropped: { bytes: number; head: Uint8Array; tail: Uint8Array } | undefined
  let atStart = true

  function feed(bytes: Uint8Array): void {
    let start = 0
    for (let stop = bytes.indexOf(LF); stop !== -1; stop = bytes.indexOf(LF, start)) {
      finish(bytes.subarray(start, stop))
      start = stop + 1
    }
    if (start < bytes.length) add(bytes.subarray(start))
  }

  function end(): void {
    finish(new Uint8Array(0))
  }

  function finish(last: Uint8Array): void {
    if (size === 0 && dropped === undefined && last.length <= maxLine) return emit(last)
    add(last)
    if (dropped !== undefined) {
      const { bytes, head, tail } = dropped
      dropped = undefined
      return sink.onOversize({ bytes, head: decoder.decode(head), tail: decoder.decode(tail) })
    }
    const line = pending.subarray(0, size)
    size = 0
    if (pending.length > LARGEST_KEPT_BUFFER) pending = new Uint8Array(0)
    emit(line)
  }

  function emit(line: Uint8Array): void {
    const length = line[line.length - 1] === CR ? line.length - 1 : line.length
    let text = decoder.decode(length === line.length ? line : line.subarray(0, length))
    if (atStart && text.startsWith(BOM)) text = text.slice(1)
    atStart = false
    if (text !== '') sink.onLine(text)
  }

  function add(bytes: Uint8Array): void {
    if (dropped === undefined && size + bytes.length <= maxLine) return append(bytes)
    const held = pending.subarray(0, size)
    dropped ??= { bytes: size, head: joined(held, bytes).slice(0, HEAD_BYTES), tail: held.slice(-TAIL_BYTES) }
    dropped.bytes += bytes.length
    dropped.tail = joined(dropped.tail, bytes.subarray(-TAIL_BYTES)).slice(-TAIL_BYTES)
    atStart = false
    size = 0
    pending = new Uint8Array(0)
  }

  function append(bytes: Uint8Array): void {
    const needed = size + bytes.length
    if (needed > pending.length) {
      // Doubling keeps the sum of all copies linear, and bounds the memory where chunk objects would not: one a byte at worst.
      const grown = new Uint8Array(Math.max(needed, Math.min(pending.length * 2, maxLine), SMALLEST_BUFFER))
      grown.set(pending.subarray(0, size))
      pending = grown
    }
    pending.set(bytes, size)
    size = needed
  }

  return { feed, end }
}

/** At most the head's worth of each, so that nothing large is copied. */
function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const a = first.subarray(0, HEAD_BYTES)
  const b = second.subarray(0, HEAD_BYTES)
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
