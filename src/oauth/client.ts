// Which client mcpx is at an authorization server, and how it proves it.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
import { ClientSecretPost, None, PrivateKeyJwt } from 'oauth4webapi'
import type { AuthorizationServer, ClientAuth, CryptoKey } from 'oauth4webapi'
import type { Grant, GrantRecord, Registration } from './record.ts'

/** What the configuration says of one server, ready to use. */
export interface AuthConfig {
  readonly grant: 'authorization_code' | 'client_credentials'
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
  /** Where a document that describes mcpx is: its URL is the client's id. */
  readonly clientMetadataUrl: string | undefined
  /** The authorization server that the client is registered with, where the server may name several. */
  readonly issuer: string | undefined
  readonly scopes: readonly string[]
  /** The key with which a client without a secret signs. */
  readonly key: (() => Promise<CryptoKey>) | undefined
}

/** A client that may be used at an authorization server. */
export interface KnownClient {
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly key: AuthConfig['key']
  /** How it was registered to prove itself. */
  readonly authMethod: string | undefined
  /** What was registered, where mcpx did it. */
  readonly registration?: Registration
}

export type ClientChoice =
  | { readonly kind: 'known'; readonly client: KnownClient }
  /** A client is to be registered first. */
  | { readonly kind: 'register' }
  /** The configured client belongs to another authorization server, which must not learn of this one. */
  | { readonly kind: 'foreign'; readonly issuer: string }
  | { readonly kind: 'none' }

export interface ClientFacts {
  readonly config: AuthConfig
  readonly as: Pick<AuthorizationServer, 'issuer'> & Partial<AuthorizationServer>
  readonly record: GrantRecord | undefined
  /** Where an authorization is answered; undefined where none is. */
  readonly redirectUri: string | undefined
  readonly now: number
}

/** The client, in the order that the specification prefers: registered beforehand, by metadata document, dynamically. */
export function chooseClient({ config, as, record, redirectUri, now }: ClientFacts): ClientChoice {
  const { clientId, clientMetadataUrl } = config
  if (clientId !== undefined) {
    const bound = config.issuer ?? issuerOf(clientId, record)
    return bound !== undefined && bound !== as.issuer
      ? { kind: 'foreign', issuer: bound }
      : { kind: 'known', client: { ...config, clientId, authMethod: undefined } }
  }
  if (clientMetadataUrl !== undefined && as['client_id_metadata_document_supported'] === true)
    return { kind: 'known', client: documented(config, clientMetadataUrl) }
  const registered = record?.registrations[as.issuer]
  if (registered !== undefined && registered.redirectUri === redirectUri && isGood(registered, now))
    return { kind: 'known', client: registeredClient(registered) }
  return as.registration_endpoint === undefined || redirectUri === undefined
    ? { kind: 'none' }
    : { kind: 'register' }
}

/** The client to which something was granted, or undefined where it is not known any more. */
export function clientOf(
  { clientId, registration }: Pick<Grant, 'clientId' | 'registration'>,
  config: AuthConfig,
): KnownClient | undefined {
  if (clientId === config.clientId) return { ...config, clientId, authMethod: undefined }
  if (config.clientId !== undefined) return undefined
  if (clientId === config.clientMetadataUrl) return documented(config, clientId)
  return registration === undefined ? undefined : registeredClient(registration)
}

export function registeredClient(registration: Registration): KnownClient {
  const { clientId, clientSecret, authMethod } = registration
  return { clientId, clientSecret, authMethod, key: undefined, registration }
}

/** How a registration asks to prove itself: as a public client where that is possible, since mcpx runs on people's machines. */
export function wantedAuthMethod(supported: readonly string[] | undefined): string {
  if (supported === undefined || supported.includes('none')) return 'none'
  return ['client_secret_basic', 'client_secret_post'].find((method) => supported.includes(method)) ?? 'none'
}

/** How a client proves itself to the token endpoint. */
export function authMethodOf(
  { clientSecret, key, authMethod }: Omit<KnownClient, 'clientId'>,
  supported: readonly string[] | undefined,
): 'private_key_jwt' | 'client_secret_basic' | 'client_secret_post' | 'none' {
  if (key !== undefined) return 'private_key_jwt'
  if (clientSecret === undefined || authMethod === 'none') return 'none'
  const secret = ['client_secret_basic', 'client_secret_post'] as const
  const registered = secret.find((method) => method === authMethod)
  if (registered !== undefined) return registered
  // RFC 8414, section 2: where the metadata names no method, Basic is meant.
  const offered = supported ?? ['client_secret_basic']
  return (
    secret.find((method) => offered.includes(method)) ??
    (offered.includes('none') ? 'none' : 'client_secret_basic')
  )
}

/** The same as the library does it. */
export async function clientAuthOf(
  client: KnownClient,
  supported: readonly string[] | undefined,
): Promise<ClientAuth> {
  const { clientSecret = '', key } = client
  const method = authMethodOf(client, supported)
  if (method === 'private_key_jwt' && key !== undefined) return PrivateKeyJwt(await key())
  if (method === 'client_secret_basic') return basic(clientSecret)
  return method === 'client_secret_post' ? ClientSecretPost(clientSecret) : None()
}

/**
 * RFC 6749, section 2.3.1: form-encoded, as the URL standard encodes forms. The library escapes hyphens and dots too, which servers that
 * decode nothing take for other names.
 */
function basic(secret: string): ClientAuth {
  return (...[, { client_id: id }, , headers]) => {
    headers.set('authorization', `Basic ${btoa(`${encoded(id)}:${encoded(secret)}`)}`)
  }
}

function encoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice('x='.length)
}

function documented({ key }: AuthConfig, url: string): KnownClient {
  return { clientId: url, clientSecret: undefined, key, authMethod: undefined }
}

/** A configured client belongs to the authorization server that it was first used with. */
function issuerOf(clientId: string, record: GrantRecord | undefined): string | undefined {
  return Object.values(record?.grants ?? {}).find((grant) => grant.clientId === clientId)?.as.issuer
}

function isGood({ secretExpiresAt }: Registration, now: number): boolean {
  return secretExpiresAt === undefined || secretExpiresAt > now
}
