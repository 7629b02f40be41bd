// Answers requests of the legacy era: the handshake, what the edge itself owes a session, and calls in the session's revision.
import { asMcpxError, clip, isObject } from '../base/index.ts'
import type { Cancellation, JsonObject } from '../base/index.ts'
import { markerOf } from '../era/index.ts'
import {
  ERRORS,
  eraOf,
  isLogLevel,
  isRevisionId,
  LOG_LEVELS,
  METHOD,
  methodIn,
  newest,
} from '../spec/index.ts'
import type { LogLevel, RevisionId } from '../spec/index.ts'
import {
  lower,
  lowerCapabilities,
  lowerError,
  lowerImplementation,
  lowerNotification,
} from '../wire/index.ts'
import type { Caller, Id, Question, RpcNotification, RpcRequest, RpcResponse } from '../wire/index.ts'
import type { EndpointOptions } from './contract.ts'
import { InboundCall, runCall } from './inbound-call.ts'
import type { Way } from './questions.ts'

/** What a client asked for with `initialize`. */
export interface Agreed {
  readonly revision: RevisionId
  readonly clientInfo: JsonObject | undefined
  readonly capabilities: JsonObject
}

/** From which level on a session's client wants logs: what `logging/setLevel` changes. */
export interface SessionLogs {
  logLevel: LogLevel
}

/** The level of a client that has set none. */
export const DEFAULT_LEVEL: LogLevel = 'info'

export interface LegacyExchange {
  readonly caller: Caller
  readonly logs: SessionLogs
  /** The session's requests in flight; ids are unique among them. */
  readonly inFlight: Map<Id, InboundCall>
  readonly send: (notification: RpcNotification) => void
  /** How the client is asked, where it can be. */
  readonly way: Way | undefined
  /** Lets the client go until it comes back for its answer. */
  readonly pause?: () => void
}

/** Reads what a client wants to agree on. A version that mcpx does not speak is answered with the newest legacy one. */
export function agree(params: JsonObject | undefined): Agreed {
  const asked = params?.['protocolVersion']
  const known = typeof asked === 'string' && isRevisionId(asked) && eraOf(asked) === 'legacy'
  return {
    revision: known ? asked : newest('legacy'),
    clientInfo: isObject(params?.['clientInfo']) ? params['clientInfo'] : undefined,
    capabilities: isObject(params?.['capabilities']) ? params['capabilities'] : {},
  }
}

/** The result of `initialize`, made of what the handler answers to discover. Never rejects. */
export async function answerInitialize(
  request: RpcRequest,
  caller: Caller,
  options: EndpointOptions,
): Promise<RpcResponse> {
  const discover: RpcRequest = { jsonrpc: '2.0', id: request.id, method: METHOD.discover }
  const answer = await runCall(
    new InboundCall(discover, caller, { clock: options.clock, logs: NO_LOGS, send: () => {} }),
    options,
  )
  if ('error' in answer)
    return { jsonrpc: '2.0', id: request.id, error: lowerError(answer.error, caller.revision) }
  const { capabilities, instructions } = answer.result
  const result: JsonObject = {
    protocolVersion: caller.revision,
    capabilities: lowerCapabilities(isObject(capabilities) ? capabilities : {}, caller.revision),
    serverInfo: lowerImplementation(options.serverInfo, caller.revision),
    ...(instructions === undefined ? {} : { instructions }),
  }
  return { jsonrpc: '2.0', id: request.id, result }
}

/** Begins what a client is told outside of calls; the returned function ends it. */
export function tune(
  caller: Caller,
  send: (notification: RpcNotification) => void,
  { handler }: EndpointOptions,
): (() => void) | undefined {
  return handler.tune?.(caller, (method, params) => {
    const spelled = lowerNotification(method, params, caller.revision)
    send(spelled === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params: spelled })
  })
}

/** Answers any other request of a session, or of none. Never rejects; undefined for a call that its client cancelled. */
export async function answerLegacy(
  request: RpcRequest,
  exchange: LegacyExchange,
  options: EndpointOptions,
): Promise<RpcResponse | undefined> {
  const { caller, inFlight } = exchange
  const { id, method } = request
  if (method === METHOD.ping) return { jsonrpc: '2.0', id, result: {} }
  if (method === METHOD.setLevel) return setLevel(request, exchange.logs)
  const facts = methodIn(caller.revision, method)
  if (facts?.kind !== 'request' && !(options.open && facts === undefined)) {
    return {
      jsonrpc: '2.0',
      id,
      error: { code: ERRORS.methodNotFound, message: `Method not found: ${clip(method)}` },
    }
  }
  if (inFlight.has(id)) {
    const message = `Invalid request: a request with id ${JSON.stringify(id)} is in flight already`
    return { jsonrpc: '2.0', id, error: { code: ERRORS.invalidRequest, message } }
  }
  const { logs, send, way, pause } = exchange
  const call = new InboundCall(request, caller, { clock: options.clock, logs, send, way, pause })
  inFlight.set(id, call)
  try {
    const answer = await runCall(call, options)
    if (call.cancellation.reason !== undefined) return undefined
    if ('error' in answer) {
      return { jsonrpc: '2.0', id, error: lowerError(answer.error, caller.revision, { method }) }
    }
    return { jsonrpc: '2.0', id, result: lower(method, answer.result, caller.revision) }
  } finally {
    inFlight.delete(id)
  }
}

/** Takes a notification of a session's client: a cancellation for its call, anything else for the handler. */
export function takeNotification(
  notification: RpcNotification,
  exchange: Omit<LegacyExchange, 'send' | 'logs'>,
  { handler, log }: EndpointOptions,
): void {
  const { method, params } = notification
  if (method === METHOD.cancelled) return cancel(notification, exchange.inFlight)
  // The handshake is over with its answer, and on a pipe a modern client's words are not the session's.
  if (method === METHOD.initialized || markerOf(notification) !== undefined) return
  const { caller, way } = exchange
  const ask = way && ((question: Question, cancellation: Cancellation) => way(question, [cancellation]))
  try {
    handler.hear?.({ method, params, caller, ask })
  } catch (error) {
    log.error('a notification failed inside mcpx', { method: clip(method), error: asMcpxError(error).stack })
  }
}

/** Cancels the call that a notification names. */
export function cancel(notification: RpcNotification, inFlight: ReadonlyMap<Id, InboundCall>): void {
  const { requestId, reason } = notification.params ?? {}
  if (typeof requestId !== 'string' && typeof requestId !== 'number') return
  inFlight
    .get(requestId)
    ?.cancellation.cancel(typeof reason === 'string' ? clip(reason, 200) : 'cancelled by the client')
}

const NO_LOGS = { logLevel: undefined }

function setLevel(request: RpcRequest, logs: SessionLogs): RpcResponse {
  const level = request.params?.['level']
  if (isLogLevel(level)) {
    logs.logLevel = level
    return { jsonrpc: '2.0', id: request.id, result: {} }
  }
  const message = `params.level must be one of ${LOG_LEVELS.join(', ')}`
  return { jsonrpc: '2.0', id: request.id, error: { code: ERRORS.invalidParams, message } }
}
