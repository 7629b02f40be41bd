// Who may come in: the place that a request comes from, its credential, and how often its principal asks.
import type { IncomingMessage } from 'node:http'
import { refusedAccess } from './access.ts'
import type { CredentialFault, EndpointOptions, RefusedFor } from './contract.ts'
import { LOCAL_USER, UNKNOWN_PRINCIPAL } from './contract.ts'

export interface Refused {
  readonly status: 401 | 403 | 429
  readonly reason: RefusedFor
  /** What is wrong, and what to do. */
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  readonly principal: string
}

type Means = Pick<EndpointOptions, 'access' | 'principals' | 'quotas' | 'onRefused'>

/** Why a request may not come from where it comes from, or undefined. */
export function refusedPlace(request: IncomingMessage, { access, onRefused }: Means): Refused | undefined {
  const refused = refusedAccess(request, access)
  if (refused === undefined) return undefined
  onRefused?.(refused.reason)
  return { ...refused, status: 403, headers: {}, principal: UNKNOWN_PRINCIPAL }
}

/** The principal of a request, or why it is not let in. Without principals all are the local user. */
export function admitCaller(
  request: IncomingMessage,
  { principals, quotas, onRefused }: Means,
): string | Refused {
  const who = principals === undefined ? LOCAL_USER : principals.of(request.headers.authorization)
  const refused = typeof who === 'string' ? tooOften(who, quotas) : badCredential(who)
  if (refused === undefined) return who as string
  onRefused?.(refused.reason)
  return refused
}

/** RFC 6750, section 3: no error code where there was no credential at all. */
function badCredential({ fault, message }: { fault: CredentialFault; message: string }): Refused {
  const challenge = fault === 'missing' ? 'Bearer realm="mcpx"' : 'Bearer error="invalid_token"'
  return {
    ...{ status: 401, reason: `key-${fault}`, message, principal: UNKNOWN_PRINCIPAL },
    headers: { 'WWW-Authenticate': challenge },
  }
}

function tooOften(principal: string, quotas: EndpointOptions['quotas']): Refused | undefined {
  const wait = quotas?.request(principal) ?? 0
  if (wait === 0) return undefined
  return {
    ...{ status: 429, reason: 'rate', principal },
    message: `"${principal}" sends more than ${quotas?.limits.rate()} requests a second (http.maxRate). Try again in ${wait} ms.`,
    headers: { 'Retry-After': String(Math.ceil(wait / 1000)) },
  }
}

/**
 * Takes a stream in until it is closed. Returns why not where it is one too many; one that takes another's place never is.
 */
export function admitStream(
  principal: string,
  stream: { readonly inPlace?: boolean; onClose(listener: () => void): void },
  { quotas, onRefused }: Means,
): Refused | undefined {
  if (quotas === undefined) return undefined
  const giveBack = quotas.stream(principal, stream.inPlace === true)
  if (giveBack !== undefined) {
    stream.onClose(giveBack)
    return undefined
  }
  onRefused?.('streams')
  return {
    ...{ status: 429, reason: 'streams', principal, headers: { 'Retry-After': '1' } },
    message: `"${principal}" has ${quotas.limits.streams()} streams open (http.maxStreams). Close some, or raise the setting.`,
  }
}
