// Hosting HTTP+SSE, the transport of 2024-11-05: a GET opens the stream, whose first event names where to POST. Behind it
// stands the same pipe that serves stdio, since neither has more than two directions.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, Writable } from 'node:stream'
import { ERRORS } from '../spec/index.ts'
import { createLineFramer, formatSse } from '../wire/index.ts'
import { corsHeaders } from './access.ts'
import { admitCaller, admitStream, refusedPlace } from './admit.ts'
import { readBody } from './body.ts'
import type { EndpointOptions } from './contract.ts'
import { beginEventStream } from './event-stream.ts'
import { tellRefused } from './outcome.ts'
import type { HttpExchange } from './outcome.ts'
import { refusal } from './refusals.ts'
import { serveStdio } from './stdio.ts'

/** Bytes that may wait for a client that does not read when more is sent; its stream is then broken off. */
const MAX_BUFFERED = 16 * 1024 * 1024
const STREAM_PATH = '/sse'
const MESSAGES_PATH = '/messages'

interface Hosted {
  readonly principal: string
  readonly input: PassThrough
  readonly response: ServerResponse
}

export class SseHost {
  readonly #options: EndpointOptions
  readonly #open = new Map<string, Hosted>()

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
    const principal = this.#admitted({ request, response })
    if (principal === undefined) return
    const onClose = (listener: () => void): void => void response.once('close', listener)
    const refused = admitStream(principal, { onClose }, this.#options)
    if (refused !== undefined) return this.#refuse({ request, response }, refused.status, refused)
    const id = randomUUID()
    const input = new PassThrough()
    this.#open.set(id, { principal, input, response })
    const { clock, limits } = this.#options
    beginEventStream(response, corsHeaders(request), { clock, keepAlive: () => limits.keepAlive() })
    response.write(formatSse({ event: 'endpoint', data: `${MESSAGES_PATH}?sessionId=${id}` }))
    response.once('close', () => {
      this.#open.delete(id)
      input.end()
    })
    const pipe = serveStdio({ ...this.#options, principal }, input, eventsTo(response))
    void pipe.then(() => response.end())
  }

  /** Takes one message of a client; its answer comes on the client's stream. */
  async #post(request: IncomingMessage, response: ServerResponse, session: string): Promise<void> {
    const exchange = { request, response }
    const principal = this.#admitted(exchange)
    if (principal === undefined) return
    const stream = this.#open.get(session)
    // Another principal's stream is as good as none, so that nobody learns which there are.
    if (stream === undefined || stream.principal !== principal) {
      return this.#refuse(exchange, 404, { message: 'Session not found. Open a new stream.', principal })
    }
    const limit = this.#options.limits.maxBody()
    const body = await readBody(request, limit).catch(() => undefined)
    if (body === undefined) return
    if (!body.ok) {
      this.#options.onRefused?.('body')
      const message = `The body is larger than ${limit} bytes (http.maxBody)`
      return this.#refuse(exchange, 413, { message, principal })
    }
    let line: string
    try {
      line = JSON.stringify(JSON.parse(body.text))
    } catch {
      return this.#refuse(exchange, 400, { message: 'Parse error: the body is not JSON', principal })
    }
    stream.input.write(`${line}\n`)
    response.writeHead(202, corsHeaders(request)).end('Accepted')
  }

  /** The principal of a request that may come in; for any other the refusal has been sent. */
  #admitted(exchange: HttpExchange): string | undefined {
    const { request } = exchange
    const admitted = refusedPlace(request, this.#options) ?? admitCaller(request, this.#options)
    if (typeof admitted === 'string') return admitted
    this.#refuse(exchange, admitted.status, admitted)
    return undefined
  }

  #refuse(exchange: HttpExchange, status: number, { message, principal, headers }: Why): void {
    const code = status === 400 ? ERRORS.parse : ERRORS.invalidRequest
    exchange.response
      .writeHead(status, { ...headers, 'Content-Type': 'application/json' })
      .end(JSON.stringify(refusal(code, message)))
    tellRefused(exchange, code, { ...this.#options, principal })
  }
}

interface Why {
  readonly message: string
  readonly principal?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a pipe writes, line by line, as events. */
function eventsTo(response: ServerResponse): Writable {
  const framer = createLineFramer({
    onLine: (data) => {
      if (response.writableLength > MAX_BUFFERED) response.destroy()
      else response.write(formatSse({ event: 'message', data }))
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
