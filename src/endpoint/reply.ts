// How one HTTP request is answered: with one JSON body, or with a stream as soon as anything comes before the answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Timer } from '../base/index.ts'
import { formatComment, formatSse, SSE_HEADERS } from '../wire/index.ts'
import type { RpcMessage } from '../wire/index.ts'
import type { Outcome } from './contract.ts'
import { noteAnswer } from './outcome.ts'

/** Bytes that may wait for a client that does not read when more is sent; a stream over it is broken off. */
const MAX_BUFFERED = 16 * 1024 * 1024

interface EventFields {
  readonly data: string
  readonly id?: string
  readonly retry?: number
}

export class Reply {
  /** Whether the client takes a stream at all. */
  readonly mayStream: boolean
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #headers: Record<string, string> = {}
  #streaming = false
  /** When something was last sent, in ms since the epoch. */
  lastSent: number
  /** The record of the request, where somebody watches. */
  outcome: Outcome | undefined
  /** One record for each request of a batch, in place of the whole's. */
  parts: readonly Outcome[] | undefined

  constructor(request: IncomingMessage, response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
    this.mayStream = accepts(request, 'text/event-stream')
    this.lastSent = clock.now()
  }

  get open(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed
  }

  setHeader(name: string, value: string): void {
    this.#headers[name] = value
  }

  /** Takes a header back, where it has not been sent. */
  dropHeader(name: string): void {
    delete this.#headers[name]
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    Object.assign(this.#headers, headers)
  }

  /** Calls back when the client is gone or the reply is complete. */
  onClose(listener: () => void): void {
    this.#response.once('close', listener)
  }

  /** Makes the reply a stream, where the client takes one, and lets the client know at once. */
  begin(): void {
    this.#stream()
    if (this.#streaming) this.#response.flushHeaders()
  }

  /** Sends an event; the reply is a stream from then on. Dropped where the client takes no stream. */
  event(fields: EventFields): void {
    this.#stream()
    if (this.#streaming) this.#write(formatSse(fields))
  }

  /** Sends a message ahead of the answer. */
  send(message: RpcMessage): void {
    this.event({ data: JSON.stringify(message) })
  }

  /** Shows that the request is alive. */
  keepAlive(): void {
    this.#stream()
    if (this.#streaming) this.#write(formatComment())
  }

  /** Sends the answer and ends the reply. The status counts only where nothing was sent before. */
  end(message: RpcMessage | readonly RpcMessage[], status: number): void {
    if (!this.open) return
    if (this.outcome !== undefined) noteAnswer(this.outcome, message)
    const text = JSON.stringify(message)
    if (this.#streaming) {
      this.#response.end(formatSse({ data: text }))
      return
    }
    this.#headers['Content-Type'] = 'application/json'
    this.#headers['Content-Length'] = String(Buffer.byteLength(text))
    this.#response.writeHead(status, this.#headers)
    this.#response.end(text)
  }

  /** Ends the reply without a body. */
  endEmpty(status: number): void {
    if (!this.open) return
    if (!this.#streaming) this.#response.writeHead(status, { ...this.#headers, 'Content-Length': '0' })
    this.#response.end()
  }

  /** Ends a stream. */
  finish(): void {
    if (this.open) this.#response.end()
  }

  #stream(): void {
    if (this.#streaming || !this.mayStream || !this.open) return
    this.#streaming = true
    this.#response.writeHead(200, { ...this.#headers, ...SSE_HEADERS })
  }

  #write(text: string): void {
    if (!this.open) return
    if (this.#response.writableLength > MAX_BUFFERED) return void this.#response.destroy()
    this.lastSent = this.#clock.now()
    this.#response.write(text)
  }
}

/** Whether the client takes a media type. No Accept header takes everything. */
export function accepts(request: IncomingMessage, type: 'application/json' | 'text/event-stream'): boolean {
  // Media types are compared without regard to case (RFC 9110, 8.3.1).
  const accept = request.headers.accept?.toLowerCase()
  if (accept === undefined) return true
  const major = type.slice(0, type.indexOf('/'))
  return accept.includes(type) || accept.includes('*/*') || accept.includes(`${major}/*`)
}

/** Sends comments on replies that have been silent for long, on one timer for all of them. */
export class KeepAlive {
  readonly #clock: Clock
  readonly #patience: () => number
  readonly #replies = new Set<Reply>()
  #timer: Timer | undefined

  constructor(clock: Clock, patience: () => number) {
    this.#clock = clock
    this.#patience = patience
  }

  add(reply: Reply): void {
    this.#replies.add(reply)
    this.#timer ??= this.#clock.after(this.#tick(), () => this.#check())
  }

  delete(reply: Reply): void {
    this.#replies.delete(reply)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#replies.clear()
  }

  /** A third of the patience, so that no silence lasts much longer than it. */
  #tick(): number {
    return Math.max(10, this.#patience() / 3)
  }

  #check(): void {
    const silentSince = this.#clock.now() - (this.#patience() - this.#tick())
    for (const reply of this.#replies) if (reply.lastSent <= silentSince) reply.keepAlive()
    this.#timer = this.#replies.size > 0 ? this.#clock.after(this.#tick(), () => this.#check()) : undefined
  }
}
