// The legacy half of the HTTP endpoint: sessions, batches, streams that can be resumed.
import type { IncomingMessage } from 'node:http'
import { clip } from '../base/index.ts'
import { ERRORS, eraOfDate, HEADERS, isRevisionId, METHOD, revision } from '../spec/index.ts'
import type { RpcError, RpcMessage, RpcNotification, RpcRequest, RpcResponse, Shape } from '../wire/index.ts'
import { admitStream } from './admit.ts'
import { AnswerStream } from './answer-stream.ts'
import { callerOf, strangerOf } from './caller.ts'
import type { Visit } from './caller.ts'
import type { EndpointOptions, Outcome } from './contract.ts'
import {
  agree,
  answerInitialize,
  answerLegacy,
  cancel,
  DEFAULT_LEVEL,
  takeNotification,
  tune,
} from './legacy.ts'
import type { LegacyExchange } from './legacy.ts'
import { noteAnswer, noteMessage, noteServed } from './outcome.ts'
import { refusal, unread } from './refusals.ts'
import { accepts } from './reply.ts'
import type { KeepAlive, Reply } from './reply.ts'
import { Sessions } from './sessions.ts'
import type { Session } from './sessions.ts'
import type { Patience } from './streams.ts'

const SESSION = HEADERS.sessionId.toLowerCase()
const VERSION = HEADERS.protocolVersion.toLowerCase()
const LAST_EVENT = HEADERS.lastEventId.toLowerCase()
const VERBS = 'POST, GET, DELETE'

interface SessionVisit extends Visit {
  readonly session: Session | undefined
}

export class LegacyHttp {
  readonly sessions: Sessions
  readonly #options: EndpointOptions
  readonly #keepAlive: KeepAlive

  constructor(options: EndpointOptions, keepAlive: KeepAlive) {
    const { clock, limits, sealer, quotas } = options
    this.#options = options
    this.#keepAlive = keepAlive
    this.sessions = new Sessions({
      clock,
      sealer,
      quotas,
      idle: () => limits.sessionIdle(),
      path: options.path ?? '',
    })
  }

  /** The live session that a request names, where it is the principal's. */
  sessionOf({ request, principal }: Visit): Session | undefined {
    const id = request.headers[SESSION]
    return typeof id === 'string' ? this.sessions.get(id, principal) : undefined
  }

  /** Takes a notification of a session. */
  hear(notification: RpcNotification, session: Session): void {
    const caller = callerOf(session)
    const way =
      session.standing &&
      session.questions.way(caller, (sent) => {
        // The client may have opened another stream by the time something is asked.
        const { standing } = session
        standing?.send(sent)
        return standing !== undefined
      })
    takeNotification(notification, { caller, inFlight: session.inFlight, way }, this.#options)
  }

  /** Answers one request of a session, or of none. */
  async post(message: RpcRequest, { session, ...visit }: SessionVisit): Promise<void> {
    const { request, reply } = visit
    if (message.method === METHOD.initialize) return this.#initialize(message, visit)
    const refused = refusedLegacy(request, session)
    if (refused !== undefined) {
      return reply.end({ jsonrpc: '2.0', id: message.id, error: refused.error }, refused.status)
    }
    if (session === undefined) return this.#stateless(message, visit)
    if (reply.outcome !== undefined) noteServed(reply.outcome, session)
    // Who subscribes wants to hear of it, though the stream for that may be opened later.
    if (message.method === METHOD.subscribe) this.#tune(session)
    const stream = new AnswerStream(session, reply, this.#patience())
    const exchange = exchangeOf(session, reply, stream)
    const answer = await this.#alive(reply, () => answerLegacy(message, exchange, this.#options))
    if (reply.outcome !== undefined && answer !== undefined) noteAnswer(reply.outcome, answer)
    stream.end(answer)
  }

  /** Answers a batch, where the revision has them. */
  async batch(shapes: readonly Shape[], visit: Visit): Promise<void> {
    const { request, reply } = visit
    const session = this.sessionOf(visit)
    const caller = session ?? strangerOf(visit)
    if (shapes.length === 0 || !revision(caller.revision).http.batches) {
      const why = shapes.length === 0 ? 'the batch is empty' : `revision ${caller.revision} has no batches`
      return reply.end(unread(request, ERRORS.invalidRequest, `Invalid request: ${why}`), 400)
    }
    const refused = refusedLegacy(request, session)
    if (refused !== undefined) {
      return reply.end({ jsonrpc: '2.0', id: null, error: refused.error }, refused.status)
    }
    const stream = session && new AnswerStream(session, reply, this.#patience())
    const exchange = session && stream ? exchangeOf(session, reply, stream) : statelessOf(visit)
    const answers = await this.#alive(reply, () =>
      Promise.all(
        shapes.map(async (shape): Promise<RpcResponse | undefined> => {
          if (shape.kind === 'notification') {
            if (session === undefined) cancel(shape.message, exchange.inFlight)
            else this.hear(shape.message, session)
          }
          if (shape.kind === 'response') session?.questions.take(shape.message)
          if (shape.kind === 'invalid') {
            session?.questions.takeInvalid(shape.id, shape.reason)
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
    if (stream !== undefined) return stream.end(given.length === 0 ? undefined : given)
    return given.length === 0 ? reply.endEmpty(202) : reply.end(given, 200)
  }

  /** Opens the session's own stream, or goes on with one that broke. */
  get(visit: Visit): void {
    const { request, reply } = visit
    const session = this.#named(visit, 'GET opens the stream of a session')
    if (session === undefined) return
    if (!accepts(request, 'text/event-stream')) {
      return reply.end(unread(request, ERRORS.invalidRequest, 'Accept must allow text/event-stream'), 406)
    }
    const onClose = (listener: () => void): void => reply.onClose(listener)
    const inPlace = session.standing !== undefined
    const refused = admitStream(session.principal, { onClose, inPlace }, this.#options)
    if (refused !== undefined) {
      reply.setHeaders(refused.headers)
      return reply.end(unread(request, ERRORS.invalidRequest, refused.message), refused.status)
    }
    const last = request.headers[LAST_EVENT]
    if (typeof last === 'string' && !session.streams.resume(last, reply)) {
      const message = 'The stream of that event is over and what it held is no longer kept'
      return reply.end(unread(request, ERRORS.invalidRequest, message), 404)
    }
    if (typeof last !== 'string') session.streams.standalone(reply)
    this.#tune(session)
    this.#keepAlive.add(reply)
    reply.onClose(() => this.#keepAlive.delete(reply))
  }

  delete(visit: Visit): void {
    const session = this.#named(visit, 'DELETE ends a session')
    if (session === undefined) return
    this.sessions.end(session, 'the client ended the session')
    visit.reply.endEmpty(200)
  }

  stop(reason: string): void {
    this.sessions.stop(reason)
  }

  #patience(): Patience | undefined {
    const ms = this.#options.limits.streamTime()
    return ms === 0 ? undefined : { clock: this.#options.clock, ms }
  }

  /** What is told while no stream is open is lost, as it is with any server. */
  #tune(session: Session): void {
    session.tune(() => tune(callerOf(session), (sent) => session.standing?.send(sent), this.#options))
  }

  async #initialize(message: RpcRequest, { reply, principal }: Visit): Promise<void> {
    const agreed = { ...agree(message.params), principal }
    if (reply.outcome !== undefined) noteServed(reply.outcome, agreed)
    // A long wait makes the answer a stream, whose headers go out before it: the session's id has to be among them.
    const session = this.sessions.open(agreed)
    if (session === undefined) return this.#tooManySessions(message, reply, principal)
    reply.setHeader(HEADERS.sessionId, session.id)
    const answer = await this.#alive(reply, () =>
      answerInitialize(message, callerOf({ ...agreed, id: undefined }), this.#options),
    )
    if ('error' in answer) {
      reply.dropHeader(HEADERS.sessionId)
      this.sessions.end(session, 'it was not agreed on')
    }
    reply.end(answer, 200)
  }

  #tooManySessions(message: RpcRequest, reply: Reply, principal: string): void {
    const { quotas, onRefused } = this.#options
    onRefused?.('sessions')
    const text = `"${principal}" has ${quotas?.limits.sessions()} sessions in use (legacy.maxSessions). End some with DELETE, or raise the setting.`
    reply.setHeader('Retry-After', '1')
    reply.end(refusal(ERRORS.invalidRequest, text, message.id), 429)
  }

  async #stateless(message: RpcRequest, visit: Visit): Promise<void> {
    const { reply } = visit
    const exchange = statelessOf(visit)
    // Without a session nobody could fetch the answer later.
    reply.onClose(() => exchange.inFlight.get(message.id)?.cancellation.cancel('the client went away'))
    if (reply.outcome !== undefined) noteServed(reply.outcome, exchange.caller)
    const answer = await this.#alive(reply, () => answerLegacy(message, exchange, this.#options))
    return answer === undefined ? reply.endEmpty(202) : reply.end(answer, 200)
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
  #named(visit: Visit, what: string): Session | undefined {
    const { request, reply } = visit
    const session = this.sessionOf(visit)
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

/** How a client is reached while a POST in its session is answered. */
function exchangeOf(session: Session, reply: Reply, stream: AnswerStream): LegacyExchange {
  const caller = callerOf(session)
  const way = reply.mayStream ? session.questions.way(caller, (sent) => stream.send(sent)) : undefined
  return {
    ...{ caller, way, inFlight: session.inFlight, logs: session },
    send: (sent) => void stream.send(sent),
    pause: () => stream.pause(),
  }
}

/** Without a session an answer could not be told from anybody else's, so nothing is asked. */
function statelessOf(visit: Visit): LegacyExchange {
  const send = (sent: RpcMessage): void => visit.reply.send(sent)
  const caller = callerOf(strangerOf(visit))
  return { caller, logs: { logLevel: DEFAULT_LEVEL }, inFlight: new Map(), send, way: undefined }
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
  // Some clients that fell back leave their modern version in the header, a later one than any known here among them.
  if (typeof version === 'string' && !isRevisionId(version) && eraOfDate(version) !== 'modern') {
    const message = `Bad Request: Unsupported protocol version: ${clip(version)}`
    return { status: 400, error: { code: ERRORS.invalidRequest, message } }
  }
  if (session === undefined && request.headers[SESSION] !== undefined) {
    const message = 'Session not found. Open a new one with initialize.'
    return { status: 404, error: { code: ERRORS.invalidRequest, message } }
  }
  return undefined
}
