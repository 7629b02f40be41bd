// From a client's entry for a server to one of mcpx's, with all that is lost on the way.
import { isAbsolute, join } from 'node:path'
import { clipList, isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { parseConfigFile } from '../../config/index.ts'
import type { ServerDefinition } from '../../config/index.ts'
import type { HostClient, HostFile } from './clients.ts'

export type Converted =
  | { readonly entry: JsonObject; readonly definition: ServerDefinition; readonly notes: readonly string[] }
  | { readonly reason: string }

export interface Origin {
  readonly client: HostClient
  readonly file: HostFile
  /** VS Code's declarations of what it asks its user for. */
  readonly inputs: readonly JsonObject[]
}

/** Keys of servers that most clients share and that mcpx has too. */
const SHARED = ['type', 'command', 'args', 'env', 'envFile', 'cwd', 'url', 'serverUrl', 'httpUrl', 'headers']
const ALSO = ['description', 'oauth', 'auth']

/** Never throws: what cannot be taken has its reason. No value of the entry is repeated, since it may be secret. */
export function convert(name: string, given: unknown, origin: Origin): Converted {
  if (!isObject(given)) return { reason: 'it is no object' }
  if (given['disabled'] === true || given['enabled'] === false)
    return { reason: `it is disabled in ${origin.client.title}` }
  const { entry: own, left, notes } = origin.client.format === 'toml' ? fromCodex(given) : fromJson(given)
  const asked = withoutInputs(own, origin)
  const entry = inProject(asked.entry, origin.file)
  if (left.length > 0) notes.push(`left out: ${clipList(left)}`)
  notes.push(...asked.notes, ...variableNotes(entry, origin.client))
  try {
    const text = JSON.stringify({ mcpServers: { [name]: entry } })
    const definition = parseConfigFile(text, { path: 'entry' }).servers.get(name)
    return definition === undefined ? { reason: 'it is no server' } : { entry, definition, notes }
  } catch (error) {
    return { reason: error instanceof McpxError ? reasonOf(error, name) : String(error) }
  }
}

interface Part {
  readonly entry: JsonObject
  readonly left: readonly string[]
  readonly notes: string[]
}

function fromJson(given: JsonObject): Part {
  const { command } = given
  // An older form of Zed's: the command is an object with the path in it.
  const flat = isObject(command) ? { ...given, ...command, command: command['path'], path: undefined } : given
  const known = [...SHARED, ...ALSO]
  const named = Object.entries(flat).filter(([, value]) => value !== undefined && value !== null)
  const entry = Object.fromEntries(named.filter(([key]) => known.includes(key)))
  const silent = ['disabled', 'enabled', 'source']
  const left = named.map(([key]) => key).filter((key) => !known.includes(key) && !silent.includes(key))
  return { entry, left, notes: [] }
}

/** Codex has its own words for headers, time limits and filters. */
function fromCodex(given: JsonObject): Part {
  const { command, args, env, env_vars: passed, cwd, url, http_headers: headers, ...more } = given
  const { bearer_token_env_var: bearer, env_http_headers: headerNames, enabled: _, ...others } = more
  const { enabled_tools: include, disabled_tools: exclude, startup_timeout_sec: start, ...rest } = others
  const { tool_timeout_sec: call, ...left } = rest
  const variables = (Array.isArray(passed) ? passed : [])
    .map((item: unknown) => (isObject(item) ? item['name'] : item))
    .filter((item) => typeof item === 'string')
    .map((item) => [item, variable(item)] as const)
  const fromNames = Object.entries(isObject(headerNames) ? headerNames : {})
    .filter(([, item]) => typeof item === 'string')
    .map(([header, item]) => [header, variable(String(item))] as const)
  const token = typeof bearer === 'string' ? [['Authorization', `Bearer ${variable(bearer)}`] as const] : []
  const entry: JsonObject = {
    ...{ command, args, cwd, url },
    env: merged(env, variables),
    headers: merged(headers, [...fromNames, ...token]),
    startTimeout: typeof start === 'number' ? `${start}s` : undefined,
    callTimeout: typeof call === 'number' ? `${call}s` : undefined,
    tools: include === undefined && exclude === undefined ? undefined : { include, exclude },
  }
  return { entry: JSON.parse(JSON.stringify(entry)) as JsonObject, left: Object.keys(left), notes: [] }
}

function variable(name: string): string {
  return `\${env:${name}}`
}

function merged(given: unknown, more: readonly (readonly [string, string])[]): unknown {
  if (given === undefined && more.length === 0) return undefined
  return { ...(isObject(given) ? given : {}), ...Object.fromEntries(more) }
}

/** `${input:id}` becomes `${env:ID}`, with its default where it has one that is no secret. */
function withoutInputs(
  entry: JsonObject,
  { client, inputs }: Origin,
): { entry: JsonObject; notes: string[] } {
  const notes = new Set<string>()
  const replace = (text: string) =>
    text.replaceAll(/\$\{input:([^}]*)\}/g, (_, id: string) => {
      const input = inputs.find((candidate) => candidate['id'] === id)
      const name = id
        .replaceAll(/\W/g, '_')
        .replace(/^(?=\d)/, '_')
        .toUpperCase()
      const { description, default: fallback } = input ?? {}
      const usable = typeof fallback === 'string' && fallback !== '' && !/[${}]/.test(fallback)
      const about = typeof description === 'string' ? ` (${description})` : ''
      const must = usable ? 'has a default; to change it, set' : 'needs'
      notes.add(`${must} the environment variable ${name}, for which ${client.title} asks${about}`)
      return usable ? `\${env:${name}:-${fallback}}` : variable(name)
    })
  return { entry: mapTexts(entry, replace) as JsonObject, notes: [...notes] }
}

/** Relative paths of a project's file begin in the project, mcpx's in the folder of its own configuration. */
function inProject(entry: JsonObject, { project }: HostFile): JsonObject {
  if (project === undefined) return entry
  const moved = ['cwd', 'envFile']
    .map((key) => [key, entry[key]] as const)
    .filter(([, value]) => typeof value === 'string' && !value.startsWith('${') && !isAbsolute(value))
    .map(([key, value]) => [key, join(project, String(value))])
  return { ...entry, ...Object.fromEntries(moved) }
}

const KNOWN =
  /^(\/|pathSeparator|userHome|workspaceFolder|workspaceFolderBasename|(env:)?[A-Za-z_][\w.()-]*(:-[^$]*)?)$/

function variableNotes(entry: JsonObject, { title, variables }: HostClient): string[] {
  const found = new Set<string>()
  mapTexts(entry, (text) => {
    for (const [, inner = ''] of text.matchAll(/\$\{([^}]*)\}/g)) found.add(inner)
    return text
  })
  const strange = [...found].filter((inner) => !KNOWN.test(inner))
  const notes = strange.map(
    (inner) => `\${${inner.replace(/:-.*/s, '')}} is nothing that mcpx knows: replace it`,
  )
  const literal = [...found].filter((inner) => !inner.startsWith('env:'))
  if (!variables && literal.length > 0)
    notes.push(`${title} takes \${…} as it stands, where mcpx puts in the environment variable`)
  return notes
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

function reasonOf(error: McpxError, name: string): string {
  const { problems } = error.data
  if (!Array.isArray(problems)) return error.message
  return problems
    .map((problem: { path: string; message: string }) => {
      const at = problem.path.replace('mcpServers', '').replace(`["${name}"]`, '').replace(`.${name}`, '')
      return `${at.replace(/^\./, '')} ${problem.message}`.trim()
    })
    .join('; ')
}
