// Where an HTTP server is, and what every request to it carries.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isLoopback, McpxError } from '../base/index.ts'
import type { Authorizer, HttpTarget } from '../wire/index.ts'
import type { Agents } from './agents.ts'
import { ACCEPT_ENCODING } from './content-coding.ts'
import { AuthorizedExchange } from './authorized.ts'
import { Exchange } from './exchange.ts'
import type { Reply, Running } from './exchange.ts'

export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface HttpEndpoint {
  readonly url: URL
  /** The target's headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Sends a request there, or to the path that the server has moved to. */
  exchange(outgoing: Outgoing, reply: Reply): Running
  /** The same server at another path. */
  at(url: URL): HttpEndpoint
  moved(path: string): void
}

/** Headers that belong to the connection or the body, which are not the configuration's. */
const NOT_CONFIGURABLE = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Throws `CONFIG_INVALID` for a URL or a header that no request can have. */
export function createEndpoint(target: HttpTarget, name: string, agents: Agents): HttpEndpoint {
  const url = URL.canParse(target.url) ? new URL(target.url) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new McpxError('CONFIG_INVALID', `Server "${name}": "url" is not an http or https URL. Correct it.`)
  }
  const headers = { ...ownHeaders(url), ...configured(target.headers, name) }
  return endpointAt(url, headers, { agents, authorizer: target.authorizer })
}

interface Means {
  readonly agents: Agents
  readonly authorizer: Authorizer | undefined
}

function endpointAt(url: URL, headers: Readonly<Record<string, string>>, means: Means): HttpEndpoint {
  const { agents, authorizer } = means
  const agent = agents.agentFor(url)
  const { origin } = url
  let path = url.pathname + url.search
  return {
    url,
    headers,
    exchange: (outgoing, reply) => {
      if (authorizer === undefined) return new Exchange({ agent, origin, path, ...outgoing }, reply)
      const open = (authorization: string | undefined, inner: Reply): Exchange => {
        const carried =
          authorization === undefined ? outgoing.headers : { ...outgoing.headers, authorization }
        return new Exchange({ agent, origin, path, ...outgoing, headers: carried }, inner)
      }
      return new AuthorizedExchange({ authorizer, open }, reply)
    },
    at: (other) => endpointAt(other, headers, means),
    moved: (elsewhere) => {
      path = elsewhere
    },
  }
}

/** The headers with others over them, whatever the case of their names. Undefined where a value cannot be sent. */
export function withHeaders(
  headers: Readonly<Record<string, string>>,
  over: Readonly<Record<string, string>> | undefined,
): Record<string, string> | undefined {
  const all = { ...headers }
  for (const name in over) {
    const value = over[name]
    if (value === undefined) continue
    if (UNSENDABLE.test(value)) return undefined
    all[name.toLowerCase()] = value
  }
  return all
}

const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/

function ownHeaders(url: URL): Record<string, string> {
  // Between two processes of one machine, compressing costs more than it saves.
  const encoding = isLoopback(url.hostname) ? 'identity' : ACCEPT_ENCODING
  const headers: Record<string, string> = { 'user-agent': 'mcpx', 'accept-encoding': encoding }
  if (url.username !== '' || url.password !== '') {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`
  }
  return headers
}

function configured(headers: Readonly<Record<string, string>>, name: string): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [header, value] of Object.entries(headers)) {
    try {
      validateHeaderName(header)
      validateHeaderValue(header, value)
    } catch (cause) {
      // The value may be a secret and is not repeated.
      const message = `Server "${name}": the header "${header}" cannot be sent. Correct its name or value.`
      throw new McpxError('CONFIG_INVALID', message, { cause })
    }
    if (!NOT_CONFIGURABLE.has(header.toLowerCase())) result[header.toLowerCase()] = value
  }
  return result
}
