import type { FastifyInstance } from 'fastify'
import type { EventLog } from './events.ts'
import { openStream } from './sse-reply.ts'
import type { StreamIo } from './sse-reply.ts'

/** `GET /v1/events`: server-sent events, resumable with Last-Event-ID or `?after=`. */
export function addEvents(app: FastifyInstance, events: EventLog, io: StreamIo): void {
  app.get<{ Querystring: { after?: string } }>('/v1/events', (request, reply) => {
    const stream = openStream(request, reply, io)
    const stop = events.read(
      {
        onEvent: ({ id, type, data }) =>
          stream.send({ id: String(id), event: type, data: JSON.stringify(data) }),
      },
      lastSeen(request.headers['last-event-id'] ?? request.query.after),
    )
    stream.onClose(stop)
  })
}

function lastSeen(value: string | string[] | undefined): number | undefined {
  const text = Array.isArray(value) ? value[0] : value
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}
