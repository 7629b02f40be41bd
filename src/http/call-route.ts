import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Cancellation, McpxError } from '../base/index.ts'
import type { Gateway } from '../gateway/index.ts'
import { isRevisionId, newest, REVISIONS } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { callTool, toolRequestOf } from './tool-call.ts'
import { unknownServer } from './unknown-server.ts'

/**
 * `POST /v1/call` with `{server, tool, args}`: the result in the newest shape. A tool that asks is a 202 with the questions
 * and a state; the same body with `answers` by key and that `state` goes on. `X-Mcpx-Caller-Protocol` says in which revision
 * the caller reached whoever calls here; without it the call is modern. A server's own JSON-RPC error is a 502 problem.
 */
export function addCall(app: FastifyInstance, gateway: Gateway): void {
  app.post('/v1/call', async (request, reply) => {
    const wanted = toolRequestOf(request.body)
    const view = gateway.only(wanted.server)
    if (view === undefined) throw unknownServer(wanted.server, gateway.names)
    const cancellation = new Cancellation()
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) cancellation.cancel('the caller went away')
    })
    const session = headerOf(request, 'x-mcpx-session')
    const caller = { principal: request.principal, revision: callerRevision(request), session }
    const outcome = await callTool(view, wanted, { caller, cancellation })
    switch (outcome.status) {
      case 'done':
        return outcome.result
      case 'input_required':
        return reply.status(202).send(outcome)
      case 'failed':
        throw outcome.error
    }
  })
}

function callerRevision(request: FastifyRequest): RevisionId {
  const named = headerOf(request, 'x-mcpx-caller-protocol')
  if (named === undefined) return newest()
  if (isRevisionId(named)) return named
  throw new McpxError(
    'USAGE',
    `X-Mcpx-Caller-Protocol must be one of ${REVISIONS.map(({ id }) => id).join(', ')}.`,
  )
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
