// One HTTP request and its response at dispatcher level: redirects followed, content decoded. undici's higher levels make a
// stream and a promise for each response, which costs more than the rest of a relayed call.
import type { Dispatcher } from 'undici'
import type { McpxError } from '../base/index.ts'
import { createDecoder } from './content-coding.ts'
import type { Decoder } from './content-coding.ts'

export interface ExchangeRequest {
  readonly agent: Dispatcher
  readonly origin: string
  readonly path: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** What comes back. After `abort`, `onEnd` or `onError` nothing does. */
export interface Reply {
  onHead(status: number, headers: ResponseHeaders): void
  onBytes(bytes: Uint8Array): void
  onEnd(): void
  /** `sent` is false where it is proven that nothing of the request was written. */
  onError(message: string, sent: boolean): void
  /** The server said that the endpoint is elsewhere on its origin, for good. */
  onMoved?(path: string): void
  /** The head that follows refuses the credentials; this is what whoever holds them says of it. */
  onRefused?(error: McpxError): void
}

/** A request under way. */
export interface Running {
  /** Sends the request. The reply is never called from within. */
  start(): void
  /** Breaks it off without a word to the reply. */
  abort(): void
}

const MAX_REDIRECTS = 5

export class Exchange implements Dispatcher.DispatchHandler, Running {
  readonly #request: ExchangeRequest
  #reply: Reply | undefined
  #controller: Dispatcher.DispatchController | undefined
  #decoder: Decoder | undefined
  #path: string
  #redirects = 0
  #redirected = false
  #sent = false
  #starting = false

  constructor(request: ExchangeRequest, reply: Reply) {
    this.#request = request
    this.#reply = reply
    this.#path = request.path
  }

  start(): void {
    const { agent, origin, method, headers, body } = this.#request
    this.#starting = true
    agent.dispatch({ origin, path: this.#path, method, headers, body: body ?? null }, this)
    this.#starting = false
  }

  /** Breaks the connection off, which is how a modern server learns that nobody waits. */
  abort(): void {
    this.#reply = undefined
    this.#decoder?.destroy()
    this.#controller?.abort(new Error('given up'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // It was given up while it waited for a connection.
    if (this.#reply === undefined) controller.abort(new Error('given up'))
    else this.#sent = true
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200 || this.#reply === undefined) return
    this.#redirected = this.#follows(status, headers)
    if (this.#redirected) return
    const coding = headers['content-encoding']
    if (coding !== undefined && !this.#decode(String(coding))) return
    this.#reply.onHead(status, headers)
  }

  onResponseData(_: Dispatcher.DispatchController, bytes: Uint8Array): void {
    if (this.#redirected) return
    if (this.#decoder === undefined) this.#reply?.onBytes(bytes)
    else if (!this.#decoder.write(bytes)) this.#controller?.pause()
  }

  onResponseEnd(): void {
    if (this.#redirected) this.#again()
    else if (this.#decoder === undefined) this.#end()
    else this.#decoder.end()
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#redirected) return this.#again()
    if (this.#starting) return queueMicrotask(() => this.#fail(describe(error)))
    return this.#fail(describe(error))
  }

  #follows(status: number, headers: ResponseHeaders): boolean {
    const permanent = status === 301 || status === 308
    if (!permanent && status !== 302 && status !== 303 && status !== 307) return false
    const location = headers['location']
    const { origin } = this.#request
    if (typeof location !== 'string' || this.#redirects === MAX_REDIRECTS) return false
    const base = new URL(this.#path, origin)
    if (!URL.canParse(location, base.href)) return false
    const url = new URL(location, base)
    // Elsewhere, the headers would hand a stranger what is meant for this server.
    if (url.origin !== origin) return false
    this.#redirects += 1
    this.#path = url.pathname + url.search
    if (permanent) this.#reply?.onMoved?.(this.#path)
    return true
  }

  #again(): void {
    this.#redirected = false
    this.#controller = undefined
    if (this.#reply !== undefined) this.start()
  }

  #decode(coding: string): boolean {
    const decoder = createDecoder(coding, {
      onBytes: (bytes) => this.#reply?.onBytes(bytes),
      onEnd: () => this.#end(),
      onError: (message) => this.#breakOff(`its ${coding} content cannot be decoded: ${message}`),
      onDrain: () => this.#controller?.resume(),
    })
    if (decoder === undefined) this.#breakOff(`its content encoding "${coding}" is not known`)
    else if (decoder !== 'identity') this.#decoder = decoder
    return decoder !== undefined
  }

  #breakOff(message: string): void {
    const reply = this.#reply
    this.abort()
    reply?.onError(message, true)
  }

  #end(): void {
    const reply = this.#reply
    this.#reply = undefined
    reply?.onEnd()
  }

  #fail(message: string): void {
    const reply = this.#reply
    this.#reply = undefined
    this.#decoder?.destroy()
    reply?.onError(message, this.#sent)
  }
}

/** Several addresses that all refuse make an error without a text of its own. */
function describe(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  const cause = first instanceof Error ? first : error
  return cause.message === '' ? cause.name : cause.message
}
