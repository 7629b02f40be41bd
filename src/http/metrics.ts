// Figures for Prometheus, in a registry of their own. Import it only where they are served: the library is not small.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Metric } from 'prom-client'
import type { Outcome } from '../endpoint/index.ts'
import type { Gateway } from '../gateway/index.ts'
import type { UpstreamState } from '../pool/index.ts'
import type { EraWatch } from './era-watch.ts'
import type { RefusalCounts } from './refusal-counts.ts'

export interface MetricsSources {
  readonly watch: EraWatch
  readonly gateway: Gateway
  readonly refusals: RefusalCounts
  /** Legacy sessions that are open. */
  readonly sessions: () => number
}

export interface Metrics {
  readonly contentType: string
  /** Takes the duration of one request in. */
  readonly observe: (outcome: Outcome) => void
  /** All figures in the text format. */
  text(): Promise<string>
}

/** In seconds: from what a list in memory takes to what a slow tool takes. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const STATES: Readonly<Record<UpstreamState, number>> = { idle: 0, starting: 0, ready: 0, failed: 0 }

/** What is counted elsewhere is read when somebody asks, so a request pays for its duration alone. */
export function createMetrics({ watch, gateway, refusals, sessions }: MetricsSources): Metrics {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const durations = new Histogram({
    name: 'mcpx_request_duration_seconds',
    help: 'How long requests from clients took, by era and method.',
    labelNames: ['era', 'method'] as const,
    buckets: BUCKETS,
    registers: [],
  })
  const requests = new Counter({
    name: 'mcpx_requests_total',
    help: 'Requests from clients, by era, revision, method, HTTP status and JSON-RPC error code.',
    labelNames: ['era', 'revision', 'method', 'status', 'code'] as const,
    registers: [],
    collect() {
      this.reset()
      for (const { labels, count } of watch.requestCounts()) this.inc({ ...labels }, count)
    },
  })
  const pairs = new Counter({
    name: 'mcpx_fallback_pairs_total',
    help: 'Modern requests that failed and were followed by initialize of the same client within 5 seconds.',
    registers: [],
    collect() {
      this.reset()
      this.inc(watch.fallback.pairs)
    },
  })
  const lost = new Counter({
    name: 'mcpx_fallback_lost_seconds_total',
    help: 'Time that clients lost between a failed modern request and initialize.',
    registers: [],
    collect() {
      this.reset()
      this.inc(watch.fallback.lostMs / 1000)
    },
  })
  const ambiguous = new Counter({
    name: 'mcpx_ambiguous_requests_total',
    help: 'Requests without the marker that were taken for modern ones, by what decided.',
    labelNames: ['reason'] as const,
    registers: [],
    collect() {
      this.reset()
      for (const [reason, count] of Object.entries(watch.ambiguous)) this.inc({ reason }, count)
    },
  })
  const refused = new Counter({
    name: 'mcpx_refused_total',
    help: 'Requests over HTTP that were not let in, or asked for too much, by what for.',
    labelNames: ['reason'] as const,
    registers: [],
    collect() {
      this.reset()
      for (const [reason, count] of refusals.all()) this.inc({ reason }, count)
    },
  })
  const stuck = new Gauge({
    name: 'mcpx_stuck_clients',
    help: 'Clients that were refused, had no success since, and were seen within the last hour.',
    registers: [],
    collect() {
      this.set(watch.stuck())
    },
  })
  const open = new Gauge({
    name: 'mcpx_sessions',
    help: 'Open legacy sessions over HTTP.',
    registers: [],
    collect() {
      this.set(sessions())
    },
  })
  const upstreams = new Gauge({
    name: 'mcpx_upstreams',
    help: 'Servers of the configuration, by state.',
    labelNames: ['state'] as const,
    registers: [],
    collect() {
      const counts = { ...STATES }
      for (const { upstream } of gateway.members) counts[upstream.state]++
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count)
    },
  })
  const parked = new Gauge({
    name: 'mcpx_parked_calls',
    help: 'Calls that wait on a server for an answer of their caller.',
    registers: [],
    collect() {
      this.set(gateway.parked())
    },
  })
  const all: readonly Metric[] = [
    durations,
    requests,
    pairs,
    lost,
    ambiguous,
    refused,
    stuck,
    open,
    upstreams,
    parked,
  ]
  for (const metric of all) register.registerMetric(metric)
  return {
    contentType: register.contentType,
    observe: ({ era, method, ms }) => durations.observe({ era: era ?? 'unknown', method }, ms / 1000),
    text: () => register.metrics(),
  }
}
