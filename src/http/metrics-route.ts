import type { FastifyInstance } from 'fastify'
import type { MetricsSources } from './metrics.ts'

/** `GET /metrics`: figures in the text format of Prometheus. */
export async function addMetrics(app: FastifyInstance, sources: MetricsSources): Promise<void> {
  const { createMetrics } = await import('./metrics.ts')
  const metrics = createMetrics(sources)
  sources.watch.onOutcome(metrics.observe)
  app.get('/metrics', async (_request, reply) => {
    await reply.type(metrics.contentType).send(await metrics.text())
  })
}
