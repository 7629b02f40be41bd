// The four grants that mcpx uses, and taking one back. Every function throws what the library throws: `refusalOf` reads it.
import {
  authorizationCodeGrantRequest,
  clientCredentialsGrantRequest,
  customFetch,
  dynamicClientRegistrationRequest,
  processAuthorizationCodeResponse,
  processClientCredentialsResponse,
  processDynamicClientRegistrationResponse,
  processRefreshTokenResponse,
  processRevocationResponse,
  refreshTokenGrantRequest,
  revocationRequest,
} from 'oauth4webapi'
import type { AuthorizationServer, Client, TokenEndpointResponse } from 'oauth4webapi'
import { askingFor } from './ask.ts'
import type { OAuthIo } from './ask.ts'
import { clientAuthOf, wantedAuthMethod } from './client.ts'
import type { KnownClient } from './client.ts'
import type { Grant, Issuer, Registration } from './record.ts'

/** Who asks whom for what. */
export interface Asking {
  /** The URL of the server for whose sake it is. */
  readonly server: string
  readonly as: AuthorizationServer
  readonly client: KnownClient
  readonly resource: string
  readonly requested: readonly string[]
  readonly upgrades: number
  readonly io: OAuthIo
}

export interface Code {
  /** The callback's parameters, validated. */
  readonly params: URLSearchParams
  readonly redirectUri: string
  readonly verifier: string
}

export async function grantForCode(asking: Asking, { params, redirectUri, verifier }: Code): Promise<Grant> {
  const { as, client } = asking
  const auth = await clientAuthOf(client, as.token_endpoint_auth_methods_supported)
  const response = await authorizationCodeGrantRequest(
    as,
    named(client),
    auth,
    params,
    redirectUri,
    verifier,
    {
      ...options(asking),
      additionalParameters: { resource: asking.resource },
    },
  )
  return grantOf(await processAuthorizationCodeResponse(as, named(client), response), asking, undefined)
}

export async function refreshed(asking: Asking, refreshToken: string): Promise<Grant> {
  const { as, client } = asking
  const auth = await clientAuthOf(client, as.token_endpoint_auth_methods_supported)
  const response = await refreshTokenGrantRequest(as, named(client), auth, refreshToken, {
    ...options(asking),
    additionalParameters: { resource: asking.resource },
  })
  return grantOf(await processRefreshTokenResponse(as, named(client), response), asking, refreshToken)
}

export async function grantForClient(asking: Asking): Promise<Grant> {
  const { as, client, requested, resource } = asking
  const auth = await clientAuthOf(client, as.token_endpoint_auth_methods_supported)
  const scope: Record<string, string> = requested.length === 0 ? {} : { scope: requested.join(' ') }
  const response = await clientCredentialsGrantRequest(
    as,
    named(client),
    auth,
    { ...scope, resource },
    options(asking),
  )
  return grantOf(await processClientCredentialsResponse(as, named(client), response), asking, undefined)
}

/** Tells the authorization server that a grant is not wanted any more; nothing where it has no place for that. */
export async function revoke(
  grant: Grant,
  client: KnownClient,
  { server, io }: Pick<Asking, 'server' | 'io'>,
): Promise<void> {
  const as = { ...grant.as }
  if (as.revocation_endpoint === undefined) return
  const auth = await clientAuthOf(client, as.token_endpoint_auth_methods_supported)
  const token = grant.refreshToken ?? grant.accessToken
  await processRevocationResponse(
    await revocationRequest(as, named(client), auth, token, askingFor(server, io.fetch)),
  )
}

export interface Registering {
  readonly server: string
  readonly as: AuthorizationServer
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly io: OAuthIo
}

/** Registers mcpx, as a native application: its redirect is on this machine. */
export async function register({ server, as, redirectUri, scopes, io }: Registering): Promise<Registration> {
  const asking = askingFor(server, io.fetch)
  const metadata: Partial<Client> = {
    client_name: 'mcpx',
    redirect_uris: [redirectUri],
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: wantedAuthMethod(as.token_endpoint_auth_methods_supported),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  }
  const response = await dynamicClientRegistrationRequest(as, metadata, {
    ...asking,
    [customFetch]: async (url, init) => completed(await asking[customFetch](url, init)),
  })
  const client = await processDynamicClientRegistrationResponse(response)
  const { client_id: clientId } = client
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
  const secret = text(client['client_secret'])
  const method = text(client['token_endpoint_auth_method'])
  const expires = Number(client['client_secret_expires_at'] ?? 0)
  return {
    clientId,
    redirectUri,
    ...(secret !== undefined && { clientSecret: secret }),
    ...(secret !== undefined && expires > 0 && { secretExpiresAt: expires * 1000 }),
    ...(method !== undefined && { authMethod: method }),
  }
}

/** The parts of an authorization server that a grant keeps. */
function kept(as: AuthorizationServer): Issuer {
  const { issuer, token_endpoint: token = '', revocation_endpoint: revocation } = as
  const methods = as.token_endpoint_auth_methods_supported
  return {
    ...{ issuer, token_endpoint: token },
    ...(revocation !== undefined && { revocation_endpoint: revocation }),
    ...(methods !== undefined && { token_endpoint_auth_methods_supported: methods }),
  }
}

/** RFC 7591, section 3.2.1, wants 201 and the secret's end, which servers forget. */
async function completed(response: Response): Promise<Response> {
  if (response.status !== 200 && response.status !== 201) return response
  const text = await response.text()
  let body: unknown
  try {
    body = { client_secret_expires_at: 0, ...(JSON.parse(text) as object) }
  } catch {
    return new Response(text, { status: 201 })
  }
  return new Response(JSON.stringify(body), { status: 201, headers: { 'content-type': 'application/json' } })
}

function options({ server, io }: Asking): ReturnType<typeof askingFor> {
  return askingFor(server, io.fetch)
}

function named({ clientId }: KnownClient): Client {
  return { client_id: clientId }
}

/** `before`: the refresh token that goes on where the answer has no other. */
function grantOf(tokens: TokenEndpointResponse, asking: Asking, before: string | undefined): Grant {
  const { as, client, resource, requested, upgrades, io } = asking
  const now = io.clock.now()
  const refreshToken = tokens.refresh_token ?? before
  return {
    ...{ as: kept(as), clientId: client.clientId, resource, requested, upgrades },
    ...(client.registration !== undefined && { registration: client.registration }),
    accessToken: tokens.access_token,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(tokens.expires_in !== undefined && { expiresAt: now + tokens.expires_in * 1000 }),
    grantedAt: now,
  }
}
