// A response with its volatile fields replaced by their names, and the lengths that follow from them made to fit.
import { headOf } from './response.ts'
import type { Chunk, Response } from './response.ts'
import { spansIn } from './selector.ts'
import type { Selector, Span } from './selector.ts'

export interface Masking {
  readonly selectors: readonly Selector[]
  /** `host:port` of the server that answered: what the selector `address` hides. */
  readonly address: string
  /** Called for each value that is hidden. */
  hidden(selector: Selector, value: string): void
}

/** The same response with each named value replaced by `‹name›`. Content-Length and chunk sizes are those of the new body. */
export function masked(response: Response, masking: Masking): Response {
  const { body, spans } = maskedBody(response, masking)
  /** Where a place of the body is after the replacement; one within a value is behind its name. */
  const moved = (at: number): number => {
    const before = spans.filter((span) => span.start < at)
    const grown = before.reduce((sum, span) => sum + span.name.length - (span.end - span.start), 0)
    return Math.max(at, before.at(-1)?.end ?? 0) + grown
  }
  const length = spans.length === 0 ? undefined : response.body.length
  return {
    ...response,
    heads: response.heads.map((lines) =>
      lines.map((line, index) =>
        index === 0 ? line : maskedField(line, length, { masking, now: body.length }),
      ),
    ),
    body,
    chunks: response.chunks.map(({ line, start }, index) => {
      const end = response.chunks[index + 1]?.start ?? response.body.length
      const delta = moved(end) - moved(start) - (end - start)
      return { line: delta === 0 ? line : resized(line, delta), start: moved(start) } satisfies Chunk
    }),
  }
}

interface NamedSpan {
  readonly start: number
  readonly end: number
  readonly name: Buffer
}

function maskedBody(response: Response, masking: Masking): { body: Buffer; spans: readonly NamedSpan[] } {
  const spans = masking.selectors
    .flatMap((selector) => found(selector, response, masking).map((span) => ({ ...span, selector })))
    .sort((a, b) => a.start - b.start || b.end - a.end)
  const pieces: Buffer[] = []
  const named: NamedSpan[] = []
  let at = 0
  for (const { start, end, json, selector } of spans) {
    // What lies within another one is hidden with it.
    if (start < at) continue
    masking.hidden(selector, response.body.toString('utf8', start, end))
    const name = Buffer.from(json ? `"‹${selector.text}›"` : `‹${selector.text}›`)
    pieces.push(response.body.subarray(at, start), name)
    named.push({ start, end, name })
    at = end
  }
  pieces.push(response.body.subarray(at))
  return { body: Buffer.concat(pieces), spans: named }
}

function found(selector: Selector, response: Response, { address }: Masking): Span[] {
  if (selector.kind !== 'address') return spansIn(selector, headOf(response), response.body)
  const spans: Span[] = []
  for (let at = response.body.indexOf(address); at >= 0; at = response.body.indexOf(address, at + 1)) {
    spans.push({ start: at, end: at + address.length, json: false })
  }
  return spans
}

function maskedField(
  line: string,
  length: number | undefined,
  { masking, now }: { masking: Masking; now: number },
): string {
  const match = /^([^:]+)(:\s*)(.*?)(\s*)$/s.exec(line)
  if (match === null) return line
  const [, name = '', colon = '', value = '', end = ''] = match
  const key = name.toLowerCase()
  const selector = masking.selectors.find((one) => one.kind === 'header' && one.name === key)
  if (selector !== undefined) {
    masking.hidden(selector, value)
    return `${name}${colon}‹${selector.text}›${end}`
  }
  if (key === 'content-length' && value === String(length)) return `${name}${colon}${now}${end}`
  const address = masking.selectors.find((one) => one.kind === 'address')
  if (address === undefined || !value.includes(masking.address)) return line
  masking.hidden(address, masking.address)
  return `${name}${colon}${value.replaceAll(masking.address, '‹address›')}${end}`
}

/** A chunk's line for a chunk that became longer by so much; its extensions stay. */
function resized(line: string, delta: number): string {
  return line.replace(/^[0-9a-f]+/i, (size) => {
    const changed = (Number.parseInt(size, 16) + delta).toString(16)
    return size === size.toLowerCase() ? changed : changed.toUpperCase()
  })
}
