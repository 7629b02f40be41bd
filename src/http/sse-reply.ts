// A stream of events as the answer to a REST request.
import type { FastifyReply } from 'fastify'
import type { Clock } from '../base/index.ts'
import { beginEventStream } from '../endpoint/index.ts'
import { formatComment, formatSse } from '../wire/index.ts'

export interface EventStream {
  /** Sends an event. False where the reader is gone, or too slow: it is broken off. */
  send(event: { readonly id?: string; readonly event: string; readonly data: string }): boolean
  onClose(listener: () => void): void
}

/** Bytes that may wait for a slow reader. */
const MAX_BUFFERED = 1024 * 1024

/** Begins the stream. `keepAlive` in ms: how often a silent one carries a comment. */
export function openStream(
  reply: FastifyReply,
  greeting: string,
  io: { readonly clock: Clock; readonly keepAlive: () => number },
): EventStream {
  reply.hijack()
  const response = reply.raw
  beginEventStream(response, {}, io)
  response.write(formatComment(greeting))
  return {
    send: (event) => {
      if (response.writableLength > MAX_BUFFERED) response.destroy()
      if (response.destroyed) return false
      response.write(formatSse(event))
      return true
    },
    onClose: (listener) => void response.once('close', listener),
  }
}
