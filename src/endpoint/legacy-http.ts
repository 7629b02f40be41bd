// The legacy half of the HTTP endpoint: sessions, batches, streams that can be resumed.
import type { IncomingMessage } from 'node:http'
import { clip } from '../base/index.ts'
import { ERRORS, eraOfDate, HEADERS, METHOD, revision } from '../spec/index.ts'
import type { Id, RpcError, RpcMessage, RpcRequest, RpcResponse, Shape } from '../wire/index.ts'
import { callerOf, strangerOf } from './caller.ts'
import type { EndpointOptions, Outcome } from './contract.ts'
import { LOCAL_USER } from './contract.ts'
import type { InboundCall } from './inbound-call.ts'
import { agree, answerInitialize, answerLegacy, takeNotification } from './legacy.ts'
import { noteAnswer, noteMessage, noteServed } from './outcome.ts'
import { refusal, unread } from './refusals.ts'
import { accepts } from './reply.ts'
import type { KeepAlive, Reply } from './reply.ts'
import { Sessions } from './sessions.ts'
import type { Session } from './sessions.ts'
import type { Stream } from './streams.ts'

const SESSION = HEADERS.sessionId.toLowerCase()
const VERSION = HEADERS.protocolVersion.toLowerCase()
const LAST_EVENT = HEADERS.lastEventId.toLowerCase()
const VERBS = 'POST, GET, DELETE'

interface Exchange {
  readonly request: IncomingMessage
  readonly reply: Reply
  readonly session: Session | undefined
}

export class LegacyHttp {
  readonly sessions: Sessions
  readonly #options: EndpointOptions
  readonly #keepAlive: KeepAlive

  constructor(options: EndpointOptions, keepAlive: KeepAlive) {
    const { clock, limits, sealer } = options
    this.#options = options
    this.#keepAlive = keepAlive
    this.sessions = new Sessions({
      clock,
      sealer,
      idle: () => limits.sessionIdle(),
      path: options.path ?? '',
    })
  }

  /** The live session that a request names. */
  sessionOf(request: IncomingMessage): Session | undefined {
    const id = request.headers[SESSION]
    return typeof id === 'string' ? this.sessions.get(id, LOCAL_USER) : undefined
  }

  /** Answers one request of a session, or of none. */
  async post(message: RpcRequest, { request, reply, session }: Exchange): Promise<void> {
    if (message.method === METHOD.initialize) return this.#initialize(message, reply)
    const refused = refusedLegacy(request, session)
    if (refused !== undefined) {
      return reply.end({ jsonrpc: '2.0', id: message.id, error: refused.error }, refused.status)
    }
    if (session === undefined) return this.#stateless(message, request, reply)
    if (reply.outcome !== undefined) noteServed(reply.outcome, session)
    const stream = this.#streamFor(session, reply)
    const answer = await this.#alive(reply, () =>
      answerLegacy(
        message,
        {
          caller: callerOf(session),
          inFlight: session.inFlight,
          send: (notification) => stream.lazily().send(notification),
        },
        this.#options,
      ),
    )
    if (reply.outcome !== undefined && answer !== undefined) noteAnswer(reply.outcome, answer)
    const started = stream.started()
    if (started !== undefined) return answer === undefined ? started.close() : started.end(answer)
    if (answer === undefined) return reply.endEmpty(202)
    return reply.end(answer, 200)
  }

  /** Answers a batch, where the revision has them. */
  async batch(shapes: readonly Shape[], request: IncomingMessage, reply: Reply): Promise<void> {
    const session = this.sessionOf(request)
    const caller = session ?? strangerOf(request)
    if (shapes.length === 0 || !revision(caller.revision).http.batches) {
      const why = shapes.length === 0 ? 'the batch is empty' : `revision ${caller.revision} has no batches`
      return reply.end(unread(request, ERRORS.invalidRequest, `Invalid request: ${why}`), 400)
    }
    const refused = refusedLegacy(request, session)
    if (refused !== undefined) {
      return reply.end({ jsonrpc: '2.0', id: null, error: refused.error }, refused.status)
    }
    const inFlight = session?.inFlight ?? new Map<Id, InboundCall>()
    const send = (sent: RpcMessage): void => reply.send(sent)
    const exchange = { caller: callerOf(caller), inFlight, send }
    const answers = await this.#alive(reply, () =>
      Promise.all(
        shapes.map(async (shape): Promise<RpcResponse | undefined> => {
          if (shape.kind === 'notification') takeNotification(shape.message, inFlight)
          if (shape.kind === 'invalid') {
            return refusal(ERRORS.invalidRequest, `Invalid request: ${shape.reason}`, shape.id)
          }
          if (shape.kind !== 'request') return undefined
          if (shape.message.method === METHOD.initialize) {
            return refusal(ERRORS.invalidRequest, 'initialize must not be part of a batch', shape.message.id)
          }
          return answerLegacy(shape.message, exchange, this.#options)
        }),
      ),
    )
    reply.parts = reply.outcome && partsOf(reply.outcome, { shapes, answers, caller, session })
    const given = answers.filter((answer) => answer !== undefined)
    return given.length === 0 ? reply.endEmpty(202) : reply.end(given, 200)
  }

  /** Opens the session's own stream, or goes on with one that broke. */
  get(request: IncomingMessage, reply: Reply): void {
    const session = this.#named(request, reply, 'GET opens the stream of a session')
    if (session === undefined) return
    if (!accepts(request, 'text/event-stream')) {
      return reply.end(unread(request, ERRORS.invalidRequest, 'Accept must allow text/event-stream'), 406)
    }
    const last = request.headers[LAST_EVENT]
    if (typeof last === 'string' && !session.streams.resume(last, reply)) {
      const message = 'The stream of that event is over and what it held is no longer kept'
      return reply.end(unread(request, ERRORS.invalidRequest, message), 404)
    }
    if (typeof last !== 'string') session.streams.standalone(reply)
    this.#keepAlive.add(reply)
    reply.onClose(() => this.#keepAlive.delete(reply))
  }

  delete(request: IncomingMessage, reply: Reply): void {
    const session = this.#named(request, reply, 'DELETE ends a session')
    if (session === undefined) return
    this.sessions.end(session, 'the client ended the session')
    reply.endEmpty(200)
  }

  stop(reason: string): void {
    for (const session of this.sessions.live()) session.end(reason)
  }

  async #initialize(message: RpcRequest, reply: Reply): Promise<void> {
    const agreed = { ...agree(message.params), principal: LOCAL_USER }
    if (reply.outcome !== undefined) noteServed(reply.outcome, agreed)
    const answer = await this.#alive(reply, () =>
      answerInitialize(message, callerOf({ ...agreed, id: undefined }), this.#options),
    )
    if ('result' in answer) reply.setHeader(HEADERS.sessionId, this.sessions.open(agreed).id)
    reply.end(answer, 200)
  }

  async #stateless(message: RpcRequest, request: IncomingMessage, reply: Reply): Promise<void> {
    const inFlight = new Map<Id, InboundCall>()
    // Without a session nobody could fetch the answer later.
    reply.onClose(() => inFlight.get(message.id)?.cancellation.cancel('the client went away'))
    const send = (sent: RpcMessage): void => reply.send(sent)
    const caller = callerOf(strangerOf(request))
    if (reply.outcome !== undefined) noteServed(reply.outcome, caller)
    const answer = await this.#alive(reply, () =>
      answerLegacy(message, { caller, inFlight, send }, this.#options),
    )
    return answer === undefined ? reply.endEmpty(202) : reply.end(answer, 200)
  }

  /**
   * The stream of a request's answer, begun when it is first needed. Where the revision has priming events every answer is a
   * stream that begins with one, so that a client whose connection breaks can still fetch it.
   */
  #streamFor(session: Session, reply: Reply): LazyStream {
    let stream: Stream | undefined
    const begin = (prime: boolean): Stream => {
      stream ??= session.streams.forRequest()
      stream.attach(reply, { prime })
      return stream
    }
    if (revision(session.revision).http.resumable === 'primed' && reply.mayStream) begin(true)
    return { started: () => stream, lazily: () => stream ?? begin(false) }
  }

  async #alive<T>(reply: Reply, work: () => Promise<T>): Promise<T> {
    this.#keepAlive.add(reply)
    try {
      return await work()
    } finally {
      this.#keepAlive.delete(reply)
    }
  }

  /** The session that a verb needs; where there is none, the refusal has been sent. */
  #named(request: IncomingMessage, reply: Reply, what: string): Session | undefined {
    const session = this.sessionOf(request)
    const named = session !== undefined || request.headers[SESSION] !== undefined
    if (reply.outcome !== undefined && named) reply.outcome.era = 'legacy'
    if (session !== undefined) {
      if (reply.outcome !== undefined) noteServed(reply.outcome, session)
      return session
    }
    if (named) {
      reply.end(unread(request, ERRORS.invalidRequest, 'Session not found'), 404)
      return undefined
    }
    reply.setHeader('Allow', VERBS)
    reply.end(unread(request, ERRORS.invalidRequest, `${what} and needs its ${HEADERS.sessionId}`), 405)
    return undefined
  }
}

interface LazyStream {
  /** The stream, where it has begun. */
  readonly started: () => Stream | undefined
  /** The stream, begun now where it has not. */
  readonly lazily: () => Stream
}

/** The records of a batch's requests. One without any keeps the record of the whole. */
function partsOf(
  whole: Outcome,
  batch: {
    readonly shapes: readonly Shape[]
    readonly answers: readonly (RpcResponse | undefined)[]
    readonly caller: Session | ReturnType<typeof strangerOf>
    readonly session: Session | undefined
  },
): Outcome[] | undefined {
  const parts = batch.shapes.flatMap((shape, index) => {
    if (shape.kind !== 'request') return []
    const part = { ...whole }
    noteMessage(part, shape.message, {
      era: 'legacy',
      reason: batch.session === undefined ? 'default' : 'session',
    })
    noteServed(part, batch.caller)
    const answer = batch.answers[index]
    if (answer !== undefined) noteAnswer(part, answer)
    return [part]
  })
  return parts.length === 0 ? undefined : parts
}

function refusedLegacy(
  request: IncomingMessage,
  session: Session | undefined,
): { readonly status: number; readonly error: RpcError } | undefined {
  const version = request.headers[VERSION]
  if (typeof version === 'string' && eraOfDate(version) === undefined) {
    const message = `Bad Request: Unsupported protocol version: ${clip(version)}`
    return { status: 400, error: { code: ERRORS.invalidRequest, message } }
  }
  if (session === undefined && request.headers[SESSION] !== undefined) {
    const message = 'Session not found. Open a new one with initialize.'
    return { status: 404, error: { code: ERRORS.invalidRequest, message } }
  }
  return undefined
}
