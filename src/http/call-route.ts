import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Cancellation, isObject, McpxError } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import type { Gateway } from '../gateway/index.ts'
import { isRevisionId, METHOD, newest, REVISIONS } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Call } from '../wire/index.ts'
import { unknownServer } from './unknown-server.ts'

/**
 * `POST /v1/call` with `{server, tool, args}`: the result in the newest shape. `X-Mcpx-Caller-Protocol` says in which revision
 * the caller reached whoever calls here; without it the call is modern. A server's own JSON-RPC error is a 502 problem.
 */
export function addCall(app: FastifyInstance, gateway: Gateway): void {
  app.post('/v1/call', async (request, reply) => {
    const { server, tool, args } = argumentsOf(request.body)
    const view = gateway.only(server)
    if (view === undefined) throw unknownServer(server, gateway)
    const cancellation = new Cancellation()
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) cancellation.cancel('the caller went away')
    })
    const call: Call = {
      method: METHOD.toolsCall,
      params: { name: tool, arguments: args },
      caller: {
        revision: callerRevision(request),
        clientInfo: undefined,
        capabilities: {},
        principal: request.principal,
        session: headerOf(request, 'x-mcpx-session'),
      },
      cancellation,
      asked: 'by-result',
      wantsProgress: false,
      logLevel: undefined,
      notify() {},
    }
    const answer = await view.handle(call)
    if ('result' in answer) return answer.result
    const { code, message } = answer.error
    throw new McpxError('UPSTREAM_ERROR', `Server "${server}" answered ${tool} with ${code}: ${message}`, {
      data: { error: answer.error },
    })
  })
}

function argumentsOf(body: unknown): { server: string; tool: string; args: JsonObject } {
  const { server, tool, args = {} } = isObject(body) ? body : {}
  if (typeof server === 'string' && typeof tool === 'string' && isObject(args)) return { server, tool, args }
  throw new McpxError('USAGE', 'The body must be {"server": "…", "tool": "…", "args": {…}}.')
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
