// What `mcpx login` and `mcpx logout` work with: one server of the configuration, for whoever runs the command.
import { McpxError, SILENT } from '../../base/index.ts'
import { createSettings } from '../../config/index.ts'
import type { ConfigFile } from '../../config/index.ts'
import { unknownServer } from '../../http/index.ts'
import { createDialer, systemClock } from '../../transport/index.ts'
import type { OwningDialer } from '../../transport/index.ts'
import { readConfig } from '../config-source.ts'
import { createOAuth } from '../oauth.ts'
import type { OAuth, OAuthServer, OAuthTarget } from '../oauth.ts'
import { stateDir } from '../paths.ts'
import { createPrincipals } from '../principals.ts'
import { oauthServerOf } from '../runtime.ts'

export interface OAuthWork {
  readonly server: OAuthServer
  readonly target: OAuthTarget
  readonly oauth: OAuth
  readonly dialer: OwningDialer
}

/** Runs with the named server. Throws `SERVER_UNKNOWN`, or `USAGE` for one that nobody logs in to. */
export async function withOAuth<T>(
  name: string,
  options: { readonly config?: string },
  run: (work: OAuthWork) => Promise<T>,
): Promise<T> {
  const { env } = process
  const config = readConfig({ cwd: process.cwd(), env, named: options.config })
  const definition = config.servers.get(name)
  if (definition === undefined) throw unknownServer(name, [...config.servers.keys()])
  const server = oauthServerOf(definition, config)
  if (server === undefined)
    throw new McpxError(
      'USAGE',
      `Nobody logs in to server "${name}": it is a process, or its headers are all that it is entered with.`,
    )
  const dialer = createDialer({ clock: systemClock, log: SILENT })
  const oauth = createOAuth({
    ...{ folder: stateDir(env), clock: systemClock, log: SILENT, logins: true },
    fetch: (url, init) => dialer.fetch(url, init),
  })
  try {
    return await run({ server, oauth, dialer, target: oauth.target(server, principalOf(config)) })
  } finally {
    oauth.stop()
    await dialer.close()
  }
}

/** The principal of the key in `MCPX_KEY`, as a daemon would see it. */
function principalOf(config: ConfigFile): string {
  const { env } = process
  const settings = createSettings({ file: config, env })
  const configured = (): readonly string[] => settings.get('auth.keys')
  const means = { folder: stateDir(env), clock: systemClock, log: SILENT }
  const principals = createPrincipals({ ...means, configured, local: () => 'open' })
  const key = env['MCPX_KEY'] ?? ''
  const principal = principals.of(key === '' ? undefined : `Bearer ${key}`)
  if (typeof principal === 'string') return principal
  throw new McpxError('KEY_UNKNOWN', `MCPX_KEY holds no key that is in force. ${principal.message}`)
}
