// Message bytes as lines that people read and git shows, and requests with places for values that each run has anew.

/**
 * `end` is the line end that follows the text. In requests a text may hold `{{name}}`. Bytes are what is not plain UTF-8; a
 * repeated text stands for a body that only has to be large.
 */
export type Segment =
  | { readonly text: string; readonly end: '\r\n' | '\n' | '' }
  | { readonly bytes: Buffer }
  | { readonly repeated: string; readonly times: number }

export type Template = readonly Segment[]

/** A segment holds at most so many bytes that are not text: 80 characters of base64. */
const BYTES_PER_LINE = 60
/** Text longer than this is shown in parts. */
const LONG = 100
/** Control and format characters, which a reader of the file would not see; a tab is plain. */
const UNSEEN = /[^\P{C}\t]|\u2028|\u2029/u
const REFERENCE = /\{\{([a-z0-9][a-z0-9.-]*)\}\}/g

/** Bytes as lines. What could be taken for a reference is kept as bytes. */
export function segmentsOf(bytes: Buffer): Segment[] {
  const segments: Segment[] = []
  let odd: Buffer[] = []
  const flush = (): void => {
    const whole = Buffer.concat(odd)
    for (let at = 0; at < whole.length; at += BYTES_PER_LINE) {
      segments.push({ bytes: whole.subarray(at, at + BYTES_PER_LINE) })
    }
    odd = []
  }
  for (let at = 0; at < bytes.length;) {
    const newline = bytes.indexOf(10, at)
    const next = newline < 0 ? bytes.length : newline + 1
    const line = bytes.subarray(at, next)
    const segment = plain(line)
    if (segment === undefined || referencesIn(segment.text).length > 0) odd.push(line)
    else {
      flush()
      segments.push(...parted(segment))
    }
    at = next
  }
  flush()
  return segments
}

/** Text with references as lines. */
export function templateOf(text: string): Template {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  return lines.flatMap((line) => {
    const segment = plain(Buffer.from(line))
    return segment === undefined ? segmentsOf(Buffer.from(line)) : parted(segment)
  })
}

export type Filled = { readonly bytes: Buffer } | { readonly missing: string }

/**
 * The bytes of a template with its references filled in; `{{content-length}}` is the length of the body. A name that `valueOf`
 * does not know, undefined, stays as it is; one that has no value, null, is missing.
 */
export function fill(template: Template, valueOf: (name: string) => string | undefined | null): Filled {
  const gap = template.findIndex(
    (segment) => 'text' in segment && segment.text === '' && segment.end === '\r\n',
  )
  const bodyOf = gap < 0 ? [] : template.slice(gap + 1)
  let missing: string | undefined
  const put = (segments: Template, length: number): Buffer =>
    Buffer.concat(
      segments.map((segment) => {
        if ('bytes' in segment) return segment.bytes
        if ('repeated' in segment) return Buffer.from(segment.repeated.repeat(segment.times))
        const text = segment.text.replace(REFERENCE, (whole, name: string) => {
          if (name === 'content-length') return String(length)
          const value = valueOf(name)
          if (value === null) missing ??= name
          return value ?? whole
        })
        return Buffer.from(text + segment.end)
      }),
    )
  const body = put(bodyOf, 0)
  const head = put(gap < 0 ? template : template.slice(0, gap + 1), body.length)
  return missing === undefined ? { bytes: Buffer.concat([head, body]) } : { missing }
}

/** The verb of a request, in its first line. */
export function verbOf(request: Template): string {
  const [first] = request
  return first !== undefined && 'text' in first ? (first.text.split(' ', 1)[0] ?? '') : ''
}

export function referencesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map(([, name = '']) => name)
}

/** The line of a file that holds a segment. The first character says how it ends, or what it is. */
export function formatSegment(segment: Segment): string {
  if ('bytes' in segment) return `= ${segment.bytes.toString('base64')}`
  if ('repeated' in segment) return `* ${segment.times} ${segment.repeated}`
  const mark = MARKS[segment.end]
  return segment.text === '' ? mark : `${mark} ${segment.text}`
}

/** Undefined for what is no such line. */
export function parseSegment(line: string): Segment | undefined {
  const [mark, rest] = [line.slice(0, 1), line.slice(1).replace(/^ /, '')]
  if (mark === '=') return { bytes: Buffer.from(rest, 'base64') }
  if (mark === '*') {
    const [, times, repeated = ''] = /^(\d{1,9}) (.+)$/.exec(rest) ?? []
    return times === undefined ? undefined : { repeated, times: Number(times) }
  }
  const end = ENDS.find((candidate) => MARKS[candidate] === mark)
  return end === undefined ? undefined : { text: rest, end }
}

const MARKS = { '\r\n': '|', '\n': ':', '': '.' } as const
const ENDS = ['\r\n', '\n', ''] as const

function plain(line: Buffer): (Segment & { readonly text: string }) | undefined {
  const [end = ''] = ENDS.filter(
    (candidate) => candidate !== '' && line.toString('latin1').endsWith(candidate),
  )
  const content = line.subarray(0, line.length - end.length)
  const text = content.toString('utf8')
  return UNSEEN.test(text) || !Buffer.from(text).equals(content) ? undefined : { text, end }
}

/** A long line in parts that end behind a comma, so that a change of one member is a change of one line of the file. */
function parted(segment: Segment & { readonly text: string }): Segment[] {
  const { text, end } = segment as { text: string; end: '\r\n' | '\n' | '' }
  if (text.length <= LONG) return [segment]
  const parts = text.split(/(?<=[^\\],)(?=["{[])/)
  return parts.map((part, index) => ({ text: part, end: index === parts.length - 1 ? end : '' }))
}
