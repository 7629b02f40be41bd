import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { McpxError, nearest } from '../../base/index.ts'
import { CLIENTS } from '../hosts/clients.ts'
import type { HostClient, Surroundings } from '../hosts/clients.ts'
import { addServers, configOf, configToChange } from '../hosts/config-text.ts'
import { planImport } from '../hosts/import-plan.ts'
import type { ImportPlan, Source } from '../hosts/import-plan.ts'
import { readText } from '../hosts/text-file.ts'
import { print, printable, printJson, styled } from '../output.ts'

interface ImportOptions {
  readonly config?: string
  readonly file?: string
  readonly from?: string
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly json?: boolean
}

const IDS = CLIENTS.map(({ id }) => id)

/** `mcpx import`: the servers that other clients have, into mcpx's configuration. */
export function addImport(program: Command): void {
  program
    .command('import')
    .description('take over the servers of other clients; their files stay as they are')
    .argument('[client...]', `which clients: ${IDS.join(', ')}; without one, all of them`)
    .option('--file <path>', 'one file instead of where the client keeps its own')
    .option('--from <client>', 'whose format the file has')
    .option('--dry-run', 'only say what would be taken')
    .option('--force', "replace mcpx's servers of the same names")
    .option('-c, --config <file>', 'the configuration file to write; without it one is searched for')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  mcpx import --dry-run\n  mcpx import cursor vscode')
    .action(async (ids: readonly string[], options: ImportOptions) => {
      const path = pathOf(options)
      const sources = sourcesOf(ids, options).filter(({ file }) => resolve(file.path) !== path)
      const planned = {
        plan: planImport(sources, configOf(readText(path)?.text, path).servers, flags(options)),
      }
      if (options.dryRun !== true && planned.plan.taken.size > 0) {
        await addServers(path, ({ servers }) => {
          planned.plan = planImport(sources, servers, flags(options))
          return planned.plan.taken
        })
      }
      const { plan } = planned
      if (options.json === true) {
        const { sources: files, servers } = plan
        return printJson({ config: path, dryRun: options.dryRun ?? false, files, servers })
      }
      explain(plan, path, options)
    })
}

/** The client of an id. Throws USAGE with the nearest. */
export function clientOf(id: string): HostClient {
  const client = CLIENTS.find((candidate) => candidate.id === id)
  if (client !== undefined) return client
  const near = nearest(id, IDS)
  const advice = near === undefined ? `mcpx knows ${IDS.join(', ')}.` : `Did you mean "${near}"?`
  throw new McpxError('USAGE', `There is no client ${JSON.stringify(id)}. ${advice}`)
}

export function surroundings(): Surroundings {
  const { platform } = process
  return {
    platform: platform === 'darwin' || platform === 'win32' ? platform : 'linux',
    ...{ home: homedir(), cwd: process.cwd(), env: process.env },
  }
}

/** Secrets of a user do not go into a file that a project shares: where that is in force, mcpx.json beside it is the place. */
function pathOf({ config }: ImportOptions): string {
  const place = { cwd: process.cwd(), env: process.env, named: config }
  const path = configToChange(place)
  const shared = ['.mcp.json', 'mcp.json'].includes(basename(path))
  const chosen = config !== undefined || (place.env['MCPX_CONFIG'] ?? '') !== ''
  if (!shared || chosen) return path
  const folder = dirname(path)
  return join(basename(folder) === '.vscode' ? dirname(folder) : folder, 'mcpx.json')
}

function sourcesOf(ids: readonly string[], { file, from }: ImportOptions): Source[] {
  const here = surroundings()
  if ((file === undefined) !== (from === undefined))
    throw new McpxError('USAGE', '--file and --from belong together: whose format has the file?')
  if (file !== undefined && from !== undefined) {
    if (ids.length > 0) throw new McpxError('USAGE', 'Give clients, or --file and --from, not both.')
    const path = resolve(file)
    if (readText(path) === undefined) throw new McpxError('USAGE', `There is no file ${path}.`)
    const client = clientOf(from)
    const [{ keys }] = client.files(here)
    return [{ client, file: { path, keys } }]
  }
  const clients = ids.length === 0 ? CLIENTS : ids.map(clientOf)
  return clients.flatMap((client) => client.files(here).map((each) => ({ client, file: each })))
}

function flags({ force }: ImportOptions): { force: boolean } {
  return { force: force ?? false }
}

function explain({ sources, servers, taken }: ImportPlan, path: string, { dryRun }: ImportOptions): void {
  if (sources.length === 0) {
    print(
      `No servers were found. mcpx looks where ${CLIENTS.map(({ title }) => title).join(', ')} keep theirs.`,
    )
    return
  }
  // One file may have several places for servers.
  const files = sources.filter(({ path: at }, index) => sources.findIndex((one) => one.path === at) === index)
  for (const { client, path: from, error } of files) {
    print(`${styled('bold', client)} ${from}`)
    if (error !== null) print(`  ${printable(error)}`)
    for (const server of servers.filter((one) => one.path === from && one.client === client)) {
      const said = {
        taken: 'taken',
        present: 'is there already',
        'left-out': `left out: ${server.reason ?? ''}`,
      }
      print(printable(`  ${server.as ?? server.name}  ${said[server.status]}`))
      for (const note of server.notes) print(printable(`    ${note}`))
    }
  }
  const count = taken.size === 1 ? '1 server' : `${taken.size} servers`
  if (dryRun === true) print(`\n${count} would be written to ${path}; nothing was.`)
  else print(taken.size === 0 ? `\n${path} stays as it is.` : `\n${count} written to ${path}.`)
}
