// Sends drafts to a server, one after the other, and keeps what it answers.
import { isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { Heard } from './compare.ts'
import { converse } from './conversation.ts'
import type { Stop } from './conversation.ts'
import { headerReference, requestOf } from './draft.ts'
import type { Draft } from './draft.ts'
import { dataOf, eventsIn } from './event-reader.ts'
import type { Capture, Exchange } from './exchange-file.ts'
import { parseJson } from './json-places.ts'
import { contentOf, headOf, readResponse } from './response.ts'
import type { Response } from './response.ts'
import { parseSelector, valueOf } from './selector.ts'
import { fill, referencesIn } from './template.ts'

export interface Recording {
  readonly url: URL
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** After so many events of a stream by GET. */
  readonly events: number | undefined
  /** In ms. */
  readonly quiet: number
  readonly timeout: number
  /** Whether a field that names a value which the server did not give is left out, rather than an error. */
  readonly lenient: boolean
  /** Drafts that go without the headers. */
  readonly plain: ReadonlySet<string>
}

/** Records each draft in turn. Throws USAGE for one that names a value which no earlier response gave. */
export async function recordDrafts(drafts: readonly Draft[], recording: Recording): Promise<Exchange[]> {
  const values = new Map<string, string>([
    ['host', recording.url.host],
    ['path', recording.url.pathname + recording.url.search],
    ...recording.headers.map(([name, value]) => [headerReference(name), value] as const),
  ])
  const exchanges: Exchange[] = []
  for (const [index, draft] of drafts.entries()) {
    const request = requestOf(completed(draft, values, recording))
    const filled = fill(request, (name) => values.get(name))
    if ('missing' in filled) throw new McpxError('INTERNAL', `${draft.name}: no value for ${filled.missing}`)
    const { url, timeout } = recording
    const stop = stopOf(draft, recording)
    const { ended } = converse({ url, verb: draft.verb, bytes: filled.bytes, stop, timeout })
    const { bytes, end } = await ended
    const captures = capturedBy(draft, { bytes, end }, values)
    exchanges.push({
      name: numbered(index, draft.name),
      captures,
      overlaps: [],
      request,
      response: bytes,
      end,
    })
  }
  return exchanges
}

/** What the first server to say so calls itself. */
export function serverInfoIn(exchanges: readonly Exchange[]): JsonObject | undefined {
  for (const { response } of exchanges) {
    for (const value of messagesIn(readResponse(response, ''))) {
      const result = isObject(value) ? value['result'] : undefined
      const info = isObject(result) ? result['serverInfo'] : undefined
      if (isObject(info)) return info
    }
  }
  return undefined
}

export function numbered(index: number, name: string): string {
  return `${String(index + 1).padStart(3, '0')}-${name}`
}

function messagesIn(response: Response): unknown[] {
  const content = contentOf(headOf(response))
  if (content === 'json') return [parseJson(response.body.toString('latin1'))]
  return content === 'events' ? eventsIn(response.body).map((block) => parseJson(dataOf(block).text)) : []
}

/** A draft with the headers of the command line, and without the fields that cannot be filled in. */
function completed(draft: Draft, values: ReadonlyMap<string, string>, recording: Recording): Draft {
  const lacks = (text: string): string | undefined =>
    referencesIn(text).find((name) => !values.has(name) && name !== 'content-length')
  const given = recording.plain.has(draft.name) ? [] : recording.headers
  const fields = [
    ...draft.fields.filter(([, value]) => !recording.lenient || lacks(value) === undefined),
    ...given.map(([name]) => [name, `{{${headerReference(name)}}}`] as const),
  ]
  const texts = [draft.path, ...fields.map(([, value]) => value)]
  const missing = texts.map(lacks).find((name) => name !== undefined)
  if (missing === undefined) return { ...draft, fields }
  throw new McpxError(
    'USAGE',
    `The request "${draft.name}" needs {{${missing}}}, which no earlier response gave. Capture it, or leave it out.`,
  )
}

function stopOf(draft: Draft, { events, quiet }: Recording): Stop {
  if (draft.verb !== 'GET') return { quiet, answer: true, ...(draft.events ? { events: draft.events } : {}) }
  const count = draft.events ?? events
  return count === undefined ? { quiet } : { quiet, events: count }
}

function capturedBy(draft: Draft, heard: Heard, values: Map<string, string>): Capture[] {
  const response = readResponse(heard.bytes, draft.verb)
  return (draft.captures ?? []).filter(({ name, selector }) => {
    const value = valueOf(parseSelector(selector), response)
    if (value !== undefined) values.set(name, value)
    return value !== undefined
  })
}
