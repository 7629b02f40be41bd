import { existsSync, realpathSync } from 'node:fs'
import type { Command } from 'commander'
import { McpxError } from '../../base/index.ts'
import { findConfig } from '../config-source.ts'
import { CLIENTS } from '../hosts/clients.ts'
import { backupOf, install, uninstall } from '../hosts/install.ts'
import type { Installed, Target, Undone } from '../hosts/install.ts'
import { ownEntry } from '../hosts/own-entry.ts'
import { print, printJson } from '../output.ts'
import { clientOf, surroundings } from './import.ts'

interface InstallOptions {
  readonly config?: string
  readonly undo?: boolean
  readonly force?: boolean
  readonly json?: boolean
}

const SAID: Readonly<Record<Installed | Undone, string>> = {
  installed: 'has mcpx now',
  updated: 'has a new entry for mcpx now',
  present: 'has mcpx already',
  restored: 'is as it was before',
  deleted: 'is gone: it was made for mcpx, and held nothing else',
  removed: 'has mcpx no more; all else in it is as it was',
  absent: 'has no mcpx',
}

/** `mcpx install`: mcpx's own entry in a client's file. */
export function addInstall(program: Command): void {
  program
    .command('install')
    .description(
      'put mcpx into the file of a client, which then has all its servers; a backup is kept beside it',
    )
    .argument('<client>', `which client: ${CLIENTS.map(({ id }) => id).join(', ')}`)
    .option('--undo', 'take it out again')
    .option('--force', 'let a server that is called mcpx and is another one give way')
    .option(
      '-c, --config <file>',
      'the configuration that the client is to get; without it one is searched for',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  mcpx install cursor\n  mcpx install cursor --undo')
    .action(async (id: string, options: InstallOptions) => {
      const client = clientOf(id)
      const [file] = client.files(surroundings())
      const target: Target = { ...file, format: client.format, force: options.force ?? false }
      const config = options.undo === true ? undefined : configInForce(options.config, file.path)
      const entry = { ...client.entry, ...ownEntry(config) }
      const status = options.undo === true ? await uninstall(target) : await install(target, entry)
      const backup = existsSync(backupOf(file.path)) ? backupOf(file.path) : null
      if (options.json === true) return printJson({ client: id, path: file.path, status, config, backup })
      print(`${file.path} ${SAID[status]}.`)
      if (backup !== null) print(`As it was before mcpx: ${backup}`)
      if (status === 'installed' || status === 'updated') {
        print(`Start ${client.title} anew to have it; "mcpx install ${id} --undo" takes it out again.`)
        if (config === undefined)
          print('There is no configuration yet: "mcpx import" or "mcpx add" makes one; then install again.')
      }
    })
}

/** The configuration that the entry names, absolute; undefined where there is none. */
function configInForce(named: string | undefined, host: string): string | undefined {
  let path: string
  try {
    path = findConfig({ cwd: process.cwd(), env: process.env, named })
  } catch (error) {
    if (named === undefined && error instanceof McpxError && error.code === 'CONFIG_NOT_FOUND')
      return undefined
    throw error
  }
  if (!existsSync(host) || realpathSync(path) !== realpathSync(host)) return path
  throw new McpxError(
    'USAGE',
    `${path} is the client's own file: mcpx would serve itself. Make one with "mcpx import".`,
  )
}
