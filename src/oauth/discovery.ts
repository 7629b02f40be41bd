// From a server's refusal to its authorization server.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
import { customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import type { AuthorizationServer } from 'oauth4webapi'
import { clip, clipList, McpxError } from '../base/index.ts'
import { askingFor, getJson } from './ask.ts'
import type { Fetch } from './ask.ts'
import {
  coversResource,
  mayAsk,
  resourceMetadataUrls,
  resourceOf,
  sameIssuer,
  serverMetadataUrls,
} from './places.ts'

export interface Discovered {
  readonly as: AuthorizationServer
  /** What a token is asked for: `resource` of RFC 8707. */
  readonly resource: string
  /** `scopes_supported` of the server. */
  readonly scopes: readonly string[] | undefined
}

export interface DiscoveryOptions {
  /** The server's URL. */
  readonly server: string
  /** Where the server says that its metadata is. */
  readonly named: string | undefined
  /** The authorization server to take where several are named. */
  readonly preferred: string | undefined
  readonly fetch: Fetch
}

interface ResourceMetadata {
  readonly resource: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[] | undefined
}

/**
 * Finds the authorization server. Throws `AUTH_REQUIRED` where there is none, or where what it or the server says of itself cannot be
 * believed.
 */
export async function discover(options: DiscoveryOptions): Promise<Discovered> {
  const { server, preferred } = options
  const metadata = await resourceMetadata(options)
  if (metadata === undefined) return beforeResourceMetadata(options)
  const { resource, scopes, issuers } = metadata
  const named = preferred === undefined ? issuers : issuers.filter((issuer) => sameIssuer(issuer, preferred))
  if (named.length === 0) {
    const said = issuers.length === 0 ? 'none' : clipList(issuers, 5)
    throw refused(
      `it names ${said} as its authorization server${preferred === undefined ? '' : `, not ${clip(preferred)}`}`,
    )
  }
  for (const issuer of named) {
    const as = await serverMetadata(issuer, options)
    if (as !== undefined) return { as: withPkce(as, server), resource, scopes }
  }
  throw refused(`its authorization server ${clipList(named, 5)} publishes no metadata`)
}

/** Undefined where the server publishes none, as those of 2025-03-26 did not have to. */
async function resourceMetadata(options: DiscoveryOptions): Promise<ResourceMetadata | undefined> {
  const { server, named } = options
  for (const url of resourceMetadataUrls(server, named)) {
    const found = await getJson(url, options)
    if (found === undefined) continue
    const { resource, authorization_servers: servers, scopes_supported: scopes } = found
    if (typeof resource !== 'string') continue
    // A token for somebody else's resource is what a hostile server would like to be sent.
    if (!coversResource(resource, server))
      throw refused(`its metadata is that of another resource, ${clip(resource)}`)
    return { resource, issuers: texts(servers) ?? [], scopes: texts(scopes) }
  }
  return undefined
}

/** The revision of 2025-03-26: the server's origin is the authorization server, with endpoints of fixed names where it says no others. */
async function beforeResourceMetadata(options: DiscoveryOptions): Promise<Discovered> {
  const { server, preferred } = options
  const issuer = preferred ?? new URL(server).origin
  const as = await serverMetadata(issuer, options)
  const resource = resourceOf(server)
  if (as !== undefined) return { as: withPkce(as, server), resource, scopes: undefined }
  const assumed = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
  }
  return { as: assumed, resource, scopes: undefined }
}

async function serverMetadata(
  issuer: string,
  options: DiscoveryOptions,
): Promise<AuthorizationServer | undefined> {
  const { server, fetch } = options
  if (!mayAsk(issuer, server))
    throw refused(`its authorization server ${clip(issuer)} is not one that mcpx asks`)
  const asking = askingFor(server, fetch)
  for (const url of serverMetadataUrls(issuer)) {
    // The library knows two of the three places; where to look is given to it.
    const response = await discoveryRequest(new URL(issuer), {
      ...asking,
      [customFetch]: (_, init) => asking[customFetch](url, init),
    })
    if (response.status !== 200) continue
    const body = await response.text()
    const issued = issuerIn(body)
    if (issued === undefined) continue
    if (!sameIssuer(issued, issuer))
      throw refused(`the metadata of ${clip(issuer)} is that of ${clip(issued)}`)
    const copy = new Response(body, { status: 200, headers: { 'content-type': 'application/json' } })
    return processDiscoveryResponse(new URL(issuer), copy)
  }
  return undefined
}

/** What mcpx cannot do without. PKCE must be seen to be there: a server that ignores it accepts everybody's codes. */
function withPkce(as: AuthorizationServer, server: string): AuthorizationServer {
  const methods = as.code_challenge_methods_supported
  const missing = (['authorization_endpoint', 'token_endpoint'] as const).find((name) => {
    const url = as[name]
    return url !== undefined && !mayAsk(url, server)
  })
  if (missing !== undefined) throw refused(`the ${missing} of ${clip(as.issuer)} is not one that mcpx asks`)
  if (as.authorization_endpoint !== undefined && methods?.includes('S256') !== true && needsPkce(as))
    throw refused(`its authorization server ${clip(as.issuer)} does not say that it knows PKCE with S256`)
  return as
}

/** A grant without a person has no code that could be stolen. */
function needsPkce({ grant_types_supported: grants }: AuthorizationServer): boolean {
  return grants === undefined || grants.includes('authorization_code')
}

function issuerIn(body: string): string | undefined {
  try {
    const { issuer } = JSON.parse(body) as Record<string, unknown>
    return typeof issuer === 'string' && URL.canParse(issuer) ? issuer : undefined
  } catch {
    return undefined
  }
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined
}

function refused(why: string): McpxError {
  return new McpxError('AUTH_REQUIRED', why)
}
