// The endpoint over HTTP: one URL that serves both eras, each message in its own.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clip } from '../base/index.ts'
import { classifyInbound } from '../era/index.ts'
import { ERRORS, eraOfDate, HEADERS, METHOD, newest, revision } from '../spec/index.ts'
import { shapeOf } from '../wire/index.ts'
import type { Id, RpcError, RpcMessage, RpcRequest, RpcResponse, Shape } from '../wire/index.ts'
import { answerPreflight, corsHeaders, refusedAccess } from './access.ts'
import { readBody } from './body.ts'
import { callerOf, strangerOf } from './caller.ts'
import type { EndpointOptions } from './contract.ts'
import { LOCAL_USER } from './contract.ts'
import type { InboundCall } from './inbound-call.ts'
import { agree, answerInitialize, answerLegacy, takeNotification } from './legacy.ts'
import { answerModern } from './modern.ts'
import { namesModern, refusal, unread } from './refusals.ts'
import { accepts, KeepAlive, Reply } from './reply.ts'
import { Sessions } from './sessions.ts'
import type { Session } from './sessions.ts'

const SESSION = HEADERS.sessionId.toLowerCase()
const VERSION = HEADERS.protocolVersion.toLowerCase()

export class HttpEndpoint {
  readonly #options: EndpointOptions
  readonly #sessions: Sessions
  readonly #keepAlive: KeepAlive
  readonly #open = new Set<InboundCall>()

  constructor(options: EndpointOptions) {
    this.#options = options
    this.#sessions = new Sessions(options.clock, () => options.limits.sessionIdle())
    this.#keepAlive = new KeepAlive(options.clock, () => options.limits.keepAlive())
  }

  /** Legacy sessions that are open. */
  get sessions(): number {
    return this.#sessions.size
  }

  /** Answers one HTTP request, whatever its verb. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = new Reply(request, response, this.#options.clock.now())
    try {
      await this.#handle(request, response, reply)
    } catch (error) {
      // A client that went away in the middle of its body is nobody's failure.
      if (response.destroyed || request.destroyed) return
      this.#options.log.error('a request failed inside mcpx', {
        error: error instanceof Error ? error.stack : String(error),
      })
      reply.end(unread(request, ERRORS.internal, 'Internal error'), 500)
    }
  }

  /** Cancels what is in flight, for the end of the process. */
  stop(reason: string): void {
    for (const call of this.#open) call.cancellation.cancel(reason)
    this.#keepAlive.stop()
  }

  async #handle(request: IncomingMessage, response: ServerResponse, reply: Reply): Promise<void> {
    const refused = refusedAccess(request, this.#options.access)
    if (refused !== undefined) return reply.end(unread(request, ERRORS.invalidRequest, refused), 403)
    reply.setHeaders(corsHeaders(request))
    switch (request.method) {
      case 'POST':
        return this.#post(request, response, reply)
      case 'DELETE':
        return this.#delete(request, reply)
      case 'OPTIONS':
        return answerPreflight(request, response)
      default:
        reply.setHeader('Allow', 'POST, DELETE')
        return reply.end(
          unread(request, ERRORS.invalidRequest, `Method not allowed: ${clip(request.method ?? '')}`),
          405,
        )
    }
  }

  async #post(request: IncomingMessage, response: ServerResponse, reply: Reply): Promise<void> {
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
    return Array.isArray(value)
      ? this.#batch(value, request, reply)
      : this.#message(shapeOf(value), request, { response, reply })
  }

  async #message(
    shape: Shape,
    request: IncomingMessage,
    io: { readonly response: ServerResponse; readonly reply: Reply },
  ): Promise<void> {
    const { reply } = io
    if (shape.kind === 'invalid') {
      const message = `Invalid request: ${shape.reason}`
      const { id } = shape
      return reply.end(
        id === undefined
          ? unread(request, ERRORS.invalidRequest, message)
          : refusal(ERRORS.invalidRequest, message, id),
        400,
      )
    }
    const session = this.#sessionOf(request)
    if (shape.kind === 'response') {
      // Nothing is asked of legacy clients, so an answer can only be a mistake; legacy servers take them in silence.
      if (session !== undefined || !namesModern(request)) return reply.endEmpty(202)
      return reply.end(
        unread(request, ERRORS.invalidRequest, 'Invalid request: nobody waits for a response'),
        400,
      )
    }
    const headers = { joined: request.headers, raw: request.rawHeaders }
    const { era } = classifyInbound(shape.message, headers, session !== undefined)
    if (shape.kind === 'notification') {
      if (session !== undefined) takeNotification(shape.message, session.inFlight)
      return reply.endEmpty(202)
    }
    return era === 'modern'
      ? this.#modern(shape.message, request, io)
      : this.#legacy(shape.message, request, { ...io, session })
  }

  async #modern(
    message: RpcRequest,
    request: IncomingMessage,
    { response, reply }: { readonly response: ServerResponse; readonly reply: Reply },
  ): Promise<void> {
    const { clock } = this.#options
    let call: InboundCall | undefined
    // A modern client gives a request up by closing its stream.
    const onClose = (): void => call?.cancellation.cancel('the client closed the stream')
    response.once('close', onClose)
    this.#keepAlive.add(reply)
    const outcome = await answerModern(
      message,
      {
        headers: { joined: request.headers, raw: request.rawHeaders },
        principal: LOCAL_USER,
        send: (notification) => reply.send(notification, clock.now()),
        onCall: (started) => {
          call = started
          this.#open.add(started)
        },
      },
      this.#options,
    )
    this.#keepAlive.delete(reply)
    if (call !== undefined) this.#open.delete(call)
    response.removeListener('close', onClose)
    reply.end(outcome.response, outcome.status)
  }

  async #legacy(
    message: RpcRequest,
    request: IncomingMessage,
    {
      reply,
      session,
      response,
    }: { readonly reply: Reply; readonly session: Session | undefined; readonly response: ServerResponse },
  ): Promise<void> {
    if (message.method === METHOD.initialize) return this.#initialize(message, reply)
    const refused = this.#refusedLegacy(request, session)
    if (refused !== undefined)
      return reply.end({ jsonrpc: '2.0', id: message.id, error: refused.error }, refused.status)
    const caller = session ?? strangerOf(request)
    const inFlight = session?.inFlight ?? new Map<Id, InboundCall>()
    if (session === undefined) {
      // Without a session nobody could fetch the answer later.
      response.once('close', () => inFlight.get(message.id)?.cancellation.cancel('the client went away'))
    }
    this.#keepAlive.add(reply)
    const { clock } = this.#options
    const answer = await answerLegacy(
      message,
      { caller: callerOf(caller), inFlight, send: (notification) => reply.send(notification, clock.now()) },
      this.#options,
    )
    this.#keepAlive.delete(reply)
    if (answer === undefined) reply.endEmpty(202)
    else reply.end(answer, 200)
  }

  async #initialize(message: RpcRequest, reply: Reply): Promise<void> {
    const agreed = agree(message.params)
    const answer = await answerInitialize(
      message,
      callerOf({ ...agreed, principal: LOCAL_USER, id: undefined }),
      this.#options,
    )
    if ('result' in answer) {
      const session = this.#sessions.open({ ...agreed, principal: LOCAL_USER })
      reply.setHeader(HEADERS.sessionId, session.id)
    }
    reply.end(answer, 200)
  }

  async #batch(values: readonly unknown[], request: IncomingMessage, reply: Reply): Promise<void> {
    const shapes = values.map((value) => shapeOf(value))
    const session = this.#sessionOf(request)
    const caller = session ?? strangerOf(request)
    const headers = { joined: request.headers, raw: request.rawHeaders }
    const modern = shapes.some(
      (shape) =>
        (shape.kind === 'request' || shape.kind === 'notification') &&
        classifyInbound(shape.message, headers, session !== undefined).era === 'modern',
    )
    if (modern || values.length === 0 || !revision(caller.revision).http.batches) {
      const why =
        values.length === 0
          ? 'the batch is empty'
          : `revision ${modern ? newest('modern') : caller.revision} has no batches`
      return reply.end(unread(request, ERRORS.invalidRequest, `Invalid request: ${why}`), 400)
    }
    const refused = this.#refusedLegacy(request, session)
    if (refused !== undefined)
      return reply.end({ jsonrpc: '2.0', id: null, error: refused.error }, refused.status)
    const inFlight = session?.inFlight ?? new Map<Id, InboundCall>()
    const exchange = {
      ...{ caller: callerOf(caller), inFlight },
      send: (message: RpcMessage) => reply.send(message, this.#options.clock.now()),
    }
    const answers = await Promise.all(
      shapes.map(async (shape): Promise<RpcResponse | undefined> => {
        if (shape.kind === 'notification') takeNotification(shape.message, inFlight)
        if (shape.kind === 'invalid')
          return refusal(ERRORS.invalidRequest, `Invalid request: ${shape.reason}`, shape.id)
        if (shape.kind !== 'request') return undefined
        const { message } = shape
        if (message.method === METHOD.initialize) {
          return refusal(ERRORS.invalidRequest, 'initialize must not be part of a batch', message.id)
        }
        return answerLegacy(message, exchange, this.#options)
      }),
    )
    const given = answers.filter((answer) => answer !== undefined)
    if (given.length === 0) reply.endEmpty(202)
    else reply.end(given, 200)
  }

  #delete(request: IncomingMessage, reply: Reply): void {
    const session = this.#sessionOf(request)
    if (session !== undefined) {
      this.#sessions.end(session, 'the client ended the session')
      return reply.endEmpty(200)
    }
    if (request.headers[SESSION] !== undefined)
      return reply.end(unread(request, ERRORS.invalidRequest, 'Session not found'), 404)
    reply.setHeader('Allow', 'POST, DELETE')
    return reply.end(
      unread(request, ERRORS.invalidRequest, 'DELETE ends a session and needs its Mcp-Session-Id'),
      405,
    )
  }

  #sessionOf(request: IncomingMessage): Session | undefined {
    const id = request.headers[SESSION]
    return typeof id === 'string' ? this.#sessions.get(id, LOCAL_USER) : undefined
  }

  #refusedLegacy(
    request: IncomingMessage,
    session: Session | undefined,
  ): { status: number; error: RpcError } | undefined {
    const version = request.headers[VERSION]
    if (typeof version === 'string' && eraOfDate(version) === undefined) {
      const message = `Bad Request: Unsupported protocol version: ${clip(version)}`
      return { status: 400, error: { code: ERRORS.invalidRequest, message } }
    }
    if (session === undefined && request.headers[SESSION] !== undefined) {
      return {
        status: 404,
        error: { code: ERRORS.invalidRequest, message: 'Session not found. Open a new one with initialize.' },
      }
    }
    return undefined
  }
}
