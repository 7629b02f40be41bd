// What a request says, read anew from its bytes: nothing here asks the code that is tested.
import type { Json, World } from './draft.ts'
import { MARKER, V } from './draft.ts'
import type { Sent } from './mutations.ts'

export type Shape = 'request' | 'notification' | 'response' | 'invalid'
export const ABSENT = Symbol('absent')

export interface Facts {
  readonly sent: Sent
  readonly world: World
  /** A header as node:http joins it. */
  readonly header: (name: string) => string | undefined
  /** The distinct values of a header, undefined where there is none. */
  readonly values: (name: string) => readonly string[] | undefined
  /** The parsed body; ABSENT where it is not JSON. */
  readonly json: unknown
  readonly shape: Shape
  /** The body where it is an object, else an empty one. */
  readonly message: Json
  readonly params: Json
  readonly meta: Json
  readonly method: string
  readonly marker: string | undefined
  readonly session: string | undefined
  /** Whether the version header names 2026-07-28 or any later date. */
  readonly modernHeader: boolean
  readonly era: 'legacy' | 'modern'
  /** The revision of a legacy request. */
  readonly revision: string
  /** The id to be repeated: null or ABSENT where it could not be read. */
  readonly id: unknown
}

/** node:http keeps the first of these and drops the rest. */
const SINGLE = new Set(['host', 'content-type', 'authorization'])

export function factsOf(sent: Sent, world: World): Facts {
  const all = (name: string) =>
    sent.headers
      .filter(([own]) => own.toLowerCase() === name)
      .map(([, value]) => value.replace(/^[ \t]+|[ \t]+$/g, ''))
  const header = (name: string) => {
    const found = all(name)
    if (found.length === 0) return undefined
    return SINGLE.has(name) ? found[0] : found.join(', ')
  }
  const values = (name: string) => (header(name) === undefined ? undefined : [...new Set(all(name))])
  const json = parse(sent.body)
  const modernHeader = values('mcp-protocol-version')?.some(isModernDate) === true
  const named = header('mcp-session-id')
  const session = Object.keys(world.sessions).find((revision) => world.sessions[revision] === named)
  const rest = readMessage(json)
  const { message, marker, method, shape } = rest
  const era = eraOf({ marker, method, inSession: session !== undefined, modernHeader })
  const version = header('mcp-protocol-version') ?? ''
  const revision = session ?? (KNOWN_LEGACY.has(version) ? version : '2025-03-26')
  const unread = modernHeader ? ABSENT : null
  const readable = isId(message['id'])
  return {
    sent,
    world,
    header,
    values,
    json,
    ...rest,
    session,
    modernHeader,
    era,
    revision,
    shape,
    id: readable ? message['id'] : unread,
  }
}

/** The same for one element of a batch. */
export function readMessage(
  json: unknown,
): Pick<Facts, 'shape' | 'message' | 'params' | 'meta' | 'method' | 'marker'> {
  const message = objectOf(json)
  const params = objectOf(message['params'])
  const meta = objectOf(params['_meta'])
  const text = meta[MARKER]
  const marker = typeof text === 'string' && text !== '' ? text : undefined
  const method = typeof message['method'] === 'string' ? message['method'] : ''
  return { shape: shapeOf(json), message, params, meta, method, marker }
}

/** Section 1 of the tables: the era of a request or notification. */
export function eraOf(of: {
  readonly marker: string | undefined
  readonly method: string
  readonly inSession: boolean
  readonly modernHeader: boolean
}): 'legacy' | 'modern' {
  if (of.marker !== undefined) return 'modern'
  if (of.method === 'initialize' || of.inSession) return 'legacy'
  return of.modernHeader || of.method === 'server/discover' ? 'modern' : 'legacy'
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of a header in the sentinel encoding, undefined where it is not well formed. */
export function decoded(value: string): string | undefined {
  if (/[^\t\x20-\x7e]/.test(value)) return undefined
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value
  if (value.length < '=?base64??='.length) return undefined
  const base64 = value.slice('=?base64?'.length, -'?='.length)
  const bytes = Buffer.from(base64, 'base64')
  const text = bytes.toString()
  return bytes.toString('base64') === base64 && Buffer.from(text).equals(bytes) ? text : undefined
}

function isModernDate(text: string): boolean {
  return isDate(text) && text >= V
}

export const KNOWN_LEGACY: ReadonlySet<string> = new Set([
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
])

function isDate(text: string): boolean {
  const [, month, day] = /^\d{4}-(\d\d)-(\d\d)$/.exec(text) ?? []
  return within(month, 12) && within(day, 31)
}

function within(text: string | undefined, most: number): boolean {
  return Number(text ?? 0) >= 1 && Number(text) <= most
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return ABSENT
  }
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

function shapeOf(json: unknown): Shape {
  if (!isObject(json) || json['jsonrpc'] !== '2.0') return 'invalid'
  const { id, method, params, result, error } = json
  if (Object.hasOwn(json, 'method')) {
    if (typeof method !== 'string' || (params !== undefined && !isObject(params))) return 'invalid'
    if (!Object.hasOwn(json, 'id')) return 'notification'
    return isId(id) ? 'request' : 'invalid'
  }
  if (isObject(result) && isId(id)) return 'response'
  const isError = isObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string'
  return isError && (isId(id) || id === null || id === undefined) ? 'response' : 'invalid'
}
