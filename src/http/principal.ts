// Who calls the REST interface.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { McpxError } from '../base/index.ts'
import { BAD_CREDENTIAL, LOCAL_USER, principalOf } from '../endpoint/index.ts'
import type { Principals } from '../endpoint/index.ts'
import { sendProblem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose credential the request has; the local user's where it has none. */
    principal: string
  }
}

/** Gives each request its principal. A credential that is not good is a 401 (RFC 6750, section 3), whatever was asked. */
export function addPrincipals(app: FastifyInstance, principals: Principals): void {
  app.decorateRequest('principal', LOCAL_USER)
  app.addHook('onRequest', async (request, reply) => {
    const principal = principalOf(request.raw, principals)
    if (principal !== undefined) request.principal = principal
    else await sendProblem(reply.headers(BAD_CREDENTIAL.headers), badCredential())
  })
}

/** Throws KEY_FORBIDDEN unless the local user asks. */
export function localOnly({ principal }: FastifyRequest): void {
  if (principal === LOCAL_USER) return
  throw new McpxError(
    'KEY_FORBIDDEN',
    `The key of "${principal}" may not change how the daemon works. Ask its local user to do it, without a key.`,
  )
}

function badCredential(): McpxError {
  return new McpxError('KEY_UNKNOWN', BAD_CREDENTIAL.message)
}
