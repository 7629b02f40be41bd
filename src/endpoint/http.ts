// The endpoint over HTTP: one URL that serves both eras, each message in its own.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clip } from '../base/index.ts'
import { classifyInbound } from '../era/index.ts'
import { ERRORS, METHOD, newest } from '../spec/index.ts'
import { shapeOf } from '../wire/index.ts'
import type { RpcRequest, Shape } from '../wire/index.ts'
import { answerPreflight, corsHeaders } from './access.ts'
import { admitCaller, admitStream, refusedPlace } from './admit.ts'
import type { Refused } from './admit.ts'
import { readBody } from './body.ts'
import type { Visit } from './caller.ts'
import type { EndpointOptions } from './contract.ts'
import type { InboundCall } from './inbound-call.ts'
import { LegacyHttp } from './legacy-http.ts'
import { answerModern } from './modern.ts'
import { beginOutcome, endHttpOutcome, noteMessage, noteNotification, noteServed } from './outcome.ts'
import type { HttpExchange } from './outcome.ts'
import { namesModern, refusal, unread } from './refusals.ts'
import { accepts, KeepAlive, Reply } from './reply.ts'

interface Answered extends HttpExchange {
  readonly reply: Reply
}

export class HttpEndpoint {
  readonly #options: EndpointOptions
  readonly #keepAlive: KeepAlive
  readonly #legacy: LegacyHttp
  readonly #open = new Set<InboundCall>()

  constructor(options: EndpointOptions) {
    this.#options = options
    this.#keepAlive = new KeepAlive(options.clock, () => options.limits.keepAlive())
    this.#legacy = new LegacyHttp(options, this.#keepAlive)
  }

  /** Legacy sessions that are open. */
  get sessions(): number {
    return this.#legacy.sessions.size
  }

  /** Answers one HTTP request, whatever its verb. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = new Reply(request, response, this.#options.clock)
    reply.outcome = beginOutcome(this.#options, request)
    try {
      await this.#handle(request, response, reply)
    } catch (error) {
      // A client that went away in the middle of its body is nobody's failure. A body that was read to its end is destroyed too.
      if (response.destroyed || (request.destroyed && !request.complete)) return
      this.#options.log.error('a request failed inside mcpx', {
        error: error instanceof Error ? error.stack : String(error),
      })
      reply.end(unread(request, ERRORS.internal, 'Internal error'), 500)
    } finally {
      if (reply.outcome !== undefined) this.#tell({ request, response, reply })
    }
  }

  /** Cancels what is in flight and ends the streams, for the end of the process. */
  stop(reason: string): void {
    for (const call of this.#open) call.tearDown(reason)
    this.#legacy.stop(reason)
    this.#keepAlive.stop()
  }

  #tell({ request, response, reply }: Answered): void {
    // What a browser asks before the request itself is no request of the client.
    if (request.method === 'OPTIONS' && response.statusCode < 400) return
    for (const outcome of reply.parts ?? [reply.outcome]) {
      if (outcome !== undefined) endHttpOutcome(outcome, { request, response }, this.#options)
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse, reply: Reply): Promise<void> {
    const refused = refusedPlace(request, this.#options)
    if (refused !== undefined) return this.#refuse(refused, request, reply)
    reply.setHeaders(corsHeaders(request))
    // Browsers send no credential with a preflight.
    if (request.method === 'OPTIONS') return answerPreflight(request, response)
    const principal = admitCaller(request, this.#options)
    if (typeof principal !== 'string') return this.#refuse(principal, request, reply)
    if (reply.outcome !== undefined) reply.outcome.principal = principal
    const visit = { request, reply, principal }
    switch (request.method) {
      case 'POST':
        return this.#post(visit)
      case 'GET':
        return this.#legacy.get(visit)
      case 'DELETE':
        return this.#legacy.delete(visit)
      default:
        reply.setHeader('Allow', 'POST, GET, DELETE')
        return reply.end(
          unread(request, ERRORS.invalidRequest, `Method not allowed: ${clip(request.method ?? '')}`),
          405,
        )
    }
  }

  #refuse({ status, message, headers, principal }: Refused, request: IncomingMessage, reply: Reply): void {
    if (reply.outcome !== undefined) reply.outcome.principal = principal
    reply.setHeaders(headers)
    reply.end(unread(request, ERRORS.invalidRequest, message), status)
  }

  async #post(visit: Visit): Promise<void> {
    const { request, reply } = visit
    if (!accepts(request, 'application/json') && !accepts(request, 'text/event-stream')) {
      return reply.end(
        unread(request, ERRORS.invalidRequest, 'Accept must allow application/json or text/event-stream'),
        406,
      )
    }
    if (!/^application\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
      return reply.end(unread(request, ERRORS.invalidRequest, 'Content-Type must be application/json'), 415)
    }
    const limit = this.#options.limits.maxBody()
    const body = await readBody(request, limit)
    if (!body.ok) {
      this.#options.onRefused?.('body')
      reply.setHeader('Connection', 'close')
      return reply.end(
        unread(request, ERRORS.invalidRequest, `The body is larger than ${limit} bytes (http.maxBody)`),
        413,
      )
    }
    let value: unknown
    try {
      value = JSON.parse(body.text)
    } catch {
      return reply.end(unread(request, ERRORS.parse, 'Parse error: the body is not JSON'), 400)
    }
    if (!Array.isArray(value)) return this.#message(shapeOf(value), visit)
    const shapes = value.map((item) => shapeOf(item))
    const isNamed = namesModern(request) && this.#legacy.sessionOf(visit) === undefined
    if (!isNamed && !shapes.some((shape) => this.#isModern(shape, visit))) {
      return this.#legacy.batch(shapes, visit)
    }
    const text = `Invalid request: revision ${newest('modern')} has no batches`
    return reply.end(unread(request, ERRORS.invalidRequest, text), 400)
  }

  async #message(shape: Shape, visit: Visit): Promise<void> {
    const { request, reply } = visit
    const session = this.#legacy.sessionOf(visit)
    if (shape.kind === 'invalid') {
      session?.questions.takeInvalid(shape.id, shape.reason)
      const message = `Invalid request: ${shape.reason}`
      const { id } = shape
      return reply.end(
        id === undefined
          ? unread(request, ERRORS.invalidRequest, message)
          : refusal(ERRORS.invalidRequest, message, id),
        400,
      )
    }
    const { outcome } = reply
    if (shape.kind === 'response') {
      if (outcome !== undefined && session !== undefined) noteServed(outcome, session)
      session?.questions.take(shape.message)
      // An answer that nobody waits for may have come too late; legacy servers take those in silence.
      if (session !== undefined || !namesModern(request)) return reply.endEmpty(202)
      return reply.end(
        unread(request, ERRORS.invalidRequest, 'Invalid request: nobody waits for a response'),
        400,
      )
    }
    if (shape.kind === 'notification') {
      if (outcome !== undefined) noteNotification(outcome, shape.message, { request, session })
      if (session !== undefined) this.#legacy.hear(shape.message, session)
      return reply.endEmpty(202)
    }
    const headers = { joined: request.headers, raw: request.rawHeaders }
    const classification = classifyInbound(shape.message, headers, session !== undefined)
    if (outcome !== undefined) noteMessage(outcome, shape.message, classification)
    return classification.era === 'modern'
      ? this.#modern(shape.message, visit)
      : this.#legacy.post(shape.message, { ...visit, session })
  }

  async #modern(message: RpcRequest, { request, reply, principal }: Visit): Promise<void> {
    if (message.method === METHOD.listen) {
      const onClose = (listener: () => void): void => reply.onClose(listener)
      const refused = admitStream(principal, { onClose }, this.#options)
      if (refused !== undefined) {
        reply.setHeaders(refused.headers)
        return reply.end(refusal(ERRORS.invalidRequest, refused.message, message.id), refused.status)
      }
    }
    let call: InboundCall | undefined
    // A modern client gives a request up by closing its stream. After the answer this changes nothing any more.
    reply.onClose(() => call?.cancellation.cancel('the client closed the stream'))
    this.#keepAlive.add(reply)
    const answer = await answerModern(
      message,
      {
        headers: { joined: request.headers, raw: request.rawHeaders },
        principal,
        send: (notification) => reply.send(notification),
        onCall: (started) => {
          call = started
          if (reply.outcome !== undefined) noteServed(reply.outcome, started.caller)
          this.#open.add(started)
        },
      },
      this.#options,
    )
    this.#keepAlive.delete(reply)
    if (call !== undefined) this.#open.delete(call)
    reply.end(answer.response, answer.status)
  }

  #isModern(shape: Shape, visit: Visit): boolean {
    if (shape.kind !== 'request' && shape.kind !== 'notification') return false
    const headers = { joined: visit.request.headers, raw: visit.request.rawHeaders }
    return (
      classifyInbound(shape.message, headers, this.#legacy.sessionOf(visit) !== undefined).era === 'modern'
    )
  }
}
