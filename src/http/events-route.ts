import type { FastifyInstance } from 'fastify'
import type { Clock } from '../base/index.ts'
import { formatComment, formatSse } from '../wire/index.ts'
import type { EventLog } from './events.ts'

/** Bytes that may wait for a slow reader before it is dropped; it comes back with Last-Event-ID. */
const MAX_BUFFERED = 1024 * 1024

/** `GET /v1/events`: server-sent events, resumable with Last-Event-ID or `?after=`. */
export function addEvents(
  app: FastifyInstance,
  events: EventLog,
  io: { readonly clock: Clock; readonly keepAlive: () => number },
): void {
  app.get<{ Querystring: { after?: string } }>('/v1/events', (request, reply) => {
    reply.hijack()
    const response = reply.raw
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
    })
    response.write(formatComment('mcpx events'))
    const stop = events.read(
      {
        onEvent: ({ id, type, data }) => {
          if (response.writableLength > MAX_BUFFERED) response.destroy()
          return response.destroyed
            ? false
            : (response.write(formatSse({ id: String(id), event: type, data: JSON.stringify(data) })), true)
        },
      },
      lastSeen(request.headers['last-event-id'] ?? request.query.after),
    )
    let timer = io.clock.after(io.keepAlive(), alive)
    function alive(): void {
      response.write(formatComment())
      timer = io.clock.after(io.keepAlive(), alive)
    }
    response.once('close', () => {
      timer.cancel()
      stop()
    })
  })
}

function lastSeen(value: string | string[] | undefined): number | undefined {
  const text = Array.isArray(value) ? value[0] : value
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}
