// Names of places in a response: fields that are masked, and values that a later request needs.
import { McpxError } from '../../base/index.ts'
import { dataOf, eventName, eventsIn } from './event-reader.ts'
import type { EventBlock } from './event-reader.ts'
import { fieldOf } from './http-reader.ts'
import { parseJson, placesIn } from './json-places.ts'
import { contentOf, headOf } from './response.ts'
import type { Response } from './response.ts'

export type Selector =
  | { readonly kind: 'header'; readonly text: string; readonly name: string }
  | { readonly kind: 'json'; readonly text: string; readonly path: readonly string[] }
  | { readonly kind: 'sse'; readonly text: string; readonly field: string }
  | { readonly kind: 'event'; readonly text: string; readonly name: string }
  | { readonly kind: 'address'; readonly text: string }

/** A part of a body, in bytes. `json` is a whole JSON value. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly json: boolean
}

/** Reads `header:date`, `json:result.serverInfo.version`, `json:/result/tools/0`, `sse:id`, `event:endpoint`, `address`. */
export function parseSelector(text: string): Selector {
  const [kind, rest] = [text.split(':', 1)[0], text.slice(text.indexOf(':') + 1)]
  if (text === 'address') return { kind: 'address', text }
  if (rest !== '' && text.includes(':')) {
    if (kind === 'header') return { kind, text: text.toLowerCase(), name: rest.toLowerCase() }
    if (kind === 'json') return { kind, text, path: pathOf(rest) }
    if (kind === 'sse') return { kind, text, field: rest }
    if (kind === 'event') return { kind, text, name: rest }
  }
  throw new McpxError(
    'USAGE',
    `"${text}" names no part of a response: write header:<name>, json:<pointer>, sse:id, event:<name> or address.`,
  )
}

/** Where the selector's values stand in a body. `address` is found by whoever knows the server's. */
export function spansIn(selector: Selector, head: readonly string[], body: Buffer): Span[] {
  const content = contentOf(head)
  if (selector.kind === 'json') {
    if (content === 'json') return jsonSpans(selector.path, body.toString('latin1'))
    if (content === 'events') return eventsIn(body).flatMap((block) => spansInData(selector.path, block))
  }
  if (content !== 'events') return []
  if (selector.kind === 'sse') {
    const fields = eventsIn(body).flatMap((block) => block.fields)
    return fields
      .filter(({ name }) => name === selector.field)
      .map(({ value, start }) => ({ start, end: start + value.length, json: false }))
  }
  if (selector.kind === 'event') {
    return eventsIn(body)
      .filter((block) => eventName(block) === selector.name)
      .map((block) => {
        const { text, place } = dataOf(block)
        return { start: place(0), end: place(text.length), json: false }
      })
  }
  return []
}

/** The last value that the selector has in a response, as text: a JSON string without its quotes. */
export function valueOf(selector: Selector, response: Response): string | undefined {
  const head = headOf(response)
  if (selector.kind === 'header') return fieldOf(head, selector.name)
  const span = spansIn(selector, head, response.body).at(-1)
  if (span === undefined) return undefined
  const text = response.body.toString('latin1', span.start, span.end)
  const value = span.json ? parseJson(text) : undefined
  return typeof value === 'string' ? value : Buffer.from(text, 'latin1').toString('utf8')
}

function jsonSpans(path: readonly string[], text: string): Span[] {
  return (placesIn(text) ?? [])
    .filter((place) => fits(path, place.path))
    .map(({ start, end }) => ({ start, end, json: true }))
}

function spansInData(path: readonly string[], block: EventBlock): Span[] {
  const { text, place } = dataOf(block)
  return jsonSpans(path, text).map(({ start, end }) => ({ start: place(start), end: place(end), json: true }))
}

/** A `*` in a selector's path stands for any one member or index. */
function fits(wanted: readonly string[], path: readonly string[]): boolean {
  return wanted.length === path.length && wanted.every((step, index) => step === '*' || step === path[index])
}

/** A pointer (RFC 6901) where it begins with a slash, else names with dots between them. */
function pathOf(text: string): string[] {
  if (!text.startsWith('/')) return text.split('.')
  return text
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
