// The configuration file: JSON with comments and trailing commas, in the `mcpServers` form that hosts share.
import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } from 'jsonc-parser'
import type { Node, ParseError } from 'jsonc-parser'
import { isObject, McpxError } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import type { FileLayer } from './layers.ts'
import { IGNORED_SERVER_KEYS, readServer, unknownKey } from './servers.ts'
import type { ServerDefinition } from './servers.ts'
import { isSettingPath, SETTING_PATHS, SETTINGS } from './settings.ts'
import type { Setting } from './settings.ts'
import { refusal } from './value-type.ts'

/** The names that a configuration file is looked for by, in each folder from the working folder upward. */
export const CONFIG_FILE_NAMES = ['mcpx.json', '.mcp.json', '.vscode/mcp.json'] as const

export interface ConfigFile extends FileLayer {
  /** By name, in the file's order. */
  readonly servers: ReadonlyMap<string, ServerDefinition>
  /** VS Code's declarations of what it asks the user for; mcpx does not ask. */
  readonly inputs: readonly JsonObject[]
  /** Paths of hosts' keys that have no effect here. */
  readonly ignored: readonly string[]
}

/** One thing that is wrong with a configuration file. Line and column count from 1. */
export interface ConfigProblem {
  readonly path: string
  readonly message: string
  readonly line: number
  readonly column: number
}

/**
 * Reads a configuration file's text. Throws CONFIG_SYNTAX where it is not JSON, and CONFIG_INVALID with every problem, one a
 * line and in `data.problems`, where it is.
 */
export function parseConfigFile(text: string, { path }: { readonly path: string }): ConfigFile {
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  try {
    const root = parseRoot(source, path)
    const findings = new Findings(source, root)
    const config = readRoot(root, findings)
    findings.settle(path)
    return { path, ...config }
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    // The parser recurses: a file nested thousands of levels deep ends its stack.
    throw new McpxError('CONFIG_SYNTAX', `${path} is nested too deeply`, { cause, data: { path } })
  }
}

function parseRoot(source: string, path: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(source, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first === undefined && root !== undefined) return root
  const { line, column } = positionOf(source, first?.offset ?? 0)
  const expected =
    SYNTAX[first === undefined ? 'ValueExpected' : printParseErrorCode(first.error)] ?? 'this is not JSON'
  throw new McpxError('CONFIG_SYNTAX', `${path}:${line}:${column}: ${expected}`, {
    data: { path, line, column },
  })
}

/** What each of the parser's errors means to the one who wrote the file. The text is not repeated: it may hold a secret. */
const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol: 'expected text in double quotes, a number, true, false, null, { or [',
  InvalidNumberFormat: 'expected a number',
  PropertyNameExpected: 'expected a name in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: 'expected a colon',
  CommaExpected: 'expected a comma',
  CloseBraceExpected: 'expected a comma or }',
  CloseBracketExpected: 'expected a comma or ]',
  EndOfFileExpected: 'expected the end of the file',
  InvalidCommentToken: 'expected // or /* to begin a comment',
  UnexpectedEndOfComment: 'expected */ to end this comment',
  UnexpectedEndOfString: 'expected a double quote to end this text on its line',
  UnexpectedEndOfNumber: 'expected more digits',
  InvalidUnicode: 'expected four hexadecimal digits after \\u',
  InvalidEscapeCharacter: 'expected one of " \\ / b f n r t u after the backslash',
  InvalidCharacter: 'expected an escape such as \\t instead of this control character',
}

function readRoot(root: Node, findings: Findings): Omit<ConfigFile, 'path'> {
  const servers = new Map<string, ServerDefinition>()
  const settings: Record<string, unknown> = {}
  const ignored: string[] = []
  let inputs: readonly JsonObject[] = []
  const given: unknown = getNodeValue(root)
  if (!isObject(given)) {
    findings.report([], 'expected an object with "mcpServers"')
    return { servers, settings, inputs, ignored }
  }
  findings.reportDuplicates(root)
  for (const [name, value] of Object.entries(given)) {
    if (name === '$schema') continue
    if (name === 'mcpServers' || name === 'servers') readServers({ name, value, servers, ignored }, findings)
    else if (name === 'inputs') inputs = readInputs(value, findings)
    else if (name === 'sandbox') ignored.push(name)
    else readSetting([name], value, { settings, findings })
  }
  return { servers, settings, inputs, ignored }
}

interface ServersPart {
  readonly name: string
  readonly value: unknown
  readonly servers: Map<string, ServerDefinition>
  readonly ignored: string[]
}

function readServers({ name: group, value, servers, ignored }: ServersPart, findings: Findings): void {
  if (!isObject(value)) {
    findings.report([group], 'expected an object of servers by name')
    return
  }
  for (const [name, given] of Object.entries(value)) {
    const definition = readServer(name, given, (path, message) =>
      findings.report([group, name, ...path], message),
    )
    if (servers.has(name)) findings.report([group, name], 'is in both "mcpServers" and "servers"')
    if (definition !== undefined) servers.set(name, definition)
    const unused = isObject(given)
      ? Object.keys(given).filter((key) => IGNORED_SERVER_KEYS.includes(key))
      : []
    ignored.push(...unused.map((key) => dotted([group, name, key])))
  }
}

function readInputs(value: unknown, findings: Findings): readonly JsonObject[] {
  if (Array.isArray(value) && value.every(isObject)) return value
  findings.report(['inputs'], 'expected a list of objects')
  return []
}

interface SettingsPart {
  readonly settings: Record<string, unknown>
  readonly findings: Findings
}

function readSetting(segments: readonly string[], value: unknown, part: SettingsPart): void {
  const path = segments.join('.')
  const { settings, findings } = part
  if (isSettingPath(path) && segments.length === path.split('.').length) {
    const { type }: Setting<unknown> = SETTINGS[path]
    const read = type.read(value)
    if (read === undefined) findings.report(segments, refusal(type, value))
    else settings[path] = read
  } else if (!SETTING_PATHS.some((known) => known.startsWith(`${path}.`))) {
    findings.report(segments, unknownSetting(segments))
  } else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value)) readSetting([...segments, name], inner, part)
  } else {
    findings.report(segments, 'expected an object')
  }
}

function unknownSetting(segments: readonly string[]): string {
  const last = segments.at(-1) ?? ''
  const group = segments.slice(0, -1)
  const elsewhere = SETTING_PATHS.find((path) => path === last || path.endsWith(`.${last}`))
  if (elsewhere !== undefined) return `unknown key; did you mean ${nested(elsewhere)}?`
  const depth = segments.length
  const siblings = SETTING_PATHS.map((path) => path.split('.'))
    .filter((path) => path.length >= depth && group.every((segment, index) => path[index] === segment))
    .map((path) => path.slice(0, depth).join('.'))
  const servers = depth === 1 ? ['mcpServers', 'servers', 'inputs'] : []
  return unknownKey(segments.join('.'), [...servers, ...new Set(siblings)])
}

/** `upstream.protocol` → `{ "upstream": { "protocol": … } }`. */
function nested(path: string): string {
  return path.split('.').reduceRight((inner, name) => `{ "${name}": ${inner} }`, '…')
}

/** Collects every problem of a file with its place, so that one does not hide the next. */
class Findings {
  readonly #source: string
  readonly #root: Node
  readonly #problems: ConfigProblem[] = []

  constructor(source: string, root: Node) {
    this.#source = source
    this.#root = root
  }

  report(segments: readonly string[], message: string): void {
    const node = findNodeAtLocation(this.#root, [...segments])
    const place = node?.parent?.type === 'property' ? node.parent : (node ?? this.#root)
    this.#add(place, segments, message)
  }

  /** A name that an object has twice: readers disagree which of the two counts. */
  reportDuplicates(node: Node, segments: readonly string[] = []): void {
    const seen = new Set<string>()
    for (const child of node.children ?? []) {
      const [key, value] = child.type === 'property' ? (child.children ?? []) : [undefined, child]
      const inner = key === undefined ? segments : [...segments, String(key.value)]
      if (key !== undefined && seen.has(String(key.value))) this.#add(child, inner, 'is given twice')
      seen.add(String(key?.value))
      if (value !== undefined) this.reportDuplicates(value, inner)
    }
  }

  /** Throws when anything was reported. */
  settle(path: string): void {
    const problems = this.#problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
    if (problems.length === 0) return
    const lines = problems.map(({ line, column, path: at, message }) => {
      return `  ${line}:${column} ${at === '' ? message : `${at}: ${message}`}`
    })
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    throw new McpxError('CONFIG_INVALID', `${path} has ${count}:\n${lines.join('\n')}`, {
      data: { path, problems },
    })
  }

  #add(node: Node, segments: readonly string[], message: string): void {
    this.#problems.push({ path: dotted(segments), message, ...positionOf(this.#source, node.offset) })
  }
}

function dotted(segments: readonly string[]): string {
  return segments
    .map((segment, index) => {
      if (!/^[\w$-]+$/.test(segment)) return `[${JSON.stringify(segment)}]`
      return index === 0 ? segment : `.${segment}`
    })
    .join('')
}

function positionOf(source: string, offset: number): { line: number; column: number } {
  const before = source.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: offset - lineStart + 1 }
}
