// Who calls the REST interface, and who is turned away.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { McpxError } from '../base/index.ts'
import type { FailureCode } from '../base/index.ts'
import { admitCaller, LOCAL_USER, refusedPlace } from '../endpoint/index.ts'
import type { EndpointOptions, Refused, RefusedFor } from '../endpoint/index.ts'
import { sendProblem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose credential the request has. */
    principal: string
  }
  interface FastifyContextConfig {
    /** Whether the route answers whoever asks: it says nothing. */
    anyone?: boolean
  }
}

export type Doorkeeping = Pick<EndpointOptions, 'access' | 'principals' | 'quotas' | 'onRefused'>

/** The code of a problem for each reason. */
const CODES: Readonly<
  Record<Exclude<RefusedFor, 'forbidden' | 'sessions' | 'body' | 'header'>, FailureCode>
> = {
  origin: 'ORIGIN_REFUSED',
  host: 'HOST_REFUSED',
  'key-missing': 'KEY_MISSING',
  'key-malformed': 'KEY_UNKNOWN',
  'key-unknown': 'KEY_UNKNOWN',
  'key-unreadable': 'KEY_UNKNOWN',
  'key-expired': 'KEY_EXPIRED',
  'key-revoked': 'KEY_REVOKED',
  rate: 'TOO_MANY_REQUESTS',
  streams: 'TOO_MANY_STREAMS',
}
/** Clients look for an authorization server here before they give up; there is none. */
const WELL_KNOWN = '/.well-known/'

/** Gives each request its principal, and answers those that may not come in, whatever they ask for. */
export function addPrincipals(app: FastifyInstance, means: Doorkeeping): void {
  app.decorateRequest('principal', LOCAL_USER)
  app.addHook('onRequest', async (request, reply) => {
    const { raw, url, is404, routeOptions } = request
    const misplaced = refusedPlace(raw, means)
    const anyone = routeOptions.config.anyone === true || (is404 && url.startsWith(WELL_KNOWN))
    const admitted = misplaced ?? (anyone ? LOCAL_USER : admitCaller(raw, means))
    if (typeof admitted === 'string') request.principal = admitted
    else await sendProblem(reply.headers(admitted.headers), refusedError(admitted))
  })
}

/** Throws KEY_FORBIDDEN unless the local user asks. */
export function localOnly({ principal }: FastifyRequest): void {
  if (principal === LOCAL_USER) return
  throw new McpxError(
    'KEY_FORBIDDEN',
    `The key of "${principal}" may not change how the daemon works. Ask its local user to do it.`,
  )
}

export function refusedError({ reason, message }: Refused): McpxError {
  return new McpxError(reason in CODES ? CODES[reason as keyof typeof CODES] : 'USAGE', message)
}
