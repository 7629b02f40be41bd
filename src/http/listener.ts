// The daemon's listener: the MCP endpoints on node:http itself, everything else through fastify on the same port.
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clip, FAILURES, isLoopback, McpxError } from '../base/index.ts'
import type { JsonObject, Log } from '../base/index.ts'
import {
  admitCaller,
  HttpEndpoint,
  Quotas,
  refusedPlace,
  SseHost,
  tellRefused,
  unread,
} from '../endpoint/index.ts'
import type {
  EndpointLimits,
  EndpointOptions,
  Outcome,
  Principals,
  QuotaLimits,
  Refused,
  Sealer,
} from '../endpoint/index.ts'
import { ERRORS } from '../spec/index.ts'
import type { CallHandler } from '../wire/index.ts'
import { addMetrics } from './metrics-route.ts'
import { Asks } from './asks.ts'
import { addBodyLimit } from './body-limit.ts'
import { addPrincipals } from './principal.ts'
import type { Doorkeeping } from './principal.ts'
import { clientError, sendProblem } from './problem.ts'
import { RefusalCounts } from './refusal-counts.ts'
import { unknownServer } from './unknown-server.ts'
import { addV1 } from './v1.ts'
import type { V1Options } from './v1.ts'

export interface ListenOptions extends Omit<V1Options, 'asks' | 'door'> {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly serverInfo: JsonObject
  readonly limits: EndpointLimits
  readonly allowedHosts: () => readonly string[]
  readonly allowedOrigins: () => readonly string[]
  readonly log: Log
  readonly sealer: Sealer
  readonly principals: Principals
}

export interface Listener {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /** Stops listening, gives up what is in flight, and closes every connection. */
  close(reason: string): Promise<void>
}

const MCP = '/mcp'

/** Listens. Rejects with `PORT_TAKEN` where somebody else does. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, log, gateway, clock, watch } = options
  const onOutcome = (outcome: Outcome): void => watch.observe(outcome)
  const refusals = new RefusalCounts()
  const door: Doorkeeping = {
    access: {
      allowedHosts: options.allowedHosts,
      allowedOrigins: options.allowedOrigins,
      loopback: isLoopback(host.includes(':') ? `[${host}]` : host),
    },
    principals: options.principals,
    quotas: new Quotas(clock, quotaLimits(options.settings)),
    onRefused: (reason) => refusals.add(reason),
  }
  const endpointFor = (handler: CallHandler, open: boolean, path = ''): HttpEndpoint => {
    const { serverInfo, limits, sealer } = options
    const shared: Omit<EndpointOptions, 'handler' | 'open'> = {
      ...{ serverInfo, limits, clock, log, sealer, onOutcome, ...door },
    }
    return new HttpEndpoint({ ...shared, handler, open, path })
  }
  const merged = endpointFor(gateway.merged, gateway.merged.single !== undefined)
  const single = new Map(
    gateway.members.flatMap(({ name }) => {
      const view = gateway.only(name)
      return view === undefined ? [] : [[name, endpointFor(view, true, name)] as const]
    }),
  )
  const sse = options.settings.get('legacy.sse') ? hostSse(options, door, onOutcome) : undefined
  const app = restApp({ settings: options.settings, refusals }, (request, response) => {
    if (sse?.take(request, response) === true) return true
    const name = serverNameOf(request.url ?? '')
    if (name === undefined) return false
    const endpoint = name === '' ? merged : single.get(name)
    if (endpoint !== undefined) void endpoint.handle(request, response)
    else {
      // Who may not come in is not told which servers there are.
      const admitted = refusedPlace(request, door) ?? admitCaller(request, door)
      const why = typeof admitted === 'string' ? unknownServer(name, gateway.names) : admitted
      const code = refuse(request, response, why)
      const principal = typeof admitted === 'string' ? admitted : admitted.principal
      tellRefused({ request, response }, code, { clock, log, onOutcome, principal })
    }
    return true
  })
  addPrincipals(app, door)
  addBodyLimit(
    app,
    () => options.limits.maxBody(),
    () => refusals.add('body'),
  )
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, error))
  app.setNotFoundHandler((request, reply) => sendProblem(reply, unknownRoute(request)))
  app.get('/health', { config: { anyone: true } }, () => ({ status: 'ok' }))
  const asks = new Asks({ clock, patience: () => options.settings.get('questions.ttl') })
  addV1(app, { ...options, asks, door })
  const endpoints = [merged, ...single.values()]
  const sessions = (): number => endpoints.reduce((sum, endpoint) => sum + endpoint.sessions, 0)
  await addMetrics(app, { watch, gateway, refusals, sessions })
  try {
    const url = await app.listen({ host, port })
    return {
      url: url.replace('[::1]', 'localhost'),
      close: (reason) => {
        sse?.stop()
        asks.stop()
        return close(app, endpoints, reason)
      },
    }
  } catch (error) {
    throw portError(error, host, port)
  }
}

/** All servers over the transport of 2024-11-05. */
function hostSse(
  options: ListenOptions,
  door: Doorkeeping,
  onOutcome: EndpointOptions['onOutcome'],
): SseHost {
  const { gateway, serverInfo, limits, clock, log, sealer } = options
  const open = gateway.merged.single !== undefined
  const shared = { serverInfo, limits, clock, log, sealer, open, onOutcome, ...door }
  return new SseHost({ ...shared, handler: gateway.merged })
}

/** The server that a path under /mcp names: '' for all of them, undefined for another path. */
function serverNameOf(url: string): string | undefined {
  if (!url.startsWith(MCP)) return undefined
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  if (path === MCP || path === `${MCP}/`) return ''
  if (!path.startsWith(`${MCP}/`)) return undefined
  try {
    return decodeURIComponent(path.slice(MCP.length + 1))
  } catch {
    return undefined
  }
}

/** A fastify application behind a handler that may take a request first. */
function restApp(
  { settings, refusals }: { settings: V1Options['settings']; refusals: RefusalCounts },
  first: (request: IncomingMessage, response: ServerResponse) => boolean,
): FastifyInstance {
  const maxHeaderSize = settings.get('http.maxHeader')
  return fastify({
    forceCloseConnections: true,
    // The limit in force is that of the setting, which may change.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    clientErrorHandler: clientError(maxHeaderSize, () => refusals.add('header')),
    serverFactory: (handler): Server =>
      createServer({ keepAliveTimeout: 72_000, maxHeaderSize }, (request, response) => {
        if (!first(request, response)) handler(request, response)
      }),
  })
}

/** Answers where there is no endpoint, and returns the JSON-RPC code. */
function refuse(request: IncomingMessage, response: ServerResponse, why: Refused | McpxError): number {
  const [status, code] =
    why instanceof McpxError
      ? [FAILURES[why.code].http, FAILURES[why.code].rpc]
      : [why.status, ERRORS.invalidRequest]
  const headers = why instanceof McpxError ? {} : why.headers
  const body = JSON.stringify(unread(request, code, why.message))
  response.writeHead(status, { ...headers, 'Content-Type': 'application/json' }).end(body)
  return code
}

function unknownRoute({ method, url }: FastifyRequest): McpxError {
  const path = url.split('?', 1)[0] ?? ''
  return new McpxError(
    'ROUTE_UNKNOWN',
    `There is no ${method} ${clip(path)}. GET /v1/openapi.json has all that there is; MCP is spoken at /mcp.`,
  )
}

function quotaLimits(settings: V1Options['settings']): QuotaLimits {
  return {
    rate: () => settings.get('http.maxRate'),
    streams: () => settings.get('http.maxStreams'),
    sessions: () => settings.get('legacy.maxSessions'),
  }
}

async function close(
  app: FastifyInstance,
  endpoints: readonly HttpEndpoint[],
  reason: string,
): Promise<void> {
  for (const endpoint of endpoints) endpoint.stop(reason)
  await app.close()
}

function portError(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new McpxError(
      'PORT_TAKEN',
      `Port ${port} on ${host} is taken. Another mcpx may be running there; choose a port with --port (0 takes a free one).`,
    )
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
    return new McpxError(
      'PORT_TAKEN',
      `Cannot listen on ${host}:${port} (${code}). Choose another with --port or the setting http.host.`,
    )
  }
  return error
}
