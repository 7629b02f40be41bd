import type { Command } from 'commander'
import { findConfig } from '../config-source.ts'
import { removeServer } from '../hosts/config-text.ts'
import { print, printJson } from '../output.ts'

interface RemoveOptions {
  readonly config?: string
  readonly json?: boolean
}

/** `mcpx remove`: a server out of the configuration in force. */
export function addRemove(program: Command): void {
  program
    .command('remove')
    .description('take a server out of the configuration')
    .argument('<name>', "the server's name")
    .option('-c, --config <file>', 'the configuration file; without it one is searched for')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  mcpx remove files')
    .action(async (name: string, options: RemoveOptions) => {
      const path = findConfig({ cwd: process.cwd(), env: process.env, named: options.config })
      await removeServer(path, name)
      if (options.json === true) return printJson({ path, name })
      print(`${name} is no more in ${path}.`)
    })
}
