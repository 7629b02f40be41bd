// Server-sent events with the places of their bytes, which a parser of events does not tell.

export interface EventField {
  readonly name: string
  /** ISO 8859-1: one character is one byte. */
  readonly value: string
  /** Where the value begins in the body. */
  readonly start: number
}

export interface EventBlock {
  readonly fields: readonly EventField[]
  /** Where the block begins, and where it ends behind its empty line. */
  readonly start: number
  readonly end: number
}

export interface EventReader {
  /** Takes the next bytes of a body and returns the blocks that they complete. */
  take(bytes: Buffer): EventBlock[]
}

/** Reads blocks that hold data; comments alone are none. Lines end with LF or CRLF: no known server ends them with CR alone. */
export function createEventReader(): EventReader {
  let held = ''
  /** Where `held` begins in the body. */
  let base = 0
  let fields: EventField[] = []
  let start = 0

  return {
    take(bytes) {
      const text = held + bytes.toString('latin1')
      const blocks: EventBlock[] = []
      let at = 0
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
        const line = text.slice(at, end).replace(/\r$/, '')
        if (line === '') {
          const block = { fields, start, end: base + end + 1 }
          if (fields.some(({ name }) => name === 'data')) blocks.push(block)
          fields = []
          start = block.end
        } else fields.push(fieldIn(line, base + at))
        at = end + 1
      }
      held = text.slice(at)
      base += at
      return blocks
    },
  }
}

/** The blocks of a whole body. */
export function eventsIn(body: Buffer): EventBlock[] {
  return createEventReader().take(body)
}

/** The data of a block as text, and the function from a place in it, in bytes, to the place in the body. */
export function dataOf(block: EventBlock): {
  readonly text: string
  readonly place: (at: number) => number
} {
  const parts = block.fields.filter(({ name }) => name === 'data')
  return {
    text: parts.map(({ value }) => value).join('\n'),
    place(at) {
      let before = 0
      for (const { value, start } of parts) {
        if (at <= before + value.length) return start + at - before
        before += value.length + 1
      }
      return block.end
    },
  }
}

export function eventName(block: EventBlock): string {
  return block.fields.findLast(({ name }) => name === 'event')?.value ?? 'message'
}

function fieldIn(line: string, offset: number): EventField {
  const colon = line.indexOf(':')
  if (colon < 0) return { name: line, value: '', start: offset + line.length }
  const gap = line[colon + 1] === ' ' ? 2 : 1
  return { name: line.slice(0, colon), value: line.slice(colon + gap), start: offset + colon + gap }
}
