// HTTP+SSE of revision 2024-11-05: one GET stream brings everything, and messages are posted where its first event says.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
import { clip, McpxError } from '../base/index.ts'
import type { FailureCode, Timer } from '../base/index.ts'
import { shapeOf } from '../wire/index.ts'
import type {
  Channel,
  ChannelListener,
  CloseReason,
  HttpTarget,
  Id,
  RpcMessage,
  SendFailure,
} from '../wire/index.ts'
import { heldOpen } from './clock.ts'
import type { Reply, ResponseHeaders, Running } from './exchange.ts'
import { contentTypeOf, flat } from './http-call.ts'
import { createEndpoint, withHeaders } from './http-endpoint.ts'
import type { HttpEndpoint } from './http-endpoint.ts'
import type { HttpOptions } from './http.ts'
import { createNoise } from './noise.ts'
import type { Noise } from './noise.ts'
import { createSseReader } from './sse-reader.ts'
import type { SseEvent, SseReader } from './sse-reader.ts'

const BODY_CLIP = 4096

/**
 * Opens the stream and resolves when the server has named its endpoint. Rejects with an McpxError: `AUTH_REQUIRED`,
 * `HTTP_STATUS`, `NOT_AN_MCP_ENDPOINT`, `UPSTREAM_UNREACHABLE`, `UPSTREAM_PROTOCOL` or `UPSTREAM_START_TIMEOUT`.
 */
export function openHttpSse(
  target: HttpTarget,
  listener: ChannelListener,
  options: HttpOptions,
): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const endpoint = createEndpoint(target, options.name, options.agents)
    const channel = new SseChannel(endpoint, listener, {
      ...options,
      onOpen: () => resolve(channel),
      onRefused: reject,
    })
    channel.open()
  })
}

interface SseOptions extends HttpOptions {
  readonly onOpen: () => void
  readonly onRefused: (error: McpxError) => void
}

class SseChannel implements Channel, Reply {
  readonly transport = 'http+sse'
  readonly #endpoint: HttpEndpoint
  readonly #listener: ChannelListener
  readonly #options: SseOptions
  readonly #noise: Noise
  readonly #reader: SseReader
  readonly #posts = new Set<Running>()
  #stream: Running | undefined
  #refusal: McpxError | undefined
  #timer: Timer | undefined
  /** Where messages are posted, once the server has said it. */
  #inbox: HttpEndpoint | undefined
  #over = false
  #closing: Promise<void> | undefined

  constructor(endpoint: HttpEndpoint, listener: ChannelListener, options: SseOptions) {
    this.#endpoint = endpoint
    this.#listener = listener
    this.#options = options
    this.#noise = createNoise(options.log, options.name)
    const { maxMessage } = options.limits
    this.#reader = createSseReader({
      onEvent: (event) => this.#onEvent(event),
      onOversize: () => this.#listener.onFailed(undefined, { kind: 'too-large', bytes: maxMessage }),
      maxEvent: maxMessage,
    })
  }

  open(): void {
    const { clock, patience } = this.#options
    this.#timer = clock.after(patience.endpoint, () => {
      this.#refuse('UPSTREAM_START_TIMEOUT', `named no endpoint within ${patience.endpoint / 1000} s`)
    })
    const headers = { ...this.#endpoint.headers, accept: 'text/event-stream' }
    this.#stream = this.#endpoint.exchange({ method: 'GET', headers }, this)
    this.#stream.start()
  }

  send(message: RpcMessage, over?: Readonly<Record<string, string>>): void {
    if (this.#over || this.#closing !== undefined || this.#inbox === undefined) return
    const id = 'method' in message && 'id' in message ? message.id : undefined
    const headers = withHeaders({ ...this.#endpoint.headers, 'content-type': 'application/json' }, over)
    if (headers === undefined) {
      const text = 'a header value has characters that HTTP cannot carry'
      return queueMicrotask(() => this.#fail(id, { kind: 'network', message: text, sent: false }))
    }
    const reply = new PostReply((failure) => {
      this.#posts.delete(post)
      if (failure !== undefined) this.#fail(id, failure)
    })
    const post = this.#inbox.exchange({ method: 'POST', headers, body: JSON.stringify(message) }, reply)
    this.#posts.add(post)
    post.start()
  }

  /** The answer comes on the shared stream, where a late one is the listener's to ignore. */
  abandon(): void {}

  close(): Promise<void> {
    this.#closing ??= heldOpen(async () => this.#finish({ kind: 'closed' }))
    return this.#closing
  }

  onRefused(error: McpxError): void {
    this.#refusal = error
  }

  onHead(status: number, headers: ResponseHeaders): void {
    const contentType = contentTypeOf(headers)
    const data = { status, contentType }
    if (this.#refusal !== undefined) return this.#refuseWith(this.#refusal)
    if (status === 401 || status === 403 || status === 407)
      return this.#refuse('AUTH_REQUIRED', `refused the credentials (HTTP ${status})`, data)
    if (status < 200 || status > 299) return this.#refuse('HTTP_STATUS', `answered HTTP ${status}`, data)
    if (contentType.startsWith('text/event-stream')) return
    this.#refuse('NOT_AN_MCP_ENDPOINT', `answered with ${clip(contentType) || 'no content'}`, data)
  }

  onBytes(bytes: Uint8Array): void {
    this.#reader.feed(bytes)
  }

  onEnd(): void {
    this.#ended('the server ended the stream')
  }

  onError(message: string): void {
    this.#ended(message)
  }

  #onEvent({ event, data }: SseEvent): void {
    if (this.#over) return
    if (event === 'endpoint') return this.#named(data)
    if ((event !== undefined && event !== 'message') || data === '') return
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      return this.#noise.skip(data, 'not JSON')
    }
    const shape = shapeOf(value)
    if (shape.kind === 'invalid') this.#noise.skip(data, shape.reason)
    else this.#listener.onMessage(shape.message, undefined)
  }

  #named(reference: string): void {
    if (this.#inbox !== undefined) return
    const base = this.#endpoint.url
    const url = URL.canParse(reference, base.href) ? new URL(reference, base) : undefined
    if (url?.origin !== base.origin) {
      // Elsewhere, the messages and their credentials would go to a stranger.
      return this.#refuse('UPSTREAM_PROTOCOL', `named an endpoint of another origin: ${clip(reference)}`)
    }
    this.#timer?.cancel()
    this.#inbox = this.#endpoint.at(url)
    this.#options.onOpen()
  }

  #ended(message: string): void {
    if (this.#over) return
    if (this.#inbox === undefined) this.#refuse('UPSTREAM_UNREACHABLE', `named no endpoint: ${message}`)
    else this.#finish({ kind: 'disconnected', message })
  }

  #refuse(code: FailureCode, what: string, data: Record<string, unknown> = {}): void {
    const message = `Server "${this.#options.name}" ${what} when asked for an HTTP+SSE stream.`
    this.#refuseWith(new McpxError(code, message, { data }))
  }

  #refuseWith(error: McpxError): void {
    if (this.#over) return
    this.#stop()
    this.#options.onRefused(error)
  }

  #fail(id: Id | undefined, failure: SendFailure): void {
    if (!this.#over) this.#listener.onFailed(id, failure)
  }

  #finish(reason: CloseReason): void {
    if (this.#over) return
    this.#stop()
    this.#noise.end()
    this.#listener.onClosed(reason)
  }

  #stop(): void {
    this.#over = true
    this.#timer?.cancel()
    this.#stream?.abort()
    for (const post of this.#posts) post.abort()
    this.#posts.clear()
  }
}

/** A POST is only accepted or refused: its answer comes on the stream. */
class PostReply implements Reply {
  readonly #done: (failure: SendFailure | undefined) => void
  readonly #chunks: Uint8Array[] = []
  #size = 0
  #status = 0
  #headers: ResponseHeaders = {}
  #refusal: McpxError | undefined

  constructor(done: (failure: SendFailure | undefined) => void) {
    this.#done = done
  }

  onRefused(error: McpxError): void {
    this.#refusal = error
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onBytes(bytes: Uint8Array): void {
    this.#size += bytes.length
    if (this.#size <= BODY_CLIP) this.#chunks.push(bytes)
  }

  onEnd(): void {
    const status = this.#status
    if (status >= 200 && status < 300) return this.#done(undefined)
    const body = Buffer.concat(this.#chunks).toString('utf8')
    const headers = flat(this.#headers)
    return this.#done({ kind: 'status', status, headers, body, response: undefined, refusal: this.#refusal })
  }

  onError(message: string, sent: boolean): void {
    this.#done({ kind: 'network', message, sent })
  }
}
