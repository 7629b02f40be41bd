import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { McpxError } from '../../base/index.ts'
import { readChallenge } from '../../oauth/index.ts'
import type { Login } from '../../oauth/index.ts'
import { METHOD } from '../../spec/index.ts'
import { openBrowser } from '../browser.ts'
import { print } from '../output.ts'
import { withOAuth } from './oauth-target.ts'
import type { OAuthWork } from './oauth-target.ts'

interface LoginOptions {
  readonly config?: string
  readonly browser: boolean
  readonly callbackPort?: string
}

/** `mcpx login <server>`: one login, kept where every mcpx of the state folder finds it, a running daemon too. */
export function addLogin(program: Command): void {
  program
    .command('login')
    .description('log in to a server; calls of a running daemon use it from then on')
    .argument('<server>', 'the server of the configuration')
    .option('-c, --config <file>', 'the configuration file; without it one is searched for')
    .option('--no-browser', 'only print the address; what the browser comes back to may be pasted here')
    .option(
      '--callback-port <number>',
      'the port that the browser comes back to, to forward it from elsewhere',
    )
    .addHelpText(
      'after',
      '\nOn a machine without a browser:\n  ssh -L 8765:127.0.0.1:8765 host mcpx login github --no-browser --callback-port 8765',
    )
    .action((name: string, options: LoginOptions) =>
      withOAuth(name, options, async (work) => {
        await (work.server.auth?.grant === 'client_credentials' ? granted(work) : loggedIn(work, options))
        print(`mcpx is logged in to "${name}".`)
      }),
    )
}

/** A server that mcpx enters as itself needs nobody. */
async function granted({ server, target, oauth, dialer }: OAuthWork): Promise<void> {
  const { challenge } = await refusalOf(server.url, dialer)
  const authorizer = oauth.authorizerFor(server)(target.principal)
  const sent = await authorizer.header()
  const outcome = await authorizer.refused({ status: 401, challenge, sent, attempt: 1 })
  if (outcome instanceof McpxError) throw outcome
}

async function loggedIn({ server, target, oauth, dialer }: OAuthWork, options: LoginOptions): Promise<void> {
  const { name } = server
  const { challenge } = await refusalOf(server.url, dialer)
  const port = options.callbackPort === undefined ? target.callbackPort : portIn(options.callbackPort)
  const { logins } = oauth
  // What listens for a browser keeps no process going.
  const held = setInterval(() => {}, 60_000)
  const lines = createInterface({ input: process.stdin })
  try {
    const login = await logins?.begin(
      { ...target, callbackPort: port },
      { challenge: readChallenge(challenge), upgrade: false },
    )
    if (login === undefined) return
    show(login, options)
    lines.on('line', (line) => {
      const text = line.trim()
      if (URL.canParse(text)) void logins?.arrive(new URL(text).searchParams)
    })
    await login.done
  } catch (error) {
    if (!(error instanceof McpxError)) throw error
    throw new McpxError(error.code, `The login to "${name}" failed: ${error.message}`, { cause: error })
  } finally {
    clearInterval(held)
    lines.close()
    process.stdin.destroy()
  }
}

function show({ url }: Login, { browser }: LoginOptions): void {
  print(`Log in at\n\n  ${url}\n`)
  if (browser) openBrowser(url, process.env)
  else
    process.stderr.write(
      'Where the browser cannot reach this machine, paste the address here that it ends at.\n',
    )
}

/** What the server says to somebody without credentials; nothing where it says nothing. */
async function refusalOf(
  url: string,
  dialer: OAuthWork['dialer'],
): Promise<{ challenge: string | undefined }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: METHOD.ping })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const response = await dialer.fetch(url, { method: 'POST', headers, body }).catch(() => undefined)
  return { challenge: response?.headers.get('www-authenticate') ?? undefined }
}

function portIn(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port
  throw new McpxError('USAGE', `--callback-port takes a number from 1 to 65535, not ${JSON.stringify(text)}.`)
}
