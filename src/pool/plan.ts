// Which question a start asks first, and what it may believe beforehand.
import type { EraMemory, EraRecord, ProbePlan, Verdict } from '../era/index.ts'
import type { ServerSpec, ServerTuning } from './server-spec.ts'

type Preference = ServerTuning['preference']

/** The two halves of a server's pool. Only `follow` uses the second. */
export type LaneName = 'main' | 'legacy'

/** Plans one start. A legacy record older than `eraMaxAge` ms is not believed: an upgraded server still answers it. */
export function planStart(
  spec: ServerSpec,
  lane: LaneName,
  memory: { readonly eras: EraMemory; readonly now: number; readonly eraMaxAge: number },
): ProbePlan {
  const { name: server, transport } = spec
  const { preference, probeTimeout, startTimeout } = spec.tuning()
  const bounds = { server, probeTimeout, startTimeout }
  const forced = forcedQuestion(preference, lane)
  if (forced !== undefined)
    return { ...bounds, transport, first: forced, scope: 'first-only', remembered: undefined }
  const preferred = preferredQuestion(preference)
  const record = memory.eras.recall(spec.digest)
  if (record === undefined || !believable(record, preferred, memory)) {
    return { ...bounds, transport, first: preferred, scope: 'both', remembered: undefined }
  }
  const first = record.era === 'legacy' ? 'initialize' : 'discover'
  return { ...bounds, transport: record.transport, first, scope: 'both', remembered: record }
}

/** The record of a verdict, or undefined for one that was forced and so says nothing of what the server would have chosen. */
export function recordOf(
  spec: ServerSpec,
  verdict: Verdict,
  facts: {
    readonly now: number
    readonly previous: EraRecord | undefined
    readonly server: EraRecord['server']
  },
): EraRecord | undefined {
  const { source, era, revision, transport } = verdict
  if (source === 'forced') return undefined
  const { now, previous, server } = facts
  if (source === 'cache' && previous !== undefined) {
    const renamed = previous.server.version !== server.version || previous.server.name !== server.name
    // Another version of a server that was legacy may be dual-era by now, and nothing else would ever tell.
    const doubted = era === 'legacy' && renamed
    return { ...previous, revision, transport, usedAt: now, ...(doubted ? { doubted } : {}) }
  }
  const asks = era === 'legacy' ? previous?.asks : undefined
  return {
    ...{ era, revision, transport, server, ...(asks === undefined ? {} : { asks }) },
    source: source === 'cache' ? 'probe' : source,
    first: preferredQuestion(spec.tuning().preference),
    at: now,
    usedAt: now,
  }
}

function preferredQuestion(preference: Preference): 'discover' | 'initialize' {
  return preference === 'prefer-initialize' ? 'initialize' : 'discover'
}

function forcedQuestion(preference: Preference, lane: LaneName): 'discover' | 'initialize' | undefined {
  if (lane === 'legacy' || preference === 'force-initialize') return 'initialize'
  return preference === 'force-discover' ? 'discover' : undefined
}

function believable(
  record: EraRecord,
  preferred: 'discover' | 'initialize',
  memory: { readonly now: number; readonly eraMaxAge: number },
): boolean {
  if (record.doubted === true || record.first !== preferred) return false
  // A clock that was set back makes a record look young for ever, so an age below zero counts as old.
  const age = memory.now - record.at
  return record.era === 'modern' || (age >= 0 && age < memory.eraMaxAge)
}
