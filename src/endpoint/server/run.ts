// Runs one modern request whose framing is in order. Nothing of it outlives the answer.
import { isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { markerOf } from '../../era/index.ts'
import {
  ERRORS,
  isRevisionId,
  LOG_LEVELS,
  logReaches,
  META,
  METHOD,
  methodIn,
  newest,
  revisionsOf,
} from '../../spec/index.ts'
import type { RevisionId } from '../../spec/index.ts'
import { lower, progressTokenOf, raise, raiseError } from '../../wire/index.ts'
import type { Answer, RpcError, RpcNotification, RpcRequest } from '../../wire/index.ts'
import type { Inbound } from './inbound.ts'
import type { LogParams, MethodContext, ModernEraOptions } from './options.ts'
import type { Settings } from './settings.ts'

export interface Run {
  readonly message: RpcRequest
  readonly inbound: Inbound
  readonly request: unknown
  readonly signal: AbortSignal
  readonly send: (notification: RpcNotification) => void
}

export interface RunOutcome {
  readonly status: number
  readonly answer: Answer
  /** What a method threw that is no JSON-RPC error. */
  readonly thrown?: unknown
}

/** Checks the headers that only the listed tools explain, and has the method answer. Never rejects. */
export async function run(request: Run, settings: Settings): Promise<RunOutcome> {
  const refusal = await checkToolHeaders(request, settings)
  if (refusal !== undefined) return refusal
  const { message } = request
  const { options } = settings
  try {
    const result: unknown =
      message.method === METHOD.discover
        ? discover(options)
        : await options.methods[message.method]?.(message.params ?? {}, contextOf(request))
    if (!isObject(result)) throw new TypeError(`${message.method} answered with something that is no object`)
    return { status: 200, answer: { result: enveloped(message, result, options) } }
  } catch (error) {
    return failed(message, error)
  }
}

/** The part of `run` that comes before the method: undefined where it may be run. Never rejects. */
export async function checkToolHeaders(request: Run, settings: Settings): Promise<RunOutcome | undefined> {
  const { message, inbound } = request
  try {
    const context = contextOf({ ...request, send: () => {} })
    const fault = await settings.toolHeaders.faultOf(message, inbound.headers, context)
    if (fault === undefined) return undefined
    const error = { code: ERRORS.headerMismatch, message: `Header mismatch: ${fault}` }
    return { status: 400, answer: { error } }
  } catch (error) {
    return failed(message, error)
  }
}

function discover(options: ModernEraOptions): JsonObject {
  return {
    supportedVersions: [...revisionsOf('modern')],
    capabilities: options.capabilities ?? {},
    ...(options.instructions !== undefined && { instructions: options.instructions }),
  }
}

/** What the revision demands of each result, where the author's says nothing itself. */
function enveloped(message: RpcRequest, result: JsonObject, options: ModernEraOptions): JsonObject {
  const { method } = message
  const revision = revisionOf(message)
  const { resultType = 'complete' } = result
  const cacheable = resultType === 'complete' && methodIn(revision, method)?.cacheable === true
  const hinted = cacheable ? { ...defined(options.hints?.[method]), ...result } : result
  const spelled = lower(method, raise(method, hinted, newest('legacy')), revision)
  const meta = spelled['_meta']
  return {
    ...spelled,
    _meta: { ...(isObject(meta) ? meta : undefined), [META.serverInfo]: options.serverInfo },
  }
}

function contextOf({ message, inbound, request, signal, send }: Run): MethodContext {
  const meta = message.params?.['_meta']
  const known = isObject(meta) ? meta : {}
  const info = known[META.clientInfo]
  const capabilities = known[META.clientCapabilities]
  const logLevel = LOG_LEVELS.find((level) => level === known[META.logLevel])
  const progressToken = progressTokenOf(message.params)
  return {
    clientInfo: isObject(info) ? info : undefined,
    clientCapabilities: isObject(capabilities) ? capabilities : {},
    protocolVersion: revisionOf(message),
    logLevel,
    signal,
    headers: inbound.headers.joined,
    request,
    progress(params: JsonObject) {
      if (progressToken !== undefined)
        send({ jsonrpc: '2.0', method: METHOD.progress, params: { ...params, progressToken } })
    },
    log(params: LogParams) {
      if (logReaches(params.level, logLevel))
        send({ jsonrpc: '2.0', method: METHOD.message, params: { ...params } })
    },
  }
}

/** A method's own error is a 200; two are framing that only the method could judge. */
function failed({ method, params }: RpcRequest, thrown: unknown): RunOutcome {
  if (!isRpcError(thrown)) {
    const error = { code: ERRORS.internal, message: 'Internal error' }
    return { status: 200, answer: { error }, thrown }
  }
  const { code, message, data } = thrown
  const own = data === undefined ? { code, message } : { code, message, data }
  const uri = params?.['uri']
  const error = raiseError(own, newest('legacy'), {
    method,
    uri: typeof uri === 'string' ? uri : undefined,
  })
  if (error.code === ERRORS.methodNotFound) return { status: 404, answer: { error } }
  return { status: error.code === ERRORS.missingClientCapability ? 400 : 200, answer: { error } }
}

function isRpcError(thrown: unknown): thrown is RpcError {
  return isObject(thrown) && Number.isInteger(thrown['code']) && typeof thrown['message'] === 'string'
}

function revisionOf(message: RpcRequest): RevisionId {
  const marker = markerOf(message)
  return marker !== undefined && isRevisionId(marker) ? marker : newest('modern')
}

/** Without the members that are undefined: they would not let a default through. */
function defined(object: object | undefined): JsonObject {
  return Object.fromEntries(Object.entries(object ?? {}).filter(([, value]) => value !== undefined))
}
