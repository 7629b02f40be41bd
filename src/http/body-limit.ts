// The largest body of a REST request is a setting that may change while the daemon runs; fastify's own limit may not.
import { Transform } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { McpxError } from '../base/index.ts'

/** Refuses bodies over `limit` bytes with `BODY_TOO_LARGE`, before they are read where the request tells its length. */
export function addBodyLimit(app: FastifyInstance, limit: () => number, onRefused: () => void): void {
  const tooLarge = (): McpxError => {
    onRefused()
    return new McpxError('BODY_TOO_LARGE', `The body is larger than ${limit()} bytes (http.maxBody).`)
  }
  app.addHook('onRequest', async (request, reply) => {
    if (reply.sent || Number(request.headers['content-length'] ?? 0) <= limit()) return
    void reply.header('connection', 'close')
    throw tooLarge()
  })
  app.addHook('preParsing', async (request, _reply, payload) => {
    if (request.headers['content-length'] !== undefined) return payload
    let size = 0
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        size += chunk.length
        done(size > limit() ? tooLarge() : null, chunk)
      },
    })
    return payload.pipe(counted)
  })
}
