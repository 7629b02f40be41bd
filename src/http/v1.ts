// The REST interface under /v1.
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../base/index.ts'
import type { Settings } from '../config/index.ts'
import type { Gateway } from '../gateway/index.ts'
import { REVISIONS } from '../spec/index.ts'
import { addAsk } from './ask-route.ts'
import type { Asks } from './asks.ts'
import { addCall } from './call-route.ts'
import { addClients } from './clients-route.ts'
import type { EraWatch } from './era-watch.ts'
import type { EventLog } from './events.ts'
import { addEvents } from './events-route.ts'
import type { Doorkeeping } from './principal.ts'
import { reportProtocol, reportServer, reportServers } from './report.ts'
import { addQuestions } from './questions-route.ts'
import { addSettings } from './settings-route.ts'
import { unknownServer } from './unknown-server.ts'

export interface V1Options {
  readonly gateway: Gateway
  readonly clock: Clock
  readonly version: string
  readonly settings: Settings
  readonly events: EventLog
  readonly watch: EraWatch
  readonly asks: Asks
  readonly door: Doorkeeping
  /** Where a server's protocol preference was set. */
  readonly preferenceSource: (server: string) => string
}

export function addV1(app: FastifyInstance, options: V1Options): void {
  const { gateway, clock, version, preferenceSource, settings, events, watch } = options
  const began = clock.now()
  const io = { clock, keepAlive: () => settings.get('http.keepAlive'), door: options.door }
  app.get('/v1/health', () => ({ status: 'ok', version, uptimeMs: clock.now() - began }))
  app.get('/v1/servers', () => ({ servers: reportServers(gateway) }))
  app.get<{ Params: { name: string } }>('/v1/servers/:name', (request) => {
    const { name } = request.params
    const member = gateway.members.find((candidate) => candidate.name === name)
    if (member === undefined) throw unknownServer(name, gateway.names)
    return reportServer(member)
  })
  app.get('/v1/protocol', () => ({
    servers: reportProtocol(gateway, clock.now(), preferenceSource),
    revisions: REVISIONS,
  }))
  addCall(app, gateway)
  addAsk(app, gateway, options.asks)
  addQuestions(app, gateway.inbox, { ...io, events })
  addClients(app, watch)
  addSettings(app, settings)
  addEvents(app, events, io)
}
