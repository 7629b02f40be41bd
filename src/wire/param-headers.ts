// Tool parameters that a server wants repeated in HTTP headers (`x-mcp-header`, 2026-07-28 Streamable HTTP).
import { clip, clipList, isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { HEADERS } from '../spec/index.ts'
import { decodeHeaderValue, encodeHeaderValue } from './header-codec.ts'

/** One annotated parameter: where its value stands in the arguments, and the header that repeats it. */
export interface ParamHeader {
  readonly path: readonly string[]
  readonly header: string
  readonly type: 'string' | 'integer' | 'boolean'
}

export type ParamHeaders =
  | { readonly ok: true; readonly params: readonly ParamHeader[] }
  /** The tool must not be offered: an annotation breaks the specification's constraints. */
  | { readonly ok: false; readonly reason: string }

const ANNOTATION = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const MAX_DEPTH = 32
const DECIMAL = /^-?\d+(\.\d+)?$/
/** Keywords below which nothing is looked for: data, and the properties that are walked one by one. */
const NO_SCHEMAS = new Set(['properties', 'default', 'examples', 'const', 'enum'])

/** Reads the annotations of a tool's input schema. Only properties reachable by `properties` alone may carry one. */
export function readParamHeaders(schema: unknown): ParamHeaders {
  const params: ParamHeader[] = []
  const seen = new Set<string>()
  const reason = walk(schema, [], (property, path) => {
    const name = property[ANNOTATION]
    if (name === undefined) return undefined
    if (typeof name !== 'string' || !TOKEN.test(name))
      return `${ANNOTATION} of ${path.join('.')} is no header name`
    if (seen.has(name.toLowerCase())) return `${ANNOTATION} "${name}" stands twice`
    seen.add(name.toLowerCase())
    const { type } = property
    if (type !== 'string' && type !== 'integer' && type !== 'boolean') {
      return `${ANNOTATION} of ${path.join('.')} stands on a parameter that is no string, integer or boolean`
    }
    params.push({ path, header: `${HEADERS.paramPrefix}${name}`, type })
    return undefined
  })
  return reason === undefined ? { ok: true, params } : { ok: false, reason }
}

/** The headers of one call. A parameter that is absent or null has none. */
export function paramHeadersOf(params: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { path, header } of params) {
    const value = valueAt(args, path)
    if (typeof value === 'string') headers[header] = encodeHeaderValue(value)
    else if (typeof value === 'number' || typeof value === 'boolean') headers[header] = String(value)
  }
  return headers
}

/**
 * Why the headers of a call contradict its arguments, or undefined. `headerValues` gives a header's distinct values, undefined
 * where it was not sent. Integers are compared as numbers; a header without a value in the arguments contradicts them too.
 */
export function paramHeaderFault(
  params: readonly ParamHeader[],
  args: unknown,
  headerValues: (name: string) => readonly string[] | undefined,
): string | undefined {
  for (const { path, header, type } of params) {
    const value = valueAt(args, path) ?? undefined
    const [sent, ...others] = headerValues(header) ?? []
    if (sent === undefined) {
      if (value === undefined) continue
      return `${header} is missing, and the body has ${path.join('.')}`
    }
    const decoded = decodeHeaderValue(sent)
    if (!decoded.ok) return `${header} ${decoded.reason}`
    if (others.length > 0 || !says(decoded.value, value, type)) {
      const shown = clipList([sent, ...others].map((text) => `'${text}'`))
      return `${header} header value ${shown} does not match body value ${clip(JSON.stringify(value) ?? 'none')}`
    }
  }
  return undefined
}

function says(text: string, value: unknown, type: ParamHeader['type']): boolean {
  if (type === 'integer' && typeof value === 'number') return DECIMAL.test(text) && Number(text) === value
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? text === String(value)
    : false
}

/** The value at a path of property names, or undefined. */
function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value
  for (const step of path) {
    if (!isObject(current) || !Object.hasOwn(current, step)) return undefined
    current = current[step]
  }
  return current
}

function walk(
  schema: unknown,
  path: readonly string[],
  visit: (property: JsonObject, path: readonly string[]) => string | undefined,
): string | undefined {
  if (!isObject(schema)) return undefined
  if (path.length > MAX_DEPTH) return mentions(schema, 0) ? `${ANNOTATION} is nested too deeply` : undefined
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === ANNOTATION && path.length === 0) return `${ANNOTATION} stands on the schema itself`
    if (NO_SCHEMAS.has(keyword)) continue
    if (mentions(value, 0)) return `${ANNOTATION} stands below "${keyword}", where its value cannot be told`
  }
  const { properties } = schema
  if (!isObject(properties)) return undefined
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) continue
    const at = [...path, name]
    const reason = visit(property, at) ?? walk(property, at, visit)
    if (reason !== undefined) return reason
  }
  return undefined
}

function mentions(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH * 2) return false
  if (Array.isArray(value)) return value.some((item) => mentions(item, depth + 1))
  if (!isObject(value)) return false
  return Object.hasOwn(value, ANNOTATION) || Object.values(value).some((item) => mentions(item, depth + 1))
}
