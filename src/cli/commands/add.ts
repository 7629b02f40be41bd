import type { Command } from 'commander'
import { McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { addServers, configToChange } from '../hosts/config-text.ts'
import { print, printJson } from '../output.ts'

interface AddOptions {
  readonly config?: string
  readonly header: readonly string[]
  readonly env: readonly string[]
  readonly protocol?: string
  readonly force?: boolean
  readonly json?: boolean
}

const EXAMPLES = `
Examples:
  mcpx add files -- npx -y @modelcontextprotocol/server-filesystem .
  mcpx add tickets https://tickets.example.com/mcp --header 'Authorization=Bearer \${env:TICKETS_TOKEN}'`

/** `mcpx add`: a server into the configuration in force. */
export function addAdd(program: Command): void {
  program
    .command('add')
    .description('add a server to the configuration; where there is none, mcpx.json is made here')
    .argument('<name>', "the server's name")
    .argument('<target...>', 'a URL, or -- and a command with its arguments')
    .option('--header <name=value>', 'a header for a URL; may be repeated', gather, [])
    .option('--env <name=value>', 'a variable for a command; may be repeated', gather, [])
    .option('--protocol <preference>', 'the era to address it in first: see mcpx settings upstream.protocol')
    .option('--force', 'replace a server of this name')
    .option('-c, --config <file>', 'the configuration file; without it one is searched for')
    .option('--json', 'print JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, words: readonly string[], options: AddOptions) => {
      const path = configToChange({ cwd: process.cwd(), env: process.env, named: options.config })
      const entry = entryOf(words, options)
      await addServers(path, ({ servers }) => {
        if (servers.has(name) && options.force !== true)
          throw new McpxError(
            'NAME_CLASH',
            `There is a server ${JSON.stringify(name)} in ${path} already. Choose another name, or replace it with --force.`,
          )
        return new Map([[name, entry]])
      })
      if (options.json === true) return printJson({ path, name })
      print(`${name} is in ${path}. "mcpx tools ${name}" starts it and lists its tools.`)
    })
}

function entryOf(words: readonly string[], { header, env, protocol }: AddOptions): JsonObject {
  const [first = '', ...args] = words
  const preference = protocol === undefined ? {} : { protocol }
  if (/^https?:\/\//i.test(first)) {
    if (args.length > 0) throw new McpxError('USAGE', 'Nothing may follow a URL but options.')
    if (env.length > 0) throw new McpxError('USAGE', '--env is for a command: a URL has --header.')
    return { url: first, ...mapOf('headers', header), ...preference }
  }
  if (header.length > 0) throw new McpxError('USAGE', '--header is for a URL: a command has --env.')
  return { command: first, ...(args.length > 0 ? { args } : {}), ...mapOf('env', env), ...preference }
}

/** `name=value` or `name: value`, whichever mark comes first. The value is not repeated: it may be secret. */
function mapOf(key: string, lines: readonly string[]): JsonObject {
  if (lines.length === 0) return {}
  const pairs = lines.map((line) => {
    const [, name, value = ''] = /^\s*([^=:\s]+)\s*[=:]\s*(.*)$/s.exec(line) ?? []
    if (name === undefined) throw new McpxError('USAGE', `Give ${key} as name=value.`)
    return [name, value]
  })
  return { [key]: Object.fromEntries(pairs) }
}

function gather(value: string, all: readonly string[]): string[] {
  return [...all, value]
}
