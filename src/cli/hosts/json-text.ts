// Edits of JSON with comments that leave all else as it stands: comments, order, indentation, line ends.
import { createScanner, findNodeAtLocation, getNodeValue, parseTree } from 'jsonc-parser'
import type { Node, ParseError } from 'jsonc-parser'
import { canonicalJson, isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'

/** The object that the text is. An empty text is an empty object. Throws CONFIG_SYNTAX naming the file. */
export function readJson(text: string, path: string): JsonObject {
  const value: unknown = getNodeValue(rootOf(text, path))
  if (isObject(value)) return value
  throw new McpxError('CONFIG_SYNTAX', `${path} holds no JSON object, so nothing of mcpx has a place in it.`)
}

/** What stands at a path of keys; undefined where nothing does. */
export function valueAt(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (inner, key) => (isObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    value,
  )
}

export interface Place {
  /** The file, for messages. */
  readonly path: string
  readonly keys: readonly string[]
}

/** Puts a value at the keys, at the end of its object, or in the place of what is there. Throws CONFIG_SYNTAX, CONFIG_INVALID. */
export function withValue(text: string, value: unknown, { path, keys }: Place): string {
  const source = text.trim() === '' ? '{}\n' : text
  const before = readJson(source, path)
  const after = put(source, value, { path, keys })
  return checked(after, replaced(before, keys, value), path)
}

/** Takes the keys' last one out of its object; the text itself where it is not there. Throws CONFIG_SYNTAX, CONFIG_INVALID. */
export function withoutValue(text: string, { path, keys }: Place): string {
  const property = findNodeAtLocation(rootOf(text, path), [...keys])?.parent
  if (property === undefined) return text
  const before = readJson(text, path)
  return checked(cut(text, property), replaced(before, keys, undefined), path)
}

/** A key that stands twice is one to the parser and two to an edit: then a person has to decide. */
function checked(text: string, expected: JsonObject, path: string): string {
  if (canonicalJson(readJson(text, path)) === canonicalJson(expected)) return text
  throw new McpxError(
    'CONFIG_INVALID',
    `${path} cannot be changed safely: is a key in it given twice? Nothing was written.`,
  )
}

function replaced(object: JsonObject, [key = '', ...rest]: readonly string[], value: unknown): JsonObject {
  const inner = object[key]
  if (rest.length > 0) return { ...object, [key]: replaced(isObject(inner) ? inner : {}, rest, value) }
  const { [key]: _, ...others } = object
  return value === undefined ? others : { ...object, [key]: value }
}

/** jsonc-parser's own edits take neighbours' comments along and format neighbours anew, which these do not. */
function cut(text: string, property: Node): string {
  const end = property.offset + property.length
  const next = commaFrom(text, end)
  const lineStart = text.lastIndexOf('\n', property.offset - 1) + 1
  const ownLine = text.slice(lineStart, property.offset).trim() === ''
  const last = next ?? end
  // A comment behind it on its line is about it.
  const tail = /^[^\S\r\n]*(?:\/\/[^\r\n]*)?(\r?\n|$)/.exec(text.slice(last))
  const without =
    ownLine && tail !== null
      ? { start: lineStart, end: last + tail[0].length }
      : { start: property.offset, end: last + (next === undefined ? 0 : blanksFrom(text, last)) }
  const rest = text.slice(without.end)
  const head = text.slice(0, without.start)
  if (next !== undefined) return head + rest
  const siblings = property.parent?.children ?? []
  const previous = siblings[siblings.indexOf(property) - 1]
  if (previous === undefined) return head + rest
  const comma = (commaFrom(text, previous.offset + previous.length) ?? 0) - 1
  const between = head.slice(comma + 1)
  return head.slice(0, comma) + (between.trim() === '' && !ownLine ? '' : between) + rest
}

/** Where the comma ends that follows, past blanks and comments. */
function commaFrom(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() + 1 : undefined
}

function blanksFrom(text: string, offset: number): number {
  return /^[^\S\r\n]*/.exec(text.slice(offset))?.[0].length ?? 0
}

function rootOf(text: string, path: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(text.trim() === '' ? '{}' : text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (root !== undefined && first === undefined) return root
  const line = text.slice(0, first?.offset ?? 0).split('\n').length
  throw new McpxError('CONFIG_SYNTAX', `${path}:${line}: this is not JSON. Mend it, then try again.`, {
    data: { path, line },
  })
}

interface Style {
  /** One step of indentation, and the line ends, that the text has. */
  readonly unit: string
  readonly eol: string
}

function put(text: string, value: unknown, { path, keys }: Place): string {
  const root = rootOf(text, path)
  const style = { unit: /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ', eol: text.includes('\r\n') ? '\r\n' : '\n' }
  const there = findNodeAtLocation(root, [...keys])
  if (there !== undefined) {
    const shown = rendered(value, indentAt(text, there.offset), style)
    return splice(text, there.offset, { remove: there.length, insert: shown })
  }
  const depth = keys.findIndex((_, index) => findNodeAtLocation(root, keys.slice(0, index + 1)) === undefined)
  const parent = findNodeAtLocation(root, keys.slice(0, depth))
  if (parent?.type !== 'object') {
    const where = keys.slice(0, depth).join('.')
    throw new McpxError('CONFIG_INVALID', `${path}: ${where} is no object. Mend it, then try again.`)
  }
  const [key = '', ...rest] = keys.slice(depth)
  const inner = rest.reduceRight((deep, name) => ({ [name]: deep }), value)
  return insert(text, parent, { key, value: inner, style })
}

interface Edit {
  readonly remove: number
  readonly insert: string
}

interface Property {
  readonly key: string
  readonly value: unknown
  readonly style: Style
}

function insert(text: string, object: Node, { key, value, style }: Property): string {
  const { unit, eol } = style
  const last = object.children?.at(-1)
  const written = (indent: string) => `${JSON.stringify(key)}: ${rendered(value, indent, style)}`
  if (last === undefined) {
    const base = indentAt(text, object.offset)
    const blank = text.slice(object.offset + 1, object.offset + object.length - 1).trim() === ''
    const lines = `${eol}${base}${unit}${written(base + unit)}`
    return blank
      ? splice(text, object.offset, { remove: object.length, insert: `{${lines}${eol}${base}}` })
      : splice(text, object.offset + 1, { remove: 0, insert: lines })
  }
  const lastEnd = last.offset + last.length
  const comma = commaFrom(text, lastEnd)
  const lineStart = text.lastIndexOf('\n', last.offset - 1) + 1
  if (text.slice(lineStart, last.offset).trim() !== '') {
    const compact = `${JSON.stringify(key)}:${JSON.stringify(value)}`
    return splice(text, lastEnd, { remove: 0, insert: `,${compact}` })
  }
  const indent = text.slice(lineStart, last.offset)
  // What stands behind the last one on its line is about that one.
  const from = comma ?? lastEnd
  const tail = /^[^\S\r\n]*(?:\/\/[^\r\n]*)?(?=\r?\n)/.exec(text.slice(from))?.[0] ?? ''
  const lines = `${eol}${indent}${written(indent)}${comma === undefined ? '' : ','}`
  const longer = splice(text, from + tail.length, { remove: 0, insert: lines })
  return comma === undefined ? splice(longer, lastEnd, { remove: 0, insert: ',' }) : longer
}

function rendered(value: unknown, indent: string, { unit, eol }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`)
}

/** The blanks that the line of an offset begins with. */
function indentAt(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(lineStart))?.[0] ?? ''
}

function splice(text: string, offset: number, { remove, insert: added }: Edit): string {
  return text.slice(0, offset) + added + text.slice(offset + remove)
}
