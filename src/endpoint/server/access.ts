// Origin and Host: what keeps a web page from reaching a server by way of its reader.
import { clip } from '../../base/index.ts'
import { HEADERS } from '../../spec/index.ts'
import { headerOf } from './inbound.ts'
import type { Inbound } from './inbound.ts'
import type { OriginOptions } from './options.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Why a request would not be let in, or undefined. */
export function blockedBy(inbound: Inbound, options: OriginOptions): string | undefined {
  const origin = headerOf(inbound, 'origin')
  if (origin !== undefined && !originAllowed(origin, options)) return `Origin ${clip(origin)} is not allowed`
  const { hosts } = options
  if (hosts === undefined) return undefined
  const host = headerOf(inbound, 'host') ?? ''
  return hostAllowed(host, hosts) ? undefined : `Host ${clip(host)} is not allowed`
}

/** Headers that let a page of an allowed origin read the answer. */
export function corsHeaders(inbound: Inbound, options: OriginOptions): Record<string, string> {
  const origin = headerOf(inbound, 'origin')
  if (origin === undefined || !originAllowed(origin, options)) return {}
  return { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' }
}

/** The answer to a page of an allowed origin that asks whether it may send a request; undefined where this is no such question. */
export function preflightHeaders(
  inbound: Inbound,
  options: OriginOptions,
): Record<string, string> | undefined {
  const cors = corsHeaders(inbound, options)
  const isQuestion = inbound.verb === 'OPTIONS' && 'access-control-request-method' in inbound.headers.joined
  if (!isQuestion || Object.keys(cors).length === 0) return undefined
  const asked = headerOf(inbound, 'access-control-request-headers')
  return {
    ...cors,
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers':
      asked ?? `Content-Type, ${HEADERS.protocolVersion}, ${HEADERS.method}, ${HEADERS.name}`,
  }
}

function originAllowed(origin: string, { allowed = [] }: OriginOptions): boolean {
  if (typeof allowed === 'function' ? allowed(origin) : allowed.includes(origin)) return true
  return URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname)
}

function hostAllowed(host: string, hosts: readonly string[]): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return LOOPBACK.has(name) || hosts.some((allowed) => allowed.toLowerCase() === name || allowed === host)
}
