// One POST and its answer: JSON or an event stream, which a legacy server may break off and go on with on another request.
import { clip, isObject } from '../base/index.ts'
import type { Clock, McpxError, Timer } from '../base/index.ts'
import { shapeOf } from '../wire/index.ts'
import type { ChannelListener, Id, RpcMessage, RpcResponse, SendFailure } from '../wire/index.ts'
import type { Reply, ResponseHeaders, Running } from './exchange.ts'
import type { Outgoing } from './http-endpoint.ts'
import type { Noise } from './noise.ts'
import { Reconnect } from './reconnect.ts'
import { createSseReader } from './sse-reader.ts'
import type { SseEvent, SseReader } from './sse-reader.ts'

/** What a call needs of the channel that it belongs to. */
export interface CallHost {
  readonly listener: ChannelListener
  readonly clock: Clock
  readonly noise: Noise
  readonly maxMessage: number
  exchange(outgoing: Outgoing, reply: Reply): Running
  /** The headers of a GET that goes on with the stream of a POST. */
  streamHeaders(
    over: Readonly<Record<string, string>> | undefined,
    lastEventId: string,
  ): Record<string, string>
  /** The server handed out a session id with a result. */
  adopt(sessionId: string): void
  /** The answer is there, its stream not yet at its end. */
  answered(call: HttpCall): void
  over(call: HttpCall): void
  moved(path: string): void
}

export interface CallOptions {
  readonly host: CallHost
  /** Undefined for what is no request. */
  readonly id: Id | undefined
  readonly over: Readonly<Record<string, string>> | undefined
}

/** The body of a refusal is read this far for the JSON-RPC response in it; what is shown of it is shorter. */
const MAX_REFUSAL_BYTES = 1024 * 1024
const BODY_CLIP = 4096
/** Reconnects in a row that brought nothing. */
const MAX_RESUMES = 8

export class HttpCall implements Reply {
  readonly id: Id | undefined
  readonly #host: CallHost
  readonly #over: Readonly<Record<string, string>> | undefined
  #exchange: Running | undefined
  #refusal: McpxError | undefined
  #status = 0
  #headers: ResponseHeaders = {}
  #chunks: Uint8Array[] = []
  #size = 0
  #reader: SseReader | undefined
  #answered = false
  #done = false
  /** Adopted only with a result: a session that a refused request opened is not ours to use. */
  #sessionId: string | undefined
  #lastEventId: string | undefined
  #reconnect: Reconnect | undefined
  #timer: Timer | undefined

  constructor({ host, id, over }: CallOptions) {
    this.#host = host
    this.id = id
    this.#over = over
  }

  start(outgoing: Outgoing): void {
    this.#exchange = this.#host.exchange(outgoing, this)
    this.#exchange.start()
  }

  /** Ends the call without a word to the listener. */
  stop(): void {
    this.#done = true
    this.#timer?.cancel()
    this.#exchange?.abort()
  }

  onMoved(path: string): void {
    this.#host.moved(path)
  }

  onRefused(error: McpxError): void {
    this.#refusal = error
  }

  onHead(status: number, headers: ResponseHeaders): void {
    const isStream = isOk(status) && contentTypeOf(headers).startsWith('text/event-stream')
    if (this.#reconnect !== undefined && !isStream) {
      this.#exchange?.abort()
      return this.#fail(
        broken(`the stream ended before the answer, and going on with it was refused (HTTP ${status})`),
      )
    }
    this.#status = status
    this.#headers = headers
    const sessionId = headers['mcp-session-id']
    if (isOk(status) && typeof sessionId === 'string') this.#sessionId = sessionId
    if (isStream) this.#reader = this.#createReader()
  }

  onBytes(bytes: Uint8Array): void {
    if (this.#reader !== undefined) return this.#reader.feed(bytes)
    this.#chunks.push(bytes)
    this.#size += bytes.length
    if (isOk(this.#status)) {
      if (this.#size > this.#host.maxMessage) this.#tooLarge()
    } else if (this.#size > MAX_REFUSAL_BYTES) {
      this.#exchange?.abort()
      this.#refused()
    }
  }

  onEnd(): void {
    if (this.#reader !== undefined) return this.#streamEnded(broken('the stream ended before the answer'))
    if (!isOk(this.#status)) return this.#refused()
    const text = this.#text()
    const value = parse(text)
    if (value !== undefined) this.#deliver(value, text)
    if (this.#done) return
    if (this.#answered || this.id === undefined) return this.#finish()
    return this.#fail(this.#notJsonRpc(text))
  }

  onError(message: string, sent: boolean): void {
    const failure: SendFailure = { kind: 'network', message, sent: sent || this.#reconnect !== undefined }
    if (this.#reader === undefined && this.#reconnect === undefined) return this.#fail(failure)
    return this.#streamEnded(failure)
  }

  #createReader(): SseReader {
    return createSseReader({
      onEvent: (event) => this.#onEvent(event),
      onRetry: (ms) => this.#reconnects().askedFor(ms),
      onOversize: () => this.#tooLarge(),
      maxEvent: this.#host.maxMessage,
    })
  }

  #onEvent({ event, id, data }: SseEvent): void {
    if (this.#done) return
    if (id !== undefined) {
      this.#lastEventId = id
      this.#reconnect?.progressed()
    }
    if ((event !== undefined && event !== 'message') || data === '') return
    const value = parse(data)
    if (value === undefined) this.#host.noise.skip(data, 'not JSON')
    else this.#deliver(value, data)
  }

  /** Revision 2025-03-26 has batches. */
  #deliver(value: unknown, text: string): void {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (this.#done) return
      const shape = shapeOf(item)
      if (shape.kind === 'invalid') this.#invalid(item, text, shape)
      else this.#hand(shape.message, shape.kind === 'response')
    }
  }

  #hand(message: RpcMessage, isResponse: boolean): void {
    if (isResponse && this.id !== undefined && !this.#answered && answers(message as RpcResponse, this.id)) {
      this.#answered = true
      if ('result' in message && this.#sessionId !== undefined) this.#host.adopt(this.#sessionId)
      if (this.#reader !== undefined) this.#host.answered(this)
    }
    this.#host.listener.onMessage(message, this.id)
  }

  #invalid(value: unknown, text: string, { reason, id }: { reason: string; id: Id | undefined }): void {
    if (this.id === undefined) return
    this.#host.noise.skip(text, reason)
    if (id !== this.id || this.#answered || (isObject(value) && 'method' in value)) return
    this.#exchange?.abort()
    this.#fail(this.#notJsonRpc(text))
  }

  #refused(): void {
    const text = this.#text()
    const shape = shapeOf(parse(text))
    this.#fail({
      kind: 'status',
      status: this.#status,
      headers: flat(this.#headers),
      body: clip(text, BODY_CLIP),
      response: shape.kind === 'response' ? shape.message : undefined,
      refusal: this.#refusal,
    })
  }

  #notJsonRpc(text: string): SendFailure {
    const contentType = contentTypeOf(this.#headers)
    return { kind: 'not-json-rpc', status: this.#status, contentType, body: clip(text, BODY_CLIP) }
  }

  #tooLarge(): void {
    this.#exchange?.abort()
    this.#fail({ kind: 'too-large', bytes: this.#host.maxMessage })
  }

  /** Only a stream whose events had ids can be gone on with; the specification has that for legacy revisions. */
  #streamEnded(failure: SendFailure): void {
    this.#reader = undefined
    if (this.#done) return
    if (this.#answered || this.id === undefined) return this.#finish()
    const delay = this.#lastEventId === undefined ? undefined : this.#reconnects().next()
    if (delay === undefined) return this.#fail(failure)
    this.#host.listener.onInterrupted?.(this.id)
    this.#timer = this.#host.clock.after(delay, () => this.#resume())
  }

  #resume(): void {
    if (this.#done || this.#lastEventId === undefined) return
    const headers = this.#host.streamHeaders(this.#over, this.#lastEventId)
    if (this.#sessionId !== undefined) headers['mcp-session-id'] ??= this.#sessionId
    this.start({ method: 'GET', headers })
  }

  #reconnects(): Reconnect {
    this.#reconnect ??= new Reconnect(MAX_RESUMES)
    return this.#reconnect
  }

  #fail(failure: SendFailure): void {
    if (this.#done) return
    this.#finish()
    if (!this.#answered) this.#host.listener.onFailed(this.id, failure)
  }

  #finish(): void {
    this.#done = true
    this.#host.over(this)
  }

  #text(): string {
    const [first] = this.#chunks
    const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks)
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
    return text.startsWith('\uFEFF') ? text.slice(1) : text
  }
}

/** A server that could not read a request answers without an id, and here there is only one request. */
function answers(response: RpcResponse, id: Id): boolean {
  return response.id === id || response.id === null || response.id === undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function broken(message: string): SendFailure {
  return { kind: 'network', message, sent: true }
}

function isOk(status: number): boolean {
  return status >= 200 && status < 300
}

export function contentTypeOf(headers: ResponseHeaders): string {
  return String(headers['content-type'] ?? '').toLowerCase()
}

/** Several headers of one name as one, as RFC 9110 allows. */
export function flat(headers: ResponseHeaders): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return result
}
