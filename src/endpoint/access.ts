// Origin and Host: what keeps a web page from reaching a server on its reader's own machine.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clip } from '../base/index.ts'
import { HEADERS } from '../spec/index.ts'
import type { EndpointAccess } from './contract.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

/** Why a request may not come from where it does, or undefined. */
export function refusedAccess(
  request: IncomingMessage,
  access: EndpointAccess,
): { readonly reason: 'origin' | 'host'; readonly message: string } | undefined {
  const { origin, host } = request.headers
  if (origin !== undefined && !originAllowed(origin, access)) {
    const message = `Origin ${clip(origin)} is not allowed. The setting http.allowedOrigins names those that are.`
    return { reason: 'origin', message }
  }
  // Beyond loopback the names that a daemon goes by are known only where the setting says them.
  if ((access.loopback || access.allowedHosts().length > 0) && !hostAllowed(host, access)) {
    const message = `Host ${clip(host ?? '(none)')} is not allowed. The setting http.allowedHosts names those that are.`
    return { reason: 'host', message }
  }
  return undefined
}

/** Headers that let an allowed browser origin read the answer. */
export function corsHeaders(request: IncomingMessage): Record<string, string> {
  const { origin } = request.headers
  if (origin === undefined) return {}
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': `${HEADERS.sessionId}, ${HEADERS.protocolVersion}`,
    Vary: 'Origin',
  }
}

/** Answers a preflight of an allowed origin. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  const asked = request.headers['access-control-request-headers']
  response.writeHead(204, {
    ...corsHeaders(request),
    'Access-Control-Allow-Methods': 'POST, GET, DELETE',
    ...(asked === undefined ? {} : { 'Access-Control-Allow-Headers': asked }),
    'Access-Control-Max-Age': '600',
  })
  response.end()
}

function originAllowed(origin: string, access: EndpointAccess): boolean {
  if (access.allowedOrigins().includes(origin)) return true
  return URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname)
}

function hostAllowed(host: string | undefined, access: EndpointAccess): boolean {
  if (host === undefined) return false
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return LOOPBACK.has(name) || access.allowedHosts().some((allowed) => allowed === name || allowed === host)
}
