// A stream of events as the answer to a REST request.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/index.ts'
import { admitStream, beginEventStream } from '../endpoint/index.ts'
import { refusedError } from './principal.ts'
import type { Doorkeeping } from './principal.ts'
import { formatComment, formatSse } from '../wire/index.ts'

export interface EventStream {
  /** Sends an event. False where the reader is gone, or too slow: it is broken off. */
  send(event: { readonly id?: string; readonly event: string; readonly data: string }): boolean
  onClose(listener: () => void): void
}

/** Bytes that may wait for a slow reader. */
const MAX_BUFFERED = 1024 * 1024

export interface StreamIo {
  readonly clock: Clock
  /** How often a silent stream carries a comment, in ms. */
  readonly keepAlive: () => number
  readonly door: Doorkeeping
}

/** Begins the stream. Throws TOO_MANY_STREAMS where the caller has enough of them. */
export function openStream(request: FastifyRequest, reply: FastifyReply, io: StreamIo): EventStream {
  const response = reply.raw
  const onClose = (listener: () => void): void => void response.once('close', listener)
  const refused = admitStream(request.principal, { onClose }, io.door)
  if (refused !== undefined) {
    void reply.headers(refused.headers)
    throw refusedError(refused)
  }
  reply.hijack()
  beginEventStream(response, {}, io)
  response.write(formatComment('mcpx'))
  return {
    send: (event) => {
      if (response.writableLength > MAX_BUFFERED) response.destroy()
      if (response.destroyed) return false
      response.write(formatSse(event))
      return true
    },
    onClose,
  }
}
