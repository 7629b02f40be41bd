// HTTP/1.1 messages as they come off a socket (RFC 9112): where each part of one ends, and nothing thrown away.

/** Lines keep their line ends and are ISO 8859-1, so that one character is one byte. */
export interface HttpSink {
  /** A whole head with the empty line that ends it; interim (1xx) heads come before the last one. */
  onHead?(lines: readonly string[]): void
  /** The line before a chunk, its size in it. */
  onChunk?(line: string): void
  /** A piece of the body, and where it begins in the message. */
  onBody?(bytes: Buffer, offset: number): void
  /** What follows the last chunk, with the empty line that ends it. */
  onTrailer?(line: string): void
}

export interface HttpReader {
  /** Takes bytes of the message and returns how many of them belong to it. */
  take(bytes: Buffer): number
  /** `until-close`: the body ends with the connection. `broken`: what came is not HTTP/1.1. */
  readonly state: 'head' | 'body' | 'until-close' | 'done' | 'broken'
}

/** A longer head, chunk line or trailer is not taken for one. */
const LINE_LIMIT = 2 ** 20

/** A reader of one message: a request, or the response to a request of that verb. */
export function createHttpReader(of: 'request' | { readonly answering: string }, sink: HttpSink): HttpReader {
  let part: Part = 'head'
  let left = 0
  let offset = 0
  let held: Buffer = Buffer.alloc(0)

  function take(bytes: Buffer): number {
    let at = 0
    while (at < bytes.length && part !== 'done' && part !== 'broken') at += step(bytes.subarray(at))
    return at
  }

  function step(bytes: Buffer): number {
    if (part === 'fixed' || part === 'chunk' || part === 'until-close') {
      const piece = part === 'until-close' ? bytes : bytes.subarray(0, left)
      sink.onBody?.(piece, offset)
      offset += piece.length
      left -= piece.length
      if (left === 0 && part !== 'until-close') part = part === 'fixed' ? 'done' : 'chunk-end'
      return piece.length
    }
    const whole = Buffer.concat([held, bytes])
    const text = whole.toString('latin1')
    const end = part === 'head' ? headEnd(text) : text.indexOf('\n') + 1
    if (end === 0) {
      held = whole
      if (whole.length > LINE_LIMIT) part = 'broken'
      offset += bytes.length
      return bytes.length
    }
    const taken = end - held.length
    held = Buffer.alloc(0)
    offset += taken
    read(text.slice(0, end))
    return taken
  }

  function read(text: string): void {
    if (part === 'head') return readHead(text)
    if (part === 'chunk-end') {
      part = text === '\r\n' ? 'chunk-line' : 'broken'
      return
    }
    if (part === 'chunk-line') {
      const size = /^[0-9a-f]{1,12}(?=\s*[;\r\n])/i.exec(text)?.[0]
      if (size !== undefined) sink.onChunk?.(text)
      left = Number.parseInt(size ?? '', 16)
      if (size === undefined) part = 'broken'
      else part = left === 0 ? 'trailer' : 'chunk'
      return
    }
    sink.onTrailer?.(text)
    if (text === '\r\n' || text === '\n') part = 'done'
  }

  function readHead(text: string): void {
    const lines = text.match(/[^\n]*\n/g) ?? []
    sink.onHead?.(lines)
    const { part: next, length } = framing(lines, of)
    part = next
    left = length
  }

  return {
    take,
    get state() {
      if (part === 'done' || part === 'broken' || part === 'until-close' || part === 'head') return part
      return 'body'
    },
  }
}

export interface Field {
  /** In lower case. */
  readonly name: string
  readonly value: string
}

/** The fields of a head's lines, in order. */
export function fieldsOf(lines: readonly string[]): Field[] {
  return lines.slice(1).flatMap((line) => {
    const colon = line.indexOf(':')
    return colon < 1
      ? []
      : [{ name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim() }]
  })
}

/** The value of the first field of that name, given in lower case. */
export function fieldOf(lines: readonly string[], name: string): string | undefined {
  return fieldsOf(lines).find((field) => field.name === name)?.value
}

export function isInterim(lines: readonly string[]): boolean {
  return /^HTTP\/1\.\d 1\d\d/.test(lines[0] ?? '')
}

type Part =
  'head' | 'fixed' | 'chunk-line' | 'chunk' | 'chunk-end' | 'trailer' | 'until-close' | 'done' | 'broken'

function headEnd(text: string): number {
  const match = /\n\r?\n/.exec(text)
  return match === null ? 0 : match.index + match[0].length
}

/** How the body is delimited: RFC 9112, 6.3. */
function framing(
  lines: readonly string[],
  of: 'request' | { readonly answering: string },
): { part: Part; length: number } {
  const status = of === 'request' ? undefined : /^HTTP\/1\.\d (\d{3})/.exec(lines[0] ?? '')?.[1]
  if (of !== 'request') {
    if (status === undefined) return { part: 'broken', length: 0 }
    if (status === '101') return { part: 'until-close', length: 0 }
    if (isInterim(lines)) return { part: 'head', length: 0 }
    if (of.answering === 'HEAD' || status === '204' || status === '304') return { part: 'done', length: 0 }
  }
  const coding = fieldOf(lines, 'transfer-encoding')
  if (coding !== undefined) {
    return { part: /(^|,)\s*chunked$/i.test(coding) ? 'chunk-line' : 'until-close', length: 0 }
  }
  const length = fieldOf(lines, 'content-length')
  if (length === undefined) return { part: of === 'request' ? 'done' : 'until-close', length: 0 }
  if (!/^\d+$/.test(length)) return { part: 'broken', length: 0 }
  return { part: length === '0' ? 'done' : 'fixed', length: Number(length) }
}
