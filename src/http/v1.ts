// The REST interface under /v1.
import type { FastifyInstance } from 'fastify'
import { McpxError, nearest } from '../base/index.ts'
import type { Clock } from '../base/index.ts'
import type { Gateway } from '../gateway/index.ts'
import { REVISIONS } from '../spec/index.ts'
import { reportProtocol, reportServer, reportServers } from './report.ts'

export interface V1Options {
  readonly gateway: Gateway
  readonly clock: Clock
  readonly version: string
  /** Where a server's protocol preference was set. */
  readonly preferenceSource: (server: string) => string
}

export function addV1(app: FastifyInstance, options: V1Options): void {
  const { gateway, clock, version, preferenceSource } = options
  const began = clock.now()
  app.get('/v1/health', () => ({ status: 'ok', version, uptimeMs: clock.now() - began }))
  app.get('/v1/servers', () => ({ servers: reportServers(gateway) }))
  app.get<{ Params: { name: string } }>('/v1/servers/:name', (request) => {
    const { name } = request.params
    const member = gateway.members.find((candidate) => candidate.name === name)
    if (member === undefined) throw unknownServer(name, gateway)
    return reportServer(member)
  })
  app.get('/v1/protocol', () => ({
    servers: reportProtocol(gateway, clock.now(), preferenceSource),
    revisions: REVISIONS,
  }))
}

/** The error for a name that the configuration does not have. */
export function unknownServer(name: string, gateway: Gateway): McpxError {
  const names = gateway.members.map((member) => member.name)
  const near = nearest(name, names)
  const advice =
    near === undefined ? `The servers are: ${names.join(', ') || 'none'}.` : `Did you mean "${near}"?`
  return new McpxError('SERVER_UNKNOWN', `There is no server "${name}" in the configuration. ${advice}`)
}
