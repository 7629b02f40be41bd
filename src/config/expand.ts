// From a definition to values that are ready to use: `${…}` is replaced, and what is missing fails that server only.
import { clip, McpxError } from '../base/index.ts'
import { AUTH_TEXTS } from './auth.ts'
import type { AuthDefinition } from './auth.ts'
import { urlFault } from './servers.ts'
import type { HttpDefinition, ServerDefinition, StdioDefinition, TransportHint } from './servers.ts'

export interface ExpansionContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder of the configuration file: a relative `cwd` or `envFile` begins there. */
  readonly configDir: string
  /** The folder that the user works in, where one is known; also where a process without `cwd` starts. */
  readonly workspaceFolder?: string | undefined
  readonly userHome?: string | undefined
  /** The platform's path separator. */
  readonly separator?: '/' | '\\'
  /** Reads an `envFile`; undefined where it cannot be read. */
  readonly readFile?: (path: string) => string | undefined
}

/** What a channel is opened to. The same shape as the wire's contract has. */
export type ReadyTarget = ReadyStdio | ReadyHttp

export interface ReadyStdio {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
  readonly transportHint: undefined
}

export interface ReadyHttp {
  readonly kind: 'http'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly transportHint: TransportHint | undefined
  /** How it is entered by OAuth, its key read; `false` where its headers are all. */
  readonly auth: AuthDefinition | false | undefined
}

export type Expansion = { readonly ok: ReadyTarget } | { readonly error: McpxError }

/**
 * Expands `${env:NAME}`, `${NAME}`, either with `:-default`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`
 * and `${/}`, once: what comes out is not expanded again. The error is CONFIG_INVALID and names the server and all that is missing.
 */
export function expandServer(definition: ServerDefinition, context: ExpansionContext): Expansion {
  const { name, process } = definition
  const faults: string[] = []
  const expand = (text: string, place: string): string => expandText(text, { place, context, faults })
  const ok =
    process.kind === 'stdio'
      ? stdio(process, { expand, context, faults })
      : http(process, definition.auth, { expand, context, faults })
  if (faults.length === 0) return { ok }
  const message = `Server ${JSON.stringify(name)} cannot start: ${[...new Set(faults)].join('; ')}`
  return { error: new McpxError('CONFIG_INVALID', message, { data: { server: name, problems: faults } }) }
}

interface Work {
  readonly expand: (text: string, place: string) => string
  readonly context: ExpansionContext
  readonly faults: string[]
}

function stdio(process: StdioDefinition, { expand, context, faults }: Work): ReadyStdio {
  const command = expand(process.command, 'command')
  if (command.trim() === '') faults.push('command is empty once expanded')
  const args = process.args.map((arg, index) => expand(arg, `args[${index}]`))
  const env = expandMap(process.env, 'env', expand)
  const fileEnv =
    process.envFile === undefined ? {} : readEnvFile(expand(process.envFile, 'envFile'), context, faults)
  const folder = process.cwd === undefined ? undefined : expand(process.cwd, 'cwd')
  const cwd = folder === undefined ? context.workspaceFolder : resolvePath(folder, context)
  return { kind: 'stdio', command, args, env: { ...fileEnv, ...env }, cwd, transportHint: undefined }
}

function http(process: HttpDefinition, given: ServerDefinition['auth'], work: Work): ReadyHttp {
  const { expand, faults } = work
  const before = faults.length
  const url = expand(process.url, 'url')
  const fault = faults.length > before ? undefined : urlFault(url)
  if (fault !== undefined) faults.push(`url ${fault} once expanded`)
  const headers = expandMap(process.headers, 'headers', expand)
  for (const [name, value] of Object.entries(headers)) {
    // A token read from a file often ends in a line feed, which no header may hold (RFC 9110, section 5.5).
    if (/[\0\r\n]/.test(value)) faults.push(`headers.${name} holds a line break`)
  }
  const { transportHint } = process
  const auth = given === undefined || given === false ? given : expandAuth(given, work)
  return { kind: 'http', url, headers, transportHint, auth }
}

function expandAuth(auth: AuthDefinition, { expand, context, faults }: Work): AuthDefinition {
  const texts = AUTH_TEXTS.map((name) => {
    const text = auth[name]
    return [name, text === undefined ? undefined : expand(text, `auth.${name}`)] as const
  })
  const expanded = Object.fromEntries(texts) as Pick<AuthDefinition, (typeof AUTH_TEXTS)[number]>
  const { privateKeyFile, privateKey } = expanded
  if (privateKeyFile === undefined) return { ...auth, ...expanded }
  const read = context.readFile?.(resolvePath(privateKeyFile, context))
  if (read === undefined) faults.push('its auth.privateKeyFile cannot be read')
  return { ...auth, ...expanded, privateKey: privateKey ?? read }
}

function expandMap(
  map: Readonly<Record<string, string>>,
  place: string,
  expand: Work['expand'],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(map).map(([name, value]) => [name, expand(value, `${place}.${name}`)]),
  )
}

interface Place {
  readonly place: string
  readonly context: ExpansionContext
  readonly faults: string[]
}

function expandText(text: string, { place, context, faults }: Place): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (whole, inner: string) => {
    const found = lookUp(inner, context)
    if ('value' in found) return found.value
    faults.push(`${found.fault} (in ${place})`)
    return whole
  })
}

function lookUp(inner: string, context: ExpansionContext): { value: string } | { fault: string } {
  const { workspaceFolder, userHome, separator = '/' } = context
  if (inner === '/' || inner === 'pathSeparator') return { value: separator }
  if (inner === 'userHome') return known(userHome, "the user's home folder is not known")
  if (inner === 'workspaceFolder') return known(workspaceFolder, 'there is no workspace folder')
  if (inner === 'workspaceFolderBasename') {
    return known(
      workspaceFolder?.split(/[\\/]/).findLast((part) => part !== ''),
      'there is no workspace folder',
    )
  }
  if (inner.startsWith('input:'))
    return { fault: `\${${inner}} is for a host that asks the user: use \${env:NAME} instead` }
  const match = /^(?:env:)?([A-Za-z_][\w.()-]*?)(?::-(.*))?$/s.exec(inner)
  const [, name, fallback] = match ?? []
  if (name === undefined)
    return { fault: `\${${clip(inner.replace(/:-.*/s, ''))}} is not a variable that mcpx knows` }
  if (fallback?.includes('${') === true) return { fault: `the default of ${name} holds another variable` }
  // Read with care for its type: a plain object has `constructor` and the like, which no environment sets.
  const value: unknown = context.env[name]
  return known(typeof value === 'string' ? value : fallback, `the environment variable ${name} is not set`)
}

function known(value: string | undefined, fault: string): { value: string } | { fault: string } {
  return value === undefined ? { fault } : { value }
}

function readEnvFile(path: string, context: ExpansionContext, faults: string[]): Record<string, string> {
  const text = context.readFile?.(resolvePath(path, context))
  if (text === undefined) faults.push('its envFile cannot be read')
  return text === undefined ? {} : parseEnvFile(text)
}

/** `NAME=value` lines, with `#` comments, an optional `export`, and quotes around a value taken off. Nothing is expanded. */
function parseEnvFile(text: string): Record<string, string> {
  const entries: [string, string][] = []
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|(.*?))\s*$/.exec(line)
    if (match?.[1] !== undefined) entries.push([match[1], match[2] ?? match[3] ?? match[4] ?? ''])
  }
  return Object.fromEntries(entries)
}

/** A path from the configuration file's folder on. `~` has no meaning: it is a shell's. */
function resolvePath(path: string, { configDir, separator = '/' }: ExpansionContext): string {
  if (separator === '/' ? path.startsWith('/') : /^([A-Za-z]:)?[\\/]/.test(path)) return path
  const relative = path.replace(/^(\.[\\/])+/, '').replace(/^\.$/, '')
  return relative === '' ? configDir : `${configDir.replace(/[\\/]$/, '')}${separator}${relative}`
}
