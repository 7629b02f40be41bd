import type { FastifyInstance } from 'fastify'
import { isObject, McpxError } from '../base/index.ts'
import { parseDuration } from '../config/index.ts'
import type { Gateway } from '../gateway/index.ts'
import type { Asks } from './asks.ts'
import { toolRequestOf } from './tool-call.ts'
import { unknownServer } from './unknown-server.ts'

/**
 * `POST /v1/ask` starts a tool call: 202 with its id. `GET /v1/ask/{id}?wait=30s` says how it stands; `POST
 * /v1/ask/{id}/answers` answers what it asks, by key; `DELETE /v1/ask/{id}` ends it.
 */
export function addAsk(app: FastifyInstance, gateway: Gateway, asks: Asks): void {
  interface WithId {
    readonly Params: { readonly id: string }
  }
  app.post('/v1/ask', async (request, reply) => {
    const wanted = toolRequestOf(request.body)
    const view = gateway.only(wanted.server)
    if (view === undefined) throw unknownServer(wanted.server, gateway.names)
    return reply.status(202).send(asks.start(view, wanted, request.principal))
  })
  app.get<WithId & { Querystring: { wait?: string } }>('/v1/ask/:id', (request) => {
    const { wait = '0s' } = request.query
    const ms = parseDuration(wait)
    if (ms === undefined) throw new McpxError('USAGE', '"wait" must be a duration like 30s, at most 60s.')
    return asks.get(request.params.id, request.principal, ms)
  })
  app.post<WithId>('/v1/ask/:id/answers', async (request, reply) => {
    const { body } = request
    if (!isObject(body)) throw new McpxError('USAGE', 'The body must be an object of answers by key.')
    return reply.status(202).send(asks.answer(request.params.id, request.principal, body))
  })
  app.delete<WithId>('/v1/ask/:id', async (request, reply) => {
    asks.drop(request.params.id, request.principal)
    return reply.status(204).send()
  })
}
