import type { FastifyInstance } from 'fastify'
import type { EraWatch } from './era-watch.ts'

/** `GET /v1/clients`: who calls, in which era, who is stuck, and who still needs the legacy one. Times in ms since the epoch. */
export function addClients(app: FastifyInstance, watch: EraWatch): void {
  app.get('/v1/clients', () => watch.report())
}
