// Requests to authorization servers, and what their failures mean. Nothing of an answer is repeated but its error code: what else is in
// it may be a secret.
import {
  allowInsecureRequests,
  AuthorizationResponseError,
  customFetch,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import { isObject, McpxError } from '../base/index.ts'
import type { Clock, Log } from '../base/index.ts'
import { mayAsk } from './places.ts'

/** Fetches, follows no redirect, and gives up after a while. The whole body has been read when it resolves. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>

export interface FetchInit {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** What the client of one server works with. */
export interface OAuthIo {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly log: Log
}

/** Why an authorization server gave nothing: it cannot just now, or it will not, with its error code. */
export type Refusal =
  { readonly kind: 'unavailable'; readonly why: string } | { readonly kind: 'refused'; readonly code: string }

/** The options of every request that is made for the sake of a server. */
export interface AskOptions {
  [customFetch]: (url: string, init: Sent) => Promise<Response>
  [allowInsecureRequests]: true
}

interface Sent {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string | { toString(): string } | undefined
}

/** Throws `AUTH_REQUIRED` for a URL that may not be asked. */
export function askingFor(server: string, fetch: Fetch): AskOptions {
  return {
    [customFetch]: async (url, { method, headers, body }) => {
      if (!mayAsk(url, server)) throw forbidden(url)
      return fetch(url, { method, headers, body: body?.toString() })
    },
    // Which URLs may be asked in plain text is decided above.
    [allowInsecureRequests]: true,
  }
}

/** A GET whose body must be a JSON object; undefined where there is none. */
export async function getJson(
  url: string,
  { server, fetch }: { readonly server: string; readonly fetch: Fetch },
): Promise<Record<string, unknown> | undefined> {
  if (!mayAsk(url, server)) throw forbidden(url)
  const response = await fetch(url, { method: 'GET', headers: { accept: 'application/json' } })
  if (response.status !== 200) return undefined
  try {
    const value: unknown = JSON.parse(await response.text())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * What a failed request means. An error code of the protocol is an answer; anything else, a status of 500 as well as a time-out, says
 * nothing about what was asked.
 */
export async function refusalOf(error: unknown): Promise<Refusal> {
  if (error instanceof McpxError) throw error
  if (error instanceof ResponseBodyError) {
    const code = codeOf(error.error)
    return error.status >= 500 || code === undefined || BUSY.has(code)
      ? { kind: 'unavailable', why: `it answered HTTP ${error.status}` }
      : { kind: 'refused', code }
  }
  if (error instanceof AuthorizationResponseError) {
    const code = codeOf(error.error)
    return code === undefined || BUSY.has(code)
      ? { kind: 'unavailable', why: 'it answered with an error' }
      : { kind: 'refused', code }
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    // A token endpoint that wants Basic credentials says so beside the error (RFC 6749, section 5.2).
    const body: unknown = await error.response
      .text()
      .then(JSON.parse)
      .catch(() => undefined)
    const code = codeOf(isObject(body) ? body['error'] : undefined) ?? 'invalid_client'
    return { kind: 'refused', code }
  }
  return { kind: 'unavailable', why: describe(error) }
}

const BUSY: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

function codeOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.-]{1,60}$/.test(value) ? value : undefined
}

/** Messages of the library and of the runtime hold no part of an answer; their causes do. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  const { cause } = error
  const code = isObject(cause) && typeof cause['code'] === 'string' ? cause['code'] : undefined
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return 'it did not answer in time'
  return code !== undefined && !code.startsWith('OAUTH_') ? `it cannot be reached (${code})` : error.message
}

function forbidden(url: string): McpxError {
  const place = URL.canParse(url) ? new URL(url).origin : 'a URL that is none'
  return new McpxError(
    'AUTH_REQUIRED',
    `Its authorization leads to ${place}, which mcpx does not ask: only https is, or, for a server on this machine, this machine.`,
  )
}
