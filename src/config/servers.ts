// What a configuration file says of one server: the hosts' own keys, so that an existing file works as it is, and mcpx's.
import { canonicalJson, isObject, nearest } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { auth, hostsOauth } from './auth.ts'
import type { AuthDefinition } from './auth.ts'
import type { Preference } from './preference.ts'
import { SETTINGS } from './settings.ts'
import { boolean, choice, integer, refusal, stringMap, strings, text } from './value-type.ts'
import type { ValueType } from './value-type.ts'

/** How to reach a server, as the file has it: `${…}` is not expanded. */
export type ProcessDefinition = StdioDefinition | HttpDefinition

export interface StdioDefinition {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly envFile: string | undefined
  readonly cwd: string | undefined
}

export interface HttpDefinition {
  readonly kind: 'http'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly transportHint: TransportHint | undefined
}

export type TransportHint = 'streamable-http' | 'http+sse'

export interface ServerDefinition {
  readonly name: string
  readonly process: ProcessDefinition
  readonly disabled: boolean
  readonly description: string | undefined
  /** These four override `upstream.*`; durations are milliseconds. */
  readonly protocol: Preference | undefined
  readonly startTimeout: number | undefined
  readonly callTimeout: number | undefined
  readonly probeTimeout: number | undefined
  readonly tools: ToolFilter
  /** What names begin with instead of the server's name. */
  readonly prefix: string | undefined
  readonly scope: 'global' | 'principal' | 'session' | 'call'
  readonly start: 'lazy' | 'eager'
  /** Instances at once, and those that idleness never ends; undefined where the scope and `start` decide. */
  readonly max: number | undefined
  readonly min: number | undefined
  /** Overrides `pool.idleTimeout`, in milliseconds. */
  readonly idleTimeout: number | undefined
  /** Tools that are known to ask their caller something. */
  readonly asks: readonly string[]
  /** Folders that the server may see, whoever calls: paths or `file:` URLs. */
  readonly roots: readonly string[] | undefined
  /** How it is entered by OAuth; `false` where its headers are all. */
  readonly auth: AuthDefinition | false | undefined
}

/** Patterns with `*`. No `include` means every tool; `exclude` wins. */
export interface ToolFilter {
  readonly include: readonly string[] | undefined
  readonly exclude: readonly string[]
}

/** Called for each problem, with the path inside the server's object. */
export type Report = (path: readonly string[], message: string) => void

const toolFilter: ValueType<ToolFilter> = {
  name: 'object',
  allowed: '{ "include": ["name_*"], "exclude": ["name_*"] }, either or both, or the list to include',
  schema: {
    anyOf: [
      {
        type: 'object',
        properties: { include: strings.schema, exclude: strings.schema },
        additionalProperties: false,
      },
      strings.schema,
    ],
  },
  read: readToolFilter,
  readText: () => undefined,
  write: ({ include = ['*'], exclude }) => [...include, ...exclude.map((pattern) => `!${pattern}`)].join(','),
}

const namePrefix: ValueType<string> = {
  ...text,
  allowed: 'letters, digits, "_", "-" and "."; nothing at all for no prefix',
  schema: { type: 'string', pattern: '^[A-Za-z0-9_.-]*$' },
  read: (given) => (typeof given === 'string' && /^[\w.-]*$/.test(given) ? given : undefined),
}

// What stands on a command line, in a URL, or beside them may be a secret.
const secretText: ValueType<string> = { ...text, secret: true }
const secretStrings: ValueType<readonly string[]> = { ...strings, secret: true }

/** Every key that a server's object may have. */
export const SERVER_KEYS = {
  type: key(
    choice(['stdio', 'local', 'http', 'streamable-http', 'streamableHttp', 'sse']),
    'How the server is reached.',
  ),
  command: key(secretText, 'The program that is the server. No shell is used.'),
  args: key(secretStrings, 'Its arguments.'),
  env: key(stringMap, 'Variables that the program gets besides those that mcpx passes on.'),
  envFile: key(text, 'A file of NAME=value lines; `env` wins over it.'),
  cwd: key(text, "The program's working folder, relative to the configuration file's folder."),
  url: key(secretText, "The server's endpoint."),
  serverUrl: key(secretText, 'Another name of `url`.'),
  httpUrl: key(secretText, 'Another name of `url`.'),
  headers: key(stringMap, 'Headers that every request to the server carries.'),
  disabled: key(boolean, 'Whether the server is left out.'),
  description: key(text, 'What the server is for.'),
  protocol: key(SETTINGS['upstream.protocol'].type, 'Overrides `upstream.protocol` for this server.'),
  startTimeout: key(
    SETTINGS['upstream.startTimeout'].type,
    'Overrides `upstream.startTimeout` for this server.',
  ),
  callTimeout: key(
    SETTINGS['upstream.callTimeout'].type,
    'Overrides `upstream.callTimeout` for this server.',
  ),
  probeTimeout: key(
    SETTINGS['upstream.probeTimeout'].type,
    'Overrides `upstream.probeTimeout` for this server.',
  ),
  tools: key(toolFilter, 'Which tools are offered, by patterns with `*`.'),
  prefix: key(namePrefix, "What names begin with instead of the server's name."),
  scope: key(choice(['global', 'principal', 'session', 'call']), 'Who shares one instance of the server.'),
  start: key(
    choice(['lazy', 'eager']),
    'Whether the server starts when it is first needed or with the daemon.',
  ),
  max: key(integer(1, 1_000), 'Instances of the server at once, in each lane.'),
  min: key(integer(0, 1_000), 'Instances that are kept running when nothing uses them.'),
  asks: key(
    strings,
    'Tools that ask their caller something on the way. mcpx learns them too; a name here spares the first call.',
  ),
  roots: key(strings, 'Folders that a server shared by all may see, as its roots: paths or `file:` URLs.'),
  auth: key(auth, 'How the server is entered by OAuth (docs/oauth.md); `false` never offers a login.'),
  oauth: key(hostsOauth, 'The same as other hosts have it; `auth` wins over it.'),
  idleTimeout: key(SETTINGS['pool.idleTimeout'].type, 'Overrides `pool.idleTimeout` for this server.'),
} as const satisfies Record<string, ServerKey<unknown>>

/** Keys of hosts that mcpx has no use for. `timeout` is one: hosts disagree whether it is seconds or milliseconds. */
export const IGNORED_SERVER_KEYS: readonly string[] = [
  'autoApprove',
  'alwaysAllow',
  'alwaysLoad',
  'trust',
  'timeout',
  'dev',
  'gallery',
  'version',
  'sandbox',
  'sandboxEnabled',
  'headersHelper',
]

interface ServerKey<Value> {
  readonly type: ValueType<Value>
  readonly description: string
}

type Values = { -readonly [Key in keyof typeof SERVER_KEYS]?: ReturnTypeOf<(typeof SERVER_KEYS)[Key]> }
type ReturnTypeOf<Declared> = Declared extends ServerKey<infer Value> ? Value : never

/** Reads one server's object. Returns undefined when anything was reported. */
export function readServer(name: string, given: unknown, report: Report): ServerDefinition | undefined {
  let sound = true
  const fail: Report = (path, message) => {
    sound = false
    report(path, message)
  }
  const fault = nameFault(name)
  if (fault !== undefined) fail([], fault)
  if (!isObject(given)) {
    fail([], 'expected an object with "command" or "url"')
    return undefined
  }
  const values = readKeys(given, fail)
  const process = readProcess(given, values, fail)
  if (!sound || process === undefined) return undefined
  return {
    name,
    process,
    disabled: values.disabled ?? false,
    description: values.description,
    protocol: values.protocol,
    startTimeout: values.startTimeout,
    callTimeout: values.callTimeout,
    probeTimeout: values.probeTimeout,
    tools: values.tools ?? { include: undefined, exclude: [] },
    prefix: values.prefix,
    scope: values.scope ?? 'global',
    start: values.start ?? 'lazy',
    max: values.max,
    min: values.min,
    idleTimeout: values.idleTimeout,
    asks: values.asks ?? [],
    roots: values.roots,
    auth: values.auth ?? values.oauth,
  }
}

/**
 * The process definition alone, unexpanded, as canonical JSON: equal text means the same server, whatever its tokens are and
 * however it is leased. The era cache is keyed by its digest, and a changed file keeps processes whose text is the same.
 */
export function canonicalDefinition({ process }: Pick<ServerDefinition, 'process'>): string {
  const { kind, ...rest } = process
  if (kind === 'stdio') return canonicalJson({ ...rest, transport: kind })
  const { transportHint, ...http } = rest as HttpDefinition
  return canonicalJson({ ...http, transport: transportHint ?? kind })
}

/** Why a URL cannot be an endpoint, or undefined. The text is not repeated: it may hold a secret. */
export function urlFault(url: string): string | undefined {
  if (!URL.canParse(url)) return 'is not a URL'
  const { protocol } = new URL(url)
  return protocol === 'http:' || protocol === 'https:' ? undefined : 'begins with neither http: nor https:'
}

function readKeys(given: JsonObject, fail: Report): Values {
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (IGNORED_SERVER_KEYS.includes(name)) continue
    if (!isServerKey(name)) {
      fail([name], unknownKey(name, Object.keys(SERVER_KEYS)))
      continue
    }
    const { type }: ServerKey<unknown> = SERVER_KEYS[name]
    const read = type.read(value)
    if (read === undefined) fail([name], refusal(type, value))
    values[name] = read
  }
  return values
}

/** Says that a key is not known, and which known one was likely meant. */
export function unknownKey(name: string, known: readonly string[]): string {
  const meant = nearest(name, known)
  return meant === undefined
    ? `unknown key; known here: ${known.join(', ')}`
    : `unknown key; did you mean "${meant}"?`
}

function readProcess(given: JsonObject, values: Values, fail: Report): ProcessDefinition | undefined {
  const urls = (['url', 'serverUrl', 'httpUrl'] as const).filter((name) => name in given)
  const stdio = 'command' in given
  if (stdio && urls.length > 0)
    fail([], `has both "command" and "${urls[0]}": a server has exactly one of them`)
  else if (urls.length > 1) fail([], `has both "${urls[0]}" and "${urls[1]}": they are the same key`)
  else if (!stdio && urls.length === 0) failMissing(given, fail)
  else return stdio ? stdioProcess(given, values, fail) : httpProcess(given, values, fail)
  return undefined
}

/** Where a key is unknown, that one is likely the one that is missing, and has been reported. */
function failMissing(given: JsonObject, fail: Report): void {
  const strange = Object.keys(given).some((name) => !isServerKey(name) && !IGNORED_SERVER_KEYS.includes(name))
  if (!strange) fail([], 'has neither "command" nor "url": a server has exactly one of them')
}

function stdioProcess(given: JsonObject, values: Values, fail: Report): StdioDefinition | undefined {
  const { type, command, args = [], env = {}, envFile, cwd } = values
  if (type !== undefined && type !== 'stdio' && type !== 'local')
    fail(['type'], `"${type}" needs a "url", not a "command"`)
  for (const name of ['headers', 'auth', 'oauth'])
    if (name in given) fail([name], `only a server with a "url" has ${name}`)
  return command === undefined ? undefined : { kind: 'stdio', command, args, env, envFile, cwd }
}

function httpProcess(given: JsonObject, values: Values, fail: Report): HttpDefinition | undefined {
  const { type, headers = {} } = values
  const url = values.url ?? values.serverUrl ?? values.httpUrl
  if (type === 'stdio' || type === 'local') fail(['type'], `"${type}" needs a "command", not a "url"`)
  for (const name of ['args', 'env', 'envFile', 'cwd']) {
    if (name in given) fail([name], `only a server with a "command" has ${name}`)
  }
  if (url === undefined) return undefined
  const fault = url.includes('${') ? undefined : urlFault(url)
  if (fault !== undefined)
    fail(
      ['url', 'serverUrl', 'httpUrl'].filter((name) => name in given),
      fault,
    )
  const transportHint = type === undefined ? undefined : type === 'sse' ? 'http+sse' : 'streamable-http'
  return { kind: 'http', url, headers, transportHint }
}

/** Names stand in paths (`/mcp/<server>`), so that nothing may be in one that a path takes for its own. */
function nameFault(name: string): string | undefined {
  if (name.trim() === '') return "a server's name is not empty"
  if (name === '.' || name === '..') return 'a server\'s name is neither "." nor ".."'
  if (name.includes('/')) return "a server's name has no slash"
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return /[\u0000-\u001f\u007f-\u009f]/.test(name) ? "a server's name has no control characters" : undefined
}

function readToolFilter(given: unknown): ToolFilter | undefined {
  if (Array.isArray(given)) return readToolFilter({ include: given })
  if (!isObject(given)) return undefined
  const { include, exclude = [], ...rest } = given
  const excluded = strings.read(exclude)
  const included = include === undefined ? undefined : strings.read(include)
  if (excluded === undefined || Object.keys(rest).length > 0) return undefined
  return include !== undefined && included === undefined
    ? undefined
    : { include: included, exclude: excluded }
}

function isServerKey(name: string): name is keyof typeof SERVER_KEYS {
  return Object.hasOwn(SERVER_KEYS, name)
}

function key<Value>(type: ValueType<Value>, description: string): ServerKey<Value> {
  return { type, description }
}
