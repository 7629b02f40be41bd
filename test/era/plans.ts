// A plan for every preference, memory and transport, as the pool makes them.
import type { EraMemory, EraRecord, ProbePlan } from '../../src/era/index.ts'
import { planStart } from '../../src/pool/plan.ts'
import type { LaneName } from '../../src/pool/plan.ts'
import { memoryOnly } from '../../src/pool/index.ts'
import type { ServerSpec } from '../../src/pool/index.ts'
import type { TransportKind } from '../../src/wire/index.ts'

export type Preference = ReturnType<ServerSpec['tuning']>['preference']

export const PREFERENCES = [
  'prefer-discover',
  'prefer-initialize',
  'force-discover',
  'force-initialize',
  'follow',
] as const satisfies readonly Preference[]

const TRANSPORTS = ['stdio', 'streamable-http', 'http+sse'] as const satisfies readonly TransportKind[]

export const PROBE_TIMEOUT = 2000
export const START_TIMEOUT = 60_000
export const ERA_MAX_AGE = 86_400_000
export const NOW = 1_800_000_000_000

export function specOf(preference: Preference, transport: TransportKind): ServerSpec {
  return {
    name: 'files',
    target:
      transport === 'stdio'
        ? { kind: 'stdio', command: 'files', args: [], env: {}, cwd: undefined }
        : { kind: 'http', url: 'http://127.0.0.1/mcp', headers: {} },
    transport,
    digest: 'digest of files',
    scope: 'global',
    max: 1,
    min: 0,
    start: 'lazy',
    tuning: () => ({
      preference,
      probeTimeout: PROBE_TIMEOUT,
      startTimeout: START_TIMEOUT,
      callTimeout: 60_000,
      callTimeoutMax: 600_000,
      idleTimeout: 300_000,
    }),
  }
}

export function recordFor(spec: ServerSpec, record: Partial<EraRecord>): EraRecord {
  const era = record.era ?? 'legacy'
  const modernTransport = spec.transport === 'http+sse' ? 'streamable-http' : spec.transport
  return {
    era,
    revision: era === 'legacy' ? '2025-06-18' : '2026-07-28',
    transport: era === 'legacy' ? spec.transport : modernTransport,
    source: 'probe',
    first: spec.tuning().preference === 'prefer-initialize' ? 'initialize' : 'discover',
    at: NOW,
    usedAt: NOW,
    server: { name: 'files', version: '1' },
    ...record,
  }
}

export function remembering(spec: ServerSpec, record: EraRecord | undefined): EraMemory {
  const memory = memoryOnly()
  if (record !== undefined) memory.remember(spec.digest, record)
  return memory
}

export function planOf(spec: ServerSpec, record?: EraRecord, lane: LaneName = 'main'): ProbePlan {
  return planStart(spec, lane, { eras: remembering(spec, record), now: NOW, eraMaxAge: ERA_MAX_AGE })
}

export interface NamedPlan {
  readonly name: string
  readonly spec: ServerSpec
  readonly plan: ProbePlan
}

/** Five preferences × no record, a legacy one, a modern one × three transports; and the legacy lane of `follow`. */
export function allPlans(): NamedPlan[] {
  const plans: NamedPlan[] = []
  for (const transport of TRANSPORTS) {
    for (const preference of PREFERENCES) {
      const spec = specOf(preference, transport)
      for (const era of [undefined, 'legacy', 'modern'] as const) {
        const record = era === undefined ? undefined : recordFor(spec, { era })
        const name = `${preference}, ${transport}, ${era ?? 'no'} record`
        plans.push({ name, spec, plan: planOf(spec, record) })
      }
    }
    const spec = specOf('follow', transport)
    plans.push({ name: `legacy lane, ${transport}`, spec, plan: planOf(spec, undefined, 'legacy') })
  }
  return plans
}
