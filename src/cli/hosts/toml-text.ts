// Edits of a TOML file of exactly one table. Each is checked by reading it back: what has another form is not touched.
import { parse } from 'smol-toml'
import { canonicalJson, isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { valueAt } from './json-text.ts'
import type { Place } from './json-text.ts'

/** What the text says. Throws CONFIG_SYNTAX without the text, which may hold a secret. */
export function readToml(text: string, path: string): JsonObject {
  try {
    return parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : ''
    throw new McpxError('CONFIG_SYNTAX', `${path} cannot be read: ${why}. Mend it, then try again.`, {
      cause,
    })
  }
}

/** Puts a table of texts and lists of texts at the end, and takes one of the same name out. Throws CONFIG_SYNTAX, CONFIG_INVALID. */
export function withTable(text: string, value: JsonObject, place: Place): string {
  const before = withoutTable(text, place)
  const eol = before.includes('\r\n') ? '\r\n' : '\n'
  const gap = before === '' ? '' : before.endsWith('\n') ? eol : eol + eol
  const lines = [
    `[${place.keys.join('.')}]`,
    ...Object.entries(value).map(([key, item]) => `${key} = ${written(item)}`),
  ]
  return checked(before, before + gap + lines.join(eol) + eol, { ...place, value })
}

/** Takes the table and those below it out, with the empty line before; the text itself where there is none. */
export function withoutTable(text: string, place: Place): string {
  if (valueAt(readToml(text, place.path), place.keys) === undefined) return text
  const lines = text.split(/(?<=\n)/)
  const kept: string[] = []
  let inside = false
  let pending: string[] = []
  for (const line of lines) {
    if (/^\s*\[/.test(line)) {
      inside = isHeader(line, place.keys)
      if (inside)
        while (/^\s*$/.test(kept.at(-1) ?? '-') && pending.length === 0) pending.push(kept.pop() ?? '')
      // Comments above the next table are about that one.
      else kept.push(...pending)
      pending = []
    }
    if (!inside) kept.push(line)
    else if (/^\s*(#|$)/.test(line)) pending.push(line)
    else pending = []
  }
  kept.push(...pending.filter((line) => line.includes('#')))
  return checked(text, kept.join(''), { ...place, value: undefined })
}

function isHeader(line: string, keys: readonly string[]): boolean {
  const names = keys.map((key) => `\\s*["']?${key}["']?\\s*`).join('\\.')
  return new RegExp(`^\\s*\\[\\[?${names}(\\.[^\\]]*)?\\]`).test(line)
}

function written(value: unknown): string {
  return Array.isArray(value)
    ? `[${value.map((item) => JSON.stringify(item)).join(', ')}]`
    : JSON.stringify(value)
}

interface Expected extends Place {
  readonly value: JsonObject | undefined
}

function checked(before: string, after: string, { path, keys, value }: Expected): string {
  const read = safely(after)
  const same = (a: unknown, b: unknown) => canonicalJson(a ?? null) === canonicalJson(b ?? null)
  const rest = without(readToml(before, path), keys)
  if (read !== undefined && same(without(read, keys), rest) && same(valueAt(read, keys), value)) return after
  const table = `[${keys.join('.')}]`
  throw new McpxError(
    'CONFIG_INVALID',
    `${path} has its servers in a form that mcpx does not edit. Nothing was written: change ${table} by hand.`,
  )
}

function safely(text: string): JsonObject | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** The rest, without what is empty for the want of it. */
function without(value: JsonObject, [key = '', ...rest]: readonly string[]): JsonObject {
  const { [key]: inner, ...others } = value
  if (!isObject(inner) || rest.length === 0) return others
  const left = without(inner, rest)
  return Object.keys(left).length === 0 ? others : { ...others, [key]: left }
}
