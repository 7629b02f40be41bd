import { asMcpxError, Cancellation, FAILURES, isObject } from '../base/index.ts'
import type { Clock, JsonObject, McpxError } from '../base/index.ts'
import { headerValues } from '../era/index.ts'
import type { InboundHeaders } from '../era/index.ts'
import { logReaches, META, METHOD, revision } from '../spec/index.ts'
import type { LogLevel } from '../spec/index.ts'
import { lowerNotification, progressTokenOf } from '../wire/index.ts'
import type { Answer, Ask, Call, Caller, Id, RpcError, RpcNotification, RpcRequest } from '../wire/index.ts'
import type { EndpointOptions } from './contract.ts'
import { ProgressGate } from './progress-gate.ts'
import type { Way } from './questions.ts'

/** A request from a client as a Call; what is sent on the way goes to `send`, spelled for the caller. */
export class InboundCall implements Call {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly caller: Caller
  readonly cancellation = new Cancellation()
  readonly headerValues: Call['headerValues']
  readonly #id: Id
  readonly #token: Id | undefined
  readonly #send: (notification: RpcNotification) => void
  readonly #way: Way | undefined
  readonly #pause: (() => void) | undefined
  readonly #clock: Clock
  readonly #logs: LogsWanted
  #gate: ProgressGate | undefined
  #over = false
  #subscribed = false
  #tornDown = false
  /** Cancelled once the call has its answer, for what its handler still asks. */
  readonly #answered: Cancellation | undefined

  constructor(request: RpcRequest, caller: Caller, exchange: CallExchange) {
    const { headers } = exchange
    this.method = request.method
    this.params = request.params
    this.caller = caller
    this.headerValues = headers && ((name) => headerValues(headers, name))
    this.#id = request.id
    this.#token = progressTokenOf(request.params)
    this.#send = exchange.send
    this.#way = exchange.way
    this.#pause = exchange.pause
    this.#clock = exchange.clock
    this.#logs = exchange.logs
    this.#answered = this.#way && new Cancellation()
  }

  get asked(): Call['asked'] {
    return revision(this.caller.revision).asks
  }

  get wantsProgress(): boolean {
    return this.#token !== undefined
  }

  get logLevel(): LogLevel | undefined {
    return this.#logs.logLevel
  }

  get ask(): Ask | undefined {
    const way = this.#way
    const answered = this.#answered
    if (way === undefined || answered === undefined) return undefined
    return (question, cancellation) => way(question, [cancellation, this.cancellation, answered])
  }

  /** The call has its answer, or none is wanted: what was held back goes ahead of it, and what is still asked is given up. */
  end(): void {
    this.#gate?.flush()
    this.#over = true
    this.#answered?.cancel('the call that asked has ended')
  }

  interrupted(): void {
    this.#pause?.()
  }

  /** False once the caller gave the call up. */
  get wantsAnswer(): boolean {
    return this.#tornDown || this.cancellation.reason === undefined
  }

  /** mcpx gives the call up by itself. A subscription is told so, as a server must tell it; its result follows. */
  tearDown(reason: string): void {
    this.#tornDown = this.wantsAnswer
    if (this.#subscribed) this.#tell(METHOD.cancelled, this.marked({ requestId: this.#id, reason }))
    this.cancellation.cancel(reason)
  }

  notify(method: string, params: JsonObject): void {
    if (this.#over || (method === METHOD.message && !logReaches(params['level'], this.logLevel))) return
    // Nothing that carries a subscription's id may come before its acknowledgement.
    if (method === METHOD.acknowledged) this.#subscribed = true
    if (method !== METHOD.progress) return this.#tell(method, this.marked(params))
    const token = this.#token
    if (token === undefined) return
    this.#gate ??= new ProgressGate(this.#clock, (reached) =>
      this.#tell(method, { ...reached, [META.progressToken]: token }),
    )
    this.#gate.offer(params)
  }

  #tell(method: string, params: JsonObject): void {
    if (this.cancellation.reason !== undefined) return
    const spelled = lowerNotification(method, params, this.caller.revision)
    this.#send(
      spelled === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params: spelled },
    )
  }

  /** What belongs to a subscription carries its id: that of the request that opened it. */
  marked(value: JsonObject): JsonObject {
    if (this.method !== METHOD.listen) return value
    const meta = value['_meta']
    return { ...value, _meta: { ...(isObject(meta) ? meta : undefined), [META.subscriptionId]: this.#id } }
  }
}

/** From which level on a caller wants logs; that of a session may change while a call runs. */
export interface LogsWanted {
  readonly logLevel: LogLevel | undefined
}

/** How a call's caller is reached while it runs. */
export interface CallExchange {
  readonly clock: Clock
  readonly logs: LogsWanted
  /** What the request came with over modern HTTP. */
  readonly headers?: InboundHeaders | undefined
  readonly send: (notification: RpcNotification) => void
  /** How the caller is asked, where it can be. */
  readonly way?: Way | undefined
  /** Lets the caller go until it comes back for its answer. */
  readonly pause?: (() => void) | undefined
}

/** Has the call answered and ends it; a failure of mcpx's own is an answer too. Never rejects. */
export async function runCall(call: InboundCall, options: EndpointOptions): Promise<Answer> {
  try {
    return await options.handler.handle(call)
  } catch (error) {
    const failure = asMcpxError(error)
    if (failure.code === 'INTERNAL')
      options.log.error('a call failed inside mcpx', { method: call.method, error: failure.stack })
    return { error: rpcErrorOf(failure) }
  } finally {
    call.end()
  }
}

/** A failure of mcpx's own as the caller's JSON-RPC error, in the newest shape. */
function rpcErrorOf(error: McpxError): RpcError {
  const { uri } = error.data
  const data = uri === undefined ? { code: error.code } : { code: error.code, uri }
  return { code: FAILURES[error.code].rpc, message: error.message, data }
}
