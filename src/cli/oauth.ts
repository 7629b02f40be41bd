// mcpx as an OAuth client, put together: files, sockets and keys for the room that knows none.
import type { Clock, Log } from '../base/index.ts'
import type { AuthDefinition } from '../config/index.ts'
import { LOCAL_USER } from '../endpoint/index.ts'
import { Logins, resourceOf, ServerAuthorizer } from '../oauth/index.ts'
import type { AuthConfig, Fetch, OAuthIo, Target } from '../oauth/index.ts'
import type { ServerSpec } from '../pool/index.ts'
import { openGrantFile } from './grant-file.ts'
import type { GrantFile } from './grant-file.ts'
import { Landings } from './landing.ts'
import { signingKey } from './private-key.ts'

/** A server that may be entered by OAuth. */
export interface OAuthServer {
  readonly name: string
  readonly url: string
  readonly scope: ServerSpec['scope']
  readonly auth: AuthDefinition | undefined
}

export interface OAuthTarget extends Target {
  readonly store: GrantFile
}

export interface OAuthOptions {
  readonly folder: string
  readonly fetch: Fetch
  readonly clock: Clock
  readonly log: Log
  /** Whether this process lives long enough for people to log in. */
  readonly logins: boolean
  readonly onDone?: (target: Pick<Target, 'name' | 'principal'>) => void
}

export interface OAuth {
  readonly io: OAuthIo
  readonly logins: Logins | undefined
  /** The server for a principal; one that all share is entered with what the local user was granted. */
  target(server: OAuthServer, principal: string): OAuthTarget
  authorizerFor(server: OAuthServer): NonNullable<ServerSpec['authorizerFor']>
  stop(): void
}

export function createOAuth({ folder, fetch, clock, log, logins: lasting, onDone }: OAuthOptions): OAuth {
  const io: OAuthIo = { fetch, clock, log }
  const landings = new Landings()
  const logins = lasting
    ? new Logins({
        ...io,
        land: (wish, arrive) => landings.land(wish, arrive),
        ...(onDone === undefined ? {} : { onDone }),
      })
    : undefined
  const authorizers = new Map<string, ServerAuthorizer>()

  function target({ name, url, scope, auth }: OAuthServer, principal: string): OAuthTarget {
    const owner = scope === 'global' ? LOCAL_USER : principal
    return {
      ...{ name, url, principal: owner, config: configOf(name, auth) },
      store: openGrantFile({ folder, server: resourceOf(url), principal: owner, log }),
      redirectUri: auth?.redirectUri,
      callbackPort: auth?.callbackPort,
    }
  }

  function authorizerFor(server: OAuthServer): NonNullable<ServerSpec['authorizerFor']> {
    return (principal) => {
      const owner = server.scope === 'global' ? LOCAL_USER : principal
      const key = `${server.name}\n${owner}`
      // One for all instances, so that they renew their token together.
      const known = authorizers.get(key)
      if (known !== undefined) return known
      const authorizer = new ServerAuthorizer({ target: target(server, owner), io, logins })
      authorizers.set(key, authorizer)
      return authorizer
    }
  }

  return { io, logins, target, authorizerFor, stop: () => logins?.stop() }
}

function configOf(server: string, auth: AuthDefinition | undefined): AuthConfig {
  const { grant = 'authorization_code', clientId, clientSecret, clientMetadataUrl, issuer } = auth ?? {}
  const { scopes = [], privateKey, algorithm } = auth ?? {}
  return {
    ...{ grant, clientId, clientSecret, clientMetadataUrl, issuer, scopes },
    key: privateKey === undefined ? undefined : () => signingKey(privateKey, algorithm, server),
  }
}
