// The stream on which a legacy Streamable HTTP server sends what belongs to no request.
import type { Clock, Log, Timer } from '../base/index.ts'
import type { Reply, ResponseHeaders, Running } from './exchange.ts'
import { contentTypeOf } from './http-call.ts'
import type { Outgoing } from './http-endpoint.ts'
import { Reconnect } from './reconnect.ts'
import { createSseReader } from './sse-reader.ts'
import type { SseEvent, SseReader } from './sse-reader.ts'

export interface StandaloneOptions {
  readonly server: string
  readonly clock: Clock
  readonly log: Log
  readonly maxMessage: number
  exchange(outgoing: Outgoing, reply: Reply): Running
  /** The headers of the GET. */
  headers(lastEventId: string | undefined): Record<string, string>
  onData(data: string): void
  onOversize(): void
}

/** Reconnects in a row that brought nothing: a server that ends each stream at once is left alone after some minutes. */
const MAX_RECONNECTS = 10
/** A stream that was open this long was worth its connection, whatever came on it. */
const LONG_MS = 30_000

export class StandaloneStream implements Reply {
  readonly #options: StandaloneOptions
  readonly #reconnect = new Reconnect(MAX_RECONNECTS)
  #exchange: Running | undefined
  #reader: SseReader | undefined
  #timer: Timer | undefined
  #lastEventId: string | undefined
  #openedAt = 0
  #over = false

  constructor(options: StandaloneOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#over) return
    const headers = this.#options.headers(this.#lastEventId)
    this.#exchange = this.#options.exchange({ method: 'GET', headers }, this)
    this.#exchange.start()
  }

  stop(): void {
    this.#over = true
    this.#timer?.cancel()
    this.#exchange?.abort()
  }

  onHead(status: number, headers: ResponseHeaders): void {
    const contentType = contentTypeOf(headers)
    if (status !== 200 || !contentType.startsWith('text/event-stream')) {
      this.stop()
      const { server, log } = this.#options
      return log.debug(`server "${server}" has no stream of its own`, { server, status, contentType })
    }
    this.#openedAt = this.#options.clock.now()
    this.#reader = createSseReader({
      onEvent: (event) => this.#onEvent(event),
      onRetry: (ms) => this.#reconnect.askedFor(ms),
      onOversize: () => this.#options.onOversize(),
      maxEvent: this.#options.maxMessage,
    })
  }

  onBytes(bytes: Uint8Array): void {
    this.#reader?.feed(bytes)
  }

  onEnd(): void {
    this.#again('it ended')
  }

  onError(message: string): void {
    this.#again(message)
  }

  #onEvent({ event, id, data }: SseEvent): void {
    if (this.#over) return
    if (id !== undefined) this.#lastEventId = id
    if ((event !== undefined && event !== 'message') || data === '') return
    this.#reconnect.progressed()
    this.#options.onData(data)
  }

  #again(reason: string): void {
    if (this.#over) return
    const { clock, log, server } = this.#options
    if (this.#reader !== undefined && clock.now() - this.#openedAt >= LONG_MS) this.#reconnect.progressed()
    this.#reader = undefined
    const delay = this.#reconnect.next()
    if (delay !== undefined) {
      this.#timer = clock.after(delay, () => this.start())
      return
    }
    this.#over = true
    log.warn(`server "${server}" does not keep its stream open; its notifications between calls are lost`, {
      server,
      reason,
    })
  }
}
