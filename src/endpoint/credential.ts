// Whose a request is, by its Authorization header.
import type { IncomingMessage } from 'node:http'
import type { Principals } from './contract.ts'
import { LOCAL_USER } from './contract.ts'

/** What answers a credential that is not good: a 401 with these headers and this text. */
export const BAD_CREDENTIAL = {
  headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  message: 'The key is not known here or was revoked. mcpx keys add <name> makes a new one.',
} as const

/** The principal of a request; undefined where its credential is not good. Without principals all are the local user. */
export function principalOf(
  request: IncomingMessage,
  principals: Principals | undefined,
): string | undefined {
  return principals === undefined ? LOCAL_USER : principals.of(request.headers.authorization)
}
