// Answers one modern request. Nothing of it outlives the answer.
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { checkModern, markerOf } from '../era/index.ts'
import type { InboundHeaders } from '../era/index.ts'
import { ERRORS, isLogLevel, isRevisionId, META, newest } from '../spec/index.ts'
import type { LogLevel } from '../spec/index.ts'
import { lower, lowerError } from '../wire/index.ts'
import type { Caller, Id, RpcError, RpcNotification, RpcRequest, RpcResponse } from '../wire/index.ts'
import type { EndpointOptions } from './contract.ts'
import { InboundCall, runCall } from './inbound-call.ts'

export interface Outcome {
  /** The HTTP status, where there is one. */
  readonly status: number
  readonly response: RpcResponse
}

export interface ModernExchange {
  readonly headers: InboundHeaders | undefined
  readonly principal: string
  readonly send: (notification: RpcNotification) => void
  /** Called with the call once it is under way, so that its owner can cancel it. */
  readonly onCall: (call: InboundCall) => void
}

/** Checks, runs and answers a request of the modern era. Never rejects. */
export async function answerModern(
  request: RpcRequest,
  exchange: ModernExchange,
  options: EndpointOptions,
): Promise<Outcome> {
  const refusal = checkModern(request, exchange.headers, options.open)
  if (refusal !== undefined) return failure(request.id, refusal.error, refusal.status)
  const { headers, principal, send } = exchange
  const logs = { logLevel: logLevelOf(request) }
  const call = new InboundCall(request, callerOf(request, principal), {
    ...{ clock: options.clock, headers, logs, send },
  })
  exchange.onCall(call)
  const answer = await runCall(call, options)
  if ('error' in answer) {
    const error = lowerError(answer.error, call.caller.revision, { method: call.method })
    return failure(request.id, error, statusOf(error))
  }
  const result = lower(call.method, answer.result, call.caller.revision)
  return {
    status: 200,
    response: { jsonrpc: '2.0', id: request.id, result: signed(call.marked(result), options.serverInfo) },
  }
}

function callerOf(request: RpcRequest, principal: string): Caller {
  const marker = markerOf(request)
  const meta = request.params?.['_meta']
  const info = isObject(meta) ? meta[META.clientInfo] : undefined
  const capabilities = isObject(meta) ? meta[META.clientCapabilities] : undefined
  return {
    revision: marker !== undefined && isRevisionId(marker) ? marker : newest('modern'),
    clientInfo: isObject(info) ? info : undefined,
    capabilities: isObject(capabilities) ? capabilities : {},
    principal,
    session: undefined,
  }
}

function logLevelOf(request: RpcRequest): LogLevel | undefined {
  const meta = request.params?.['_meta']
  const level = isObject(meta) ? meta[META.logLevel] : undefined
  return isLogLevel(level) ? level : undefined
}

/** The result under mcpx's own name: what the upstream called itself belongs to its hop. */
function signed(result: JsonObject, serverInfo: JsonObject): JsonObject {
  const meta = result['_meta']
  return { ...result, _meta: { ...(isObject(meta) ? meta : undefined), [META.serverInfo]: serverInfo } }
}

/** A handler's own error is a 200; these two are framing that only the handler could judge. */
function statusOf(error: RpcError): number {
  if (error.code === ERRORS.methodNotFound) return 404
  return FRAMING.has(error.code) ? 400 : 200
}

function failure(id: Id, error: RpcError, status: number): Outcome {
  return { status, response: { jsonrpc: '2.0', id, error } }
}

const FRAMING: ReadonlySet<number> = new Set([ERRORS.missingClientCapability, ERRORS.headerMismatch])
