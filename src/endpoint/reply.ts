// How one POST is answered: with one JSON body, or with a stream as soon as anything comes before the answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Timer } from '../base/index.ts'
import { formatComment, formatSse } from '../wire/index.ts'
import type { RpcMessage } from '../wire/index.ts'

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  // Proxies that buffer would hold events back.
  'X-Accel-Buffering': 'no',
} as const

export class Reply {
  readonly #response: ServerResponse
  readonly #headers: Record<string, string> = {}
  readonly #mayStream: boolean
  #streaming = false
  /** When something was last sent, in ms since the epoch. */
  lastSent: number

  constructor(request: IncomingMessage, response: ServerResponse, now: number) {
    this.#response = response
    this.#mayStream = accepts(request, 'text/event-stream')
    this.lastSent = now
  }

  get open(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed
  }

  setHeader(name: string, value: string): void {
    this.#headers[name] = value
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    Object.assign(this.#headers, headers)
  }

  /** Sends a message ahead of the answer; the reply is a stream from then on. Dropped where the client takes no stream. */
  send(message: RpcMessage, now: number): void {
    if (!this.#mayStream || !this.open) return
    this.#stream()
    this.lastSent = now
    this.#response.write(formatSse({ data: JSON.stringify(message) }))
  }

  /** Shows that the request is alive. */
  keepAlive(now: number): void {
    if (!this.#mayStream || !this.open) return
    this.#stream()
    this.lastSent = now
    this.#response.write(formatComment())
  }

  /** Sends the answer and ends the reply. The status counts only where nothing was sent before. */
  end(message: RpcMessage | readonly RpcMessage[], status: number): void {
    if (!this.open) return
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

  #stream(): void {
    if (this.#streaming) return
    this.#streaming = true
    this.#response.writeHead(200, { ...this.#headers, ...STREAM_HEADERS })
  }
}

/** Whether the client takes a media type. No Accept header takes everything. */
export function accepts(request: IncomingMessage, type: 'application/json' | 'text/event-stream'): boolean {
  const { accept } = request.headers
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
    const now = this.#clock.now()
    const silentSince = now - (this.#patience() - this.#tick())
    for (const reply of this.#replies) if (reply.lastSent <= silentSince) reply.keepAlive(now)
    this.#timer = this.#replies.size > 0 ? this.#clock.after(this.#tick(), () => this.#check()) : undefined
  }
}
