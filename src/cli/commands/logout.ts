import type { Command } from 'commander'
import { clientOf, revoke } from '../../oauth/index.ts'
import { print } from '../output.ts'
import { withOAuth } from './oauth-target.ts'
import type { OAuthWork } from './oauth-target.ts'

/** `mcpx logout <server>`: what was granted is given back where the authorization server takes it, and forgotten. */
export function addLogout(program: Command): void {
  program
    .command('logout')
    .description('forget what a server granted, in a running daemon too')
    .argument('<server>', 'the server of the configuration')
    .option('-c, --config <file>', 'the configuration file; without it one is searched for')
    .action((name: string, options: { readonly config?: string }) =>
      withOAuth(name, options, async (work) => {
        await revoked(work)
        print(
          (await work.target.store.remove())
            ? `mcpx is logged out of "${name}".`
            : `mcpx was not logged in to "${name}".`,
        )
      }),
    )
}

async function revoked({ server, target, oauth }: OAuthWork): Promise<void> {
  const record = target.store.reread()
  for (const grant of Object.values(record?.grants ?? {})) {
    const client = clientOf(grant, target.config)
    if (client === undefined) continue
    try {
      await revoke(grant, client, { server: server.url, io: oauth.io })
    } catch {
      process.stderr.write(
        `${grant.as.issuer} did not take the grant back; it is forgotten here all the same.\n`,
      )
    }
  }
}
