// What the proxy saw, made into exchanges that can be sent again: values that a run has anew become references.
import { isObject } from '../../base/index.ts'
import { HEADERS } from '../../spec/index.ts'
import { headerReference } from './draft.ts'
import type { Capture, End, Exchange, Progress } from './exchange-file.ts'
import { parseJson } from './json-places.ts'
import { numbered } from './recorder.ts'
import { readResponse } from './response.ts'
import { parseSelector, valueOf } from './selector.ts'
import { referencesIn, segmentsOf } from './template.ts'
import type { Segment, Template } from './template.ts'

/** One request as the client sent it, and its response as the server did. */
export interface Talk {
  readonly request: Buffer[]
  readonly response: Buffer[]
  /** Those that were not over when this request came, with what had passed of them. */
  readonly overlaps: readonly { readonly talk: Talk; readonly passed: Progress }[]
  head: readonly string[]
  /** How far the response came. */
  passed: Progress
  isStream: boolean
  /** Undefined until it is over; `lost` where the client left before the response was whole. */
  end: End | 'lost' | undefined
}

/** The exchanges of all that is over and not lost, in the order of the requests. */
export function exchangesOf(talks: readonly Talk[], url: URL): Exchange[] {
  const kept = talks.filter((talk) => typeof talk.end === 'object')
  const names = new Map(kept.map((talk, index) => [talk, numbered(index, labelOf(talk))]))
  const captures = new Map(kept.map((talk) => [talk, [] as Capture[]]))
  const requests = kept.map((talk, index) => {
    const lookUp = createLookUp(kept.slice(0, index), captures)
    return templateOf(talk, (line, place) => referred(line, place, { lookUp, url }))
  })
  return kept.flatMap((talk, index) => {
    const [name, request] = [names.get(talk), requests[index]]
    if (name === undefined || request === undefined || typeof talk.end !== 'object') return []
    const overlaps = talk.overlaps.flatMap((overlap) => {
      const other = names.get(overlap.talk)
      return other === undefined ? [] : [{ name: other, passed: overlap.passed }]
    })
    const response = Buffer.concat(talk.response)
    return [{ name, captures: captures.get(talk) ?? [], overlaps, request, response, end: talk.end }]
  })
}

/** `post-tools-list`: the verb, and the JSON-RPC method where there is one. */
export function labelOf({ head, request }: Talk): string {
  const bytes = Buffer.concat(request)
  const body = parseJson(bytes.subarray(head.join('').length).toString('latin1'))
  const method = isObject(body) ? body['method'] : undefined
  const words = [head[0]?.split(' ', 1)[0] ?? '', typeof method === 'string' ? method : '']
  const label = words
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
  return label.replace(/^-|-$/g, '').slice(0, 60)
}

type Place = 'target' | 'field'
type LookUp = (value: string, selectors: readonly string[]) => string | undefined

const SECRET = new Set(['authorization', 'proxy-authorization', 'cookie'])
/** Fields whose values come from a response, and the selectors that find them there. */
const GIVEN: Readonly<Record<string, readonly string[]>> = {
  [HEADERS.sessionId.toLowerCase()]: [`header:${HEADERS.sessionId.toLowerCase()}`],
  [HEADERS.lastEventId.toLowerCase()]: ['sse:id'],
}
/** Where a server of HTTP+SSE says to send messages to. */
const ENDPOINT = 'event:endpoint'

/** Finds the first response that gave a value, and has it captured there. */
function createLookUp(earlier: readonly Talk[], captures: ReadonlyMap<Talk, Capture[]>): LookUp {
  return (value, selectors) => {
    for (const talk of earlier) {
      const response = readResponse(Buffer.concat(talk.response), talk.head[0]?.split(' ', 1)[0] ?? '')
      const selector = selectors.find((one) => valueOf(parseSelector(one), response) === value)
      if (selector === undefined) continue
      const own = captures.get(talk) ?? []
      const known = own.find((capture) => capture.selector === selector)
      if (known !== undefined) return known.name
      const count = [...captures.values()].flat().filter((capture) => capture.selector === selector).length
      const name = `${selector.replace(/^.*:(mcp-)?/, '').replace(/^id$/, 'event-id')}-${count + 1}`
      own.push({ name, selector })
      return name
    }
    return undefined
  }
}

function templateOf({ head, request }: Talk, refer: (line: string, place: Place) => string): Template {
  const lines = head.flatMap((line, index): Segment[] => {
    const [, text = '', end = ''] = /^(.*?)(\r?\n)$/.exec(line) ?? []
    const whole = segmentsOf(Buffer.from(line, 'latin1'))
    // What the client sent in braces must not be taken for a reference.
    if (referencesIn(text).length > 0 || (end !== '\r\n' && end !== '\n')) return whole
    const referredTo = refer(text, index === 0 ? 'target' : 'field')
    if (referredTo === text) return whole
    return [{ text: referredTo, end }]
  })
  return [...lines, ...segmentsOf(Buffer.concat(request).subarray(head.join('').length))]
}

function referred(line: string, place: Place, { lookUp, url }: { lookUp: LookUp; url: URL }): string {
  if (place === 'target') {
    const [verb = '', target = '', version = ''] = line.split(' ')
    const name = target === url.pathname + url.search ? 'path' : lookUp(target, [ENDPOINT])
    return name === undefined ? line : `${verb} {{${name}}} ${version}`
  }
  const [, field = '', colon = '', value = ''] = /^([^:]+)(:\s*)(.*)$/.exec(line) ?? []
  const key = field.toLowerCase()
  const name = nameOf(key, value, lookUp)
  return name === undefined ? line : `${field}${colon}{{${name}}}`
}

function nameOf(key: string, value: string, lookUp: LookUp): string | undefined {
  if (key === 'host') return 'host'
  if (SECRET.has(key)) return headerReference(key)
  return lookUp(value.trim(), GIVEN[key] ?? [])
}
