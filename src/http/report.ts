// What the REST interface says of servers and eras: plain JSON, made anew for each request.
import type { McpxError } from '../base/index.ts'
import type { EraRecord, VerdictSource } from '../era/index.ts'
import type { Gateway, Member } from '../gateway/index.ts'
import { serverInfoOf } from '../pool/index.ts'
import type { LaneName, ProbeFrame, UpstreamState } from '../pool/index.ts'
import type { Era, RevisionId } from '../spec/index.ts'
import type { TransportKind } from '../wire/index.ts'

export interface ServerReport {
  readonly name: string
  readonly state: UpstreamState
  readonly era: Era | null
  readonly revision: RevisionId | null
  readonly transport: TransportKind
  readonly eraSource: VerdictSource | null
  readonly serverInfo: Readonly<Record<string, unknown>> | null
  /** Tools that callers see, null while they are not known. */
  readonly tools: number | null
  /** How long the last start took, in ms. */
  readonly startMs: number | null
  readonly error: ErrorReport | null
  readonly instances: readonly InstanceReport[]
}

export interface InstanceReport {
  readonly lane: LaneName
  readonly state: string
  readonly leases: number
  readonly inFlight: number
}

export interface ErrorReport {
  readonly code: string
  readonly message: string
}

export interface ProtocolReport {
  readonly name: string
  readonly preference: string
  /** The layer that set the preference, with the file, variable or flag where it has one. */
  readonly preferenceSource: string
  readonly live: {
    readonly era: Era
    readonly revision: RevisionId
    readonly eraSource: VerdictSource
  } | null
  readonly record: (EraRecord & { readonly ageMs: number }) | null
  /** The frames of the last start, newest start only. */
  readonly probe: readonly ProbeFrame[]
}

export function reportServers(gateway: Gateway): ServerReport[] {
  return gateway.members.map(reportServer)
}

export function reportServer(member: Member): ServerReport {
  const { upstream } = member
  const verdict = upstream.current?.verdict
  const tools = member.latestTools
  return {
    name: upstream.name,
    state: upstream.state,
    era: verdict?.era ?? null,
    revision: verdict?.revision ?? null,
    transport: verdict?.transport ?? upstream.spec.transport,
    eraSource: verdict?.source ?? null,
    serverInfo: (verdict && serverInfoOf(verdict)) ?? null,
    tools:
      tools === undefined ? null : tools.items.filter((tool) => member.allows(String(tool['name']))).length,
    startMs: upstream.lastStart?.ms ?? null,
    error: reportError(upstream.state === 'failed' ? upstream.lastError : undefined),
    instances: upstream.instances().map(({ lane, instance }) => ({
      lane,
      state: instance.state,
      leases: instance.leases,
      inFlight: instance.connection?.inFlight ?? 0,
    })),
  }
}

/** How each server's era was and is found out. `sourceOf` says where a server's preference was set. */
export function reportProtocol(
  gateway: Gateway,
  now: number,
  sourceOf: (server: string) => string,
): ProtocolReport[] {
  return gateway.members.map(({ upstream }) => {
    const verdict = upstream.current?.verdict
    const { record } = upstream
    return {
      name: upstream.name,
      preference: upstream.spec.tuning().preference,
      preferenceSource: sourceOf(upstream.name),
      live:
        verdict === undefined
          ? null
          : { era: verdict.era, revision: verdict.revision, eraSource: verdict.source },
      record: record === undefined ? null : { ...record, ageMs: Math.max(0, now - record.at) },
      probe: upstream.lastStart?.frames ?? [],
    }
  })
}

function reportError(error: McpxError | undefined): ErrorReport | null {
  return error === undefined ? null : { code: error.code, message: error.message }
}
