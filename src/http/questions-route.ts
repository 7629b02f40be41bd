// The inbox: questions that a caller cannot answer, for whoever can.
import type { FastifyInstance } from 'fastify'
import type { Inbox, InboxEntry } from '../gateway/index.ts'
import type { EventLog } from './events.ts'
import { openStream } from './sse-reply.ts'
import type { StreamIo } from './sse-reply.ts'

/** A question as the REST interface shows it. Times in ms since the epoch. */
export interface QuestionReport {
  readonly id: string
  readonly server: string
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly askedAt: number
  readonly expiresAt: number
}

/**
 * `GET /v1/questions`: those of the caller's principal. `POST /v1/questions/{id}` with the result that answers it: 204, or a
 * problem that says what does not fit. `GET /v1/questions/stream`: what is open, then what comes and goes; while somebody
 * reads it the principal's inbox takes questions.
 */
export function addQuestions(
  app: FastifyInstance,
  inbox: Inbox,
  io: StreamIo & { readonly events: EventLog },
): void {
  inbox.onEvent((event) => {
    const { id, server, question, principal } = event.entry
    const how = event.kind === 'ended' ? { how: event.how } : {}
    // What is asked is its principal's alone.
    io.events.publish('question', {
      id,
      server,
      principal,
      method: question.method,
      state: event.kind,
      ...how,
    })
  })
  app.get('/v1/questions', (request) => ({ questions: inbox.list(request.principal).map(reportOf) }))
  app.post<{ Params: { id: string } }>('/v1/questions/:id', async (request, reply) => {
    inbox.answer(request.params.id, request.principal, request.body)
    return reply.status(204).send()
  })
  app.get('/v1/questions/stream', (request, reply) => {
    const { principal } = request
    const stream = openStream(request, reply, io)
    const asked = (entry: InboxEntry): boolean =>
      stream.send({ event: 'question.asked', data: JSON.stringify(reportOf(entry)) })
    const stopEvents = inbox.onEvent((event) => {
      if (event.entry.principal !== principal) return
      if (event.kind === 'asked') asked(event.entry)
      else
        stream.send({ event: 'question.ended', data: JSON.stringify({ id: event.entry.id, how: event.how }) })
    })
    const unwatch = inbox.watch(principal)
    stream.onClose(() => {
      stopEvents()
      unwatch()
    })
    for (const entry of inbox.list(principal)) asked(entry)
  })
}

function reportOf({ id, server, question, askedAt, expiresAt }: InboxEntry): QuestionReport {
  return { id, server, method: question.method, params: question.params ?? {}, askedAt, expiresAt }
}
