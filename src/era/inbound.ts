// Which era a message from a client belongs to, and whether a modern one is well formed. Decided for each message alone.
import { clip, clipList, isObject } from '../base/index.ts'
import {
  ERRORS,
  eraOfDate,
  HEADERS,
  isRevisionId,
  LOG_LEVELS,
  META,
  METHOD,
  methodIn,
  newest,
  REVISIONS,
  revisionsOf,
} from '../spec/index.ts'
import type { Era, RevisionId } from '../spec/index.ts'
import { decodeHeaderValue, encodeHeaderValue } from '../wire/index.ts'
import type { RpcError, RpcNotification, RpcRequest } from '../wire/index.ts'

/** The headers of a request: `joined` as HTTP libraries give them, `raw` as they were sent (name, value, name, …). */
export interface InboundHeaders {
  readonly joined: Readonly<Record<string, string | string[] | undefined>>
  readonly raw: readonly string[]
}

export interface Classification {
  readonly era: Era
  /** What decided: the request's own metadata, a live session, the version header, the method, or nothing at all. */
  readonly reason: 'marker' | 'session' | 'header' | 'method' | 'default'
}

/** A refusal of the framing, before any handler: the HTTP status and the JSON-RPC error. */
export interface Refusal {
  readonly status: number
  readonly error: RpcError
}

/** The era of one message. `headers` is undefined on a pipe; `inSession` says that the message named a live session. */
export function classifyInbound(
  message: RpcRequest | RpcNotification,
  headers: InboundHeaders | undefined,
  inSession: boolean,
): Classification {
  if (markerOf(message) !== undefined) return { era: 'modern', reason: 'marker' }
  if (message.method === METHOD.initialize) return { era: 'legacy', reason: 'method' }
  if (inSession) return { era: 'legacy', reason: 'session' }
  const versions = headers && headerValues(headers, HEADERS.protocolVersion)
  if (versions?.some((version) => eraOfDate(version) === 'modern') === true)
    return { era: 'modern', reason: 'header' }
  if (message.method === METHOD.discover) return { era: 'modern', reason: 'method' }
  return { era: 'legacy', reason: 'default' }
}

/**
 * Checks the framing of a modern request in the order in which its errors take precedence; undefined is well formed.
 * `headers` is undefined on a pipe, where there are none to compare. `open` lets methods through that no revision knows.
 */
export function checkModern(
  message: RpcRequest,
  headers: InboundHeaders | undefined,
  open: boolean,
): Refusal | undefined {
  const version = markerOf(message)
  if (version === undefined) return badRequest(ERRORS.invalidParams, missingMarker())
  const versionHeader = headers && headerValues(headers, HEADERS.protocolVersion)
  if (versionHeader !== undefined && versionHeader.some((value) => value !== version)) {
    return mismatch(HEADERS.protocolVersion, versionHeader, version)
  }
  if (!isRevisionId(version) || eraOfDate(version) !== 'modern') {
    const supported = [...revisionsOf('modern')]
    const text = `Unsupported protocol version ${clip(version)}; supported: ${supported.join(', ')}`
    return badRequest(ERRORS.unsupportedProtocolVersion, text, { supported, requested: version })
  }
  return (
    checkMeta(message) ??
    (headers && checkHeaders(message, headers, version)) ??
    (isServed(version, message.method, open) ? undefined : unknownMethod(message.method))
  )
}

/** What no header may hold (RFC 9110, 5.5): HTTP libraries read such bytes as characters, each as its own. */
const ILLEGAL = /[^\t\x20-\x7e]/

/** The revision that a request names in its own `_meta`: the mark of the modern era. */
export function markerOf(message: RpcRequest | RpcNotification): string | undefined {
  const meta = message.params?.['_meta']
  const version = isObject(meta) ? meta[META.protocolVersion] : undefined
  return typeof version === 'string' && version !== '' ? version : undefined
}

/** `open` is for what no revision knows. What this one has removed is refused: an older server would still answer it. */
function isServed(version: RevisionId, method: string, open: boolean): boolean {
  const facts = methodIn(version, method)
  return facts === undefined ? open && !isOfOtherRevisions(method) : facts.kind === 'request'
}

/** Core tasks do not count: as an extension, they keep their methods' names. */
function isOfOtherRevisions(method: string): boolean {
  return REVISIONS.some(({ id }) => {
    const facts = methodIn(id, method)
    return facts !== undefined && facts.capability?.startsWith('tasks') !== true
  })
}

/** A method that the revision in use does not have: 404 in the modern era, so that intermediaries see it. */
function unknownMethod(method: string): Refusal {
  return { status: 404, error: { code: ERRORS.methodNotFound, message: `Method not found: ${clip(method)}` } }
}

function checkMeta(message: RpcRequest): Refusal | undefined {
  const meta = message.params?.['_meta']
  if (!isObject(meta)) return badRequest(ERRORS.invalidParams, missingMarker())
  if (!isObject(meta[META.clientCapabilities])) {
    return badRequest(ERRORS.invalidParams, `_meta["${META.clientCapabilities}"] must be an object`)
  }
  const level = meta[META.logLevel]
  if (level !== undefined && !LOG_LEVELS.some((known) => known === level)) {
    return badRequest(
      ERRORS.invalidParams,
      `_meta["${META.logLevel}"] must be one of ${LOG_LEVELS.join(', ')}`,
    )
  }
  return undefined
}

function checkHeaders(message: RpcRequest, headers: InboundHeaders, version: string): Refusal | undefined {
  return (
    checkHeader(headers, HEADERS.protocolVersion, version) ??
    checkHeader(headers, HEADERS.method, message.method) ??
    checkName(message, headers)
  )
}

function checkHeader(headers: InboundHeaders, name: string, expected: string): Refusal | undefined {
  if (isOnlyValue(headers, name, expected) && !ILLEGAL.test(expected)) return undefined
  const values = headerValues(headers, name)
  if (values === undefined) return badRequest(ERRORS.headerMismatch, `Header mismatch: ${name} is missing`)
  const isSame = values.length === 1 && values[0] === expected && !ILLEGAL.test(expected)
  return isSame ? undefined : mismatch(name, values, expected)
}

function checkName(message: RpcRequest, headers: InboundHeaders): Refusal | undefined {
  const nameFrom = methodIn(newest('modern'), message.method)?.nameFrom
  const expected = nameFrom === undefined ? undefined : message.params?.[nameFrom]
  if (typeof expected !== 'string') return undefined
  // A name that must be encoded is a mismatch when it comes as it is, whatever the HTTP library read it as.
  if (isOnlyValue(headers, HEADERS.name, expected) && encodeHeaderValue(expected) === expected)
    return undefined
  const values = headerValues(headers, HEADERS.name)
  if (values === undefined)
    return badRequest(ERRORS.headerMismatch, `Header mismatch: ${HEADERS.name} is missing`)
  if (values.length > 1) return mismatch(HEADERS.name, values, expected)
  const decoded = decodeHeaderValue(values[0] ?? '')
  if (!decoded.ok) {
    return badRequest(ERRORS.headerMismatch, `Header mismatch: ${HEADERS.name} ${decoded.reason}`)
  }
  return decoded.value === expected ? undefined : mismatch(HEADERS.name, [decoded.value], expected)
}

/** Node joins repeats with ", ", so what equals the joined value and holds no comma needs no second look. */
function isOnlyValue(headers: InboundHeaders, name: string, expected: string): boolean {
  return headers.joined[name.toLowerCase()] === expected && !expected.includes(',')
}

/** The distinct values of a header, from the raw list: a joined value cannot be split, since a URI may hold a comma. */
export function headerValues(headers: InboundHeaders, name: string): string[] | undefined {
  const wanted = name.toLowerCase()
  if (headers.joined[wanted] === undefined) return undefined
  const values = new Set<string>()
  for (let i = 0; i + 1 < headers.raw.length; i += 2) {
    if (headers.raw[i]?.toLowerCase() === wanted) values.add(headers.raw[i + 1] ?? '')
  }
  return [...values]
}

function mismatch(name: string, values: readonly string[], expected: string): Refusal {
  const shown = clipList(values.map((value) => `'${value}'`))
  return badRequest(
    ERRORS.headerMismatch,
    `Header mismatch: ${name} header value ${shown} does not match body value '${clip(expected)}'`,
  )
}

function missingMarker(): string {
  return `_meta["${META.protocolVersion}"] must name the protocol version of the request`
}

function badRequest(code: number, message: string, data?: unknown): Refusal {
  return { status: 400, error: data === undefined ? { code, message } : { code, message, data } }
}
