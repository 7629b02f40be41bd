import type { Command } from 'commander'
import { SILENT } from '../../base/index.ts'
import { print, printJson } from '../output.ts'
import { stateDir } from '../paths.ts'
import { ensureToken, readToken, renewToken, tokenPath } from '../token-file.ts'

interface TokenOptions {
  readonly new?: boolean
  readonly path?: boolean
  readonly json?: boolean
}

/** `mcpx token`: what a client over HTTP sends to be the local user. */
export function addToken(program: Command): void {
  program
    .command('token')
    .description('print the token by which clients over HTTP are the local user')
    .option('--new', 'put a new one in its place; the old one is refused from then on')
    .option('--path', 'print where it is kept instead')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  curl -H "Authorization: Bearer $(mcpx token)" http://127.0.0.1:6279/v1/servers\n  mcpx token --new',
    )
    .action((options: TokenOptions) => {
      const folder = stateDir(process.env)
      const path = tokenPath(folder)
      if (options.new !== true) ensureToken(folder, SILENT)
      const token = options.new === true ? renewToken(folder) : (readToken(folder) ?? renewToken(folder))
      if (options.json === true) printJson({ path, token })
      else print(options.path === true ? path : token)
    })
}
