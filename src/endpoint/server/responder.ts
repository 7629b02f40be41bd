// How a modern request is answered: with one JSON body, or with a stream as soon as anything comes before the answer.
import type { Clock, Timer } from '../../base/index.ts'
import { ERRORS } from '../../spec/index.ts'
import { formatComment, formatSse, SSE_HEADERS } from '../../wire/index.ts'
import type { RpcNotification, RpcResponse } from '../../wire/index.ts'

type Headers = Readonly<Record<string, string>>

/** Where an answer goes: the only part of answering that differs between adapters. */
export interface Target {
  /** Sends a whole answer, without a body where `text` is undefined. */
  whole(status: number, headers: Headers, text?: string): void
  /** Begins a stream. */
  begin(headers: Headers): void
  write(text: string): void
  finish(): void
  /** Calls back when the client is gone, perhaps after its answer. */
  onGone(listener: () => void): void
}

export interface ResponderOptions {
  readonly headers: Headers
  /** Whether the client takes a stream at all. */
  readonly mayStream: boolean
  readonly keepAlive: number
  readonly clock: Clock
}

export class Responder {
  readonly #target: Target
  readonly #options: ResponderOptions
  #streaming = false
  #ended = false
  #timer: Timer | undefined
  /** The HTTP status that was sent, as soon as there is one. */
  status: number | undefined

  constructor(target: Target, options: ResponderOptions) {
    this.#target = target
    this.#options = options
  }

  /** Shows from now on, after each silence, that the request is alive. */
  keepAlive(): void {
    if (!this.#options.mayStream || this.#ended) return
    this.#timer?.cancel()
    this.#timer = this.#options.clock.after(this.#options.keepAlive, () => {
      this.#send(formatComment())
    })
  }

  /** Sends a message ahead of the answer; dropped where the client takes no stream. */
  send(message: RpcNotification): void {
    if (this.#options.mayStream && !this.#ended) this.#send(formatSse({ data: JSON.stringify(message) }))
  }

  /** Calls back when the client goes away before it has its answer. */
  onGone(listener: () => void): void {
    this.#target.onGone(() => {
      if (this.#ended) return
      this.#close()
      listener()
    })
  }

  /** Sends the answer. The status counts only where nothing was sent before. */
  end(response: RpcResponse, status: number, headers: Headers = {}): void {
    if (this.#ended) return
    const text = textOf(response)
    this.#close()
    if (this.#streaming) {
      this.#target.write(formatSse({ data: text }))
      this.#target.finish()
      return
    }
    this.status = status
    this.#target.whole(
      status,
      { ...this.#options.headers, ...headers, 'Content-Type': 'application/json' },
      text,
    )
  }

  endEmpty(status: number, headers: Headers = {}): void {
    this.#close()
    this.status = status
    this.#target.whole(status, { ...this.#options.headers, ...headers })
  }

  #send(text: string): void {
    if (!this.#streaming) {
      this.#streaming = true
      this.status = 200
      this.#target.begin({ ...this.#options.headers, ...SSE_HEADERS })
    }
    this.#target.write(text)
    this.keepAlive()
  }

  #close(): void {
    this.#ended = true
    this.#timer?.cancel()
  }
}

/** What a method answered may not be JSON at all: a cycle, a BigInt. */
function textOf(response: RpcResponse): string {
  try {
    return JSON.stringify(response)
  } catch {
    const error = { code: ERRORS.internal, message: 'Internal error: the result is not JSON' }
    return JSON.stringify({ jsonrpc: '2.0', id: response.id, error })
  }
}
