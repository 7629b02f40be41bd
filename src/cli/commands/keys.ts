import type { Command } from 'commander'
import { McpxError } from '../../base/index.ts'
import { createSettings, formatApiKey, parseApiKey, parseDuration } from '../../config/index.ts'
import type { ConfigFile } from '../../config/index.ts'
import { readConfig } from '../config-source.ts'
import { addKey, checkName, hashOf, keysPath, newToken, readKeys, revokeKey } from '../keys-file.ts'
import { print, printJson, table } from '../output.ts'
import { stateDir } from '../paths.ts'

interface ListedKey {
  readonly name: string
  readonly createdAt: string | null
  readonly expiresAt: string | null
  readonly source: string
}

/** `mcpx keys add|list|revoke`: the keys by which callers of a daemon are told apart. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('add, list and revoke the keys that tell callers apart')
  const help = '(mcpx keys --help tells more)'
  keys
    .command('add')
    .description('make a key and print it, once: only its hash is kept')
    .argument('<name>', 'who the key stands for')
    .option(
      '--expires <duration>',
      'how long it is good, such as 12h or 30d; without it, until it is revoked',
    )
    .option('--print-hash', 'keep nothing; print the key, and below it its line for the setting auth.keys')
    .showHelpAfterError(help)
    .addHelpText('after', '\nExample:\n  mcpx keys add alice > alice.key\n  mcpx keys add ci --expires 30d')
    .action(async (name: string, options: AddOptions) => {
      checkName(name)
      const expiresIn = lifetimeOf(options)
      if (options.printHash === true) return printHashed(name)
      const token = await addKey(path(), { name, expiresIn, now: new Date() })
      print(token)
      process.stderr.write(
        `This is the key of "${name}"; it cannot be shown again. Clients send it as "Authorization: Bearer <key>", ` +
          'commands of mcpx take it from MCPX_KEY.\n',
      )
    })
  keys
    .command('list')
    .description('list the keys by name')
    .option('-c, --config <file>', 'the configuration file, which may have keys too')
    .option('--json', 'print JSON')
    .showHelpAfterError(help)
    .action((options: { readonly config?: string; readonly json?: boolean }) => {
      const listed = list(options.config)
      if (options.json === true) return printJson({ keys: listed })
      if (listed.length === 0) return print('There are no keys.')
      const rows = listed.map((key) => [key.name, key.createdAt ?? '-', expiryOf(key), key.source])
      print(table([['NAME', 'CREATED', 'EXPIRES', 'FROM'], ...rows]))
    })
  keys
    .command('revoke')
    .description('take a key back: the next request with it is refused, by a running daemon too')
    .argument('<name>', 'whose key')
    .showHelpAfterError(help)
    .action(async (name: string) => {
      await revokeKey(path(), name, new Date())
      print(`The key of "${name}" is revoked.`)
    })
}

interface AddOptions {
  readonly expires?: string
  readonly printHash?: boolean
}

/** In ms, or undefined for a key that is good until it is revoked. */
function lifetimeOf({ expires, printHash }: AddOptions): number | undefined {
  if (expires === undefined) return undefined
  if (printHash === true)
    throw new McpxError('USAGE', 'A key of the configuration has no expiry: take its line out instead.')
  const ms = parseDuration(expires)
  if (ms !== undefined && ms > 0) return ms
  throw new McpxError(
    'USAGE',
    `--expires must be a duration such as 12h or 30d, not ${JSON.stringify(expires)}.`,
  )
}

function expiryOf({ expiresAt }: ListedKey): string {
  if (expiresAt === null) return 'never'
  return Date.parse(expiresAt) > Date.now() ? expiresAt : `expired ${expiresAt}`
}

function path(): string {
  return keysPath(stateDir(process.env))
}

function printHashed(name: string): void {
  const token = newToken()
  print(token)
  print(formatApiKey({ name, hash: hashOf(token) }))
}

function list(named: string | undefined): ListedKey[] {
  const file = configOf(named)
  const settings = createSettings({ ...(file === undefined ? {} : { file }), env: process.env })
  const { value, detail } = settings.explain('auth.keys')
  const configured = value.map(parseApiKey).filter((key) => key !== undefined)
  return [
    ...readKeys(path()).keys.map(({ name, createdAt, expiresAt = null }) => ({
      ...{ name, createdAt, expiresAt },
      source: path(),
    })),
    ...configured.map(({ name }) => ({
      ...{ name, createdAt: null, expiresAt: null },
      source: detail ?? 'auth.keys',
    })),
  ]
}

/** The configuration, if there is one: the keys of a state folder need none. */
function configOf(named: string | undefined): ConfigFile | undefined {
  try {
    return readConfig({ cwd: process.cwd(), env: process.env, named })
  } catch (error) {
    if (named === undefined && error instanceof McpxError && error.code === 'CONFIG_NOT_FOUND')
      return undefined
    throw error
  }
}
