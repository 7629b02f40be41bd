// Hosting HTTP+SSE, the transport of 2024-11-05: a GET opens the stream, whose first event names where to POST. Behind it
// stands the same pipe that serves stdio, since neither has more than two directions.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, Writable } from 'node:stream'
import { ERRORS } from '../spec/index.ts'
import { createLineFramer, formatComment, formatSse } from '../wire/index.ts'
import { corsHeaders, refusedAccess } from './access.ts'
import { readBody } from './body.ts'
import type { EndpointOptions } from './contract.ts'
import { tellRefused } from './outcome.ts'
import type { HttpExchange } from './outcome.ts'
import { refusal } from './refusals.ts'
import { serveStdio } from './stdio.ts'

/** Bytes that may wait for a client that does not read; its stream is then broken off. */
const MAX_BUFFERED = 16 * 1024 * 1024
const STREAM_PATH = '/sse'
const MESSAGES_PATH = '/messages'

export class SseHost {
  readonly #options: EndpointOptions
  readonly #open = new Map<string, { readonly input: PassThrough; readonly response: ServerResponse }>()

  constructor(options: EndpointOptions) {
    this.#options = options
  }

  /** Takes a request for one of its two paths. False leaves it to somebody else. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const [path, query] = (request.url ?? '').split('?')
    if (path === STREAM_PATH && request.method === 'GET') this.#stream(request, response)
    else if (path === MESSAGES_PATH && request.method === 'POST') {
      void this.#post(request, response, new URLSearchParams(query).get('sessionId') ?? '')
    } else return false
    return true
  }

  stop(): void {
    for (const { response } of this.#open.values()) response.end()
  }

  /** Opens a client's stream; it lives until either side ends it. */
  #stream(request: IncomingMessage, response: ServerResponse): void {
    if (this.#refused(request, response)) return
    const id = randomUUID()
    const input = new PassThrough()
    this.#open.set(id, { input, response })
    response.writeHead(200, {
      ...corsHeaders(request),
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
    })
    response.write(formatSse({ event: 'endpoint', data: `${MESSAGES_PATH}?sessionId=${id}` }))
    const alive = this.#keepAlive(response)
    response.once('close', () => {
      alive.stop()
      this.#open.delete(id)
      input.end()
    })
    void serveStdio(this.#options, input, eventsTo(response)).then(() => response.end())
  }

  /** Takes one message of a client; its answer comes on the client's stream. */
  async #post(request: IncomingMessage, response: ServerResponse, session: string): Promise<void> {
    if (this.#refused(request, response)) return
    const stream = this.#open.get(session)
    const exchange = { request, response }
    if (stream === undefined) return this.#refuse(exchange, 404, 'Session not found. Open a new stream.')
    const limit = this.#options.limits.maxBody()
    const body = await readBody(request, limit).catch(() => undefined)
    if (body === undefined) return
    if (!body.ok) return this.#refuse(exchange, 413, `The body is larger than ${limit} bytes (http.maxBody)`)
    let line: string
    try {
      line = JSON.stringify(JSON.parse(body.text))
    } catch {
      return this.#refuse(exchange, 400, 'Parse error: the body is not JSON')
    }
    stream.input.write(`${line}\n`)
    response.writeHead(202, corsHeaders(request)).end('Accepted')
  }

  #refused(request: IncomingMessage, response: ServerResponse): boolean {
    const refused = refusedAccess(request, this.#options.access)
    if (refused !== undefined) this.#refuse({ request, response }, 403, refused)
    return refused !== undefined
  }

  #refuse(exchange: HttpExchange, status: number, message: string): void {
    const code = status === 400 ? ERRORS.parse : ERRORS.invalidRequest
    exchange.response
      .writeHead(status, { 'Content-Type': 'application/json' })
      .end(JSON.stringify(refusal(code, message)))
    tellRefused(exchange, code, this.#options)
  }

  #keepAlive(response: ServerResponse): { stop(): void } {
    const { clock, limits } = this.#options
    const tick = (): void => {
      response.write(formatComment())
      timer = clock.after(limits.keepAlive(), tick)
    }
    let timer = clock.after(limits.keepAlive(), tick)
    return { stop: () => timer.cancel() }
  }
}

/** What a pipe writes, line by line, as events. */
function eventsTo(response: ServerResponse): Writable {
  const framer = createLineFramer({
    onLine: (data) => {
      response.write(formatSse({ event: 'message', data }))
      if (response.writableLength > MAX_BUFFERED) response.destroy()
    },
    onOversize: () => {},
  })
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      framer.feed(chunk)
      done()
    },
  })
}
