import type { JsonObject, McpxError } from '../base/index.ts'
import type { Era, RevisionId } from '../spec/index.ts'
import type { TransportKind } from '../wire/index.ts'

/** How a verdict was reached. `raced` and `closed` are probes that a time-out or a dying process decided. */
export type VerdictSource = 'probe' | 'raced' | 'closed' | 'cache' | 'forced'

/** What an upstream turned out to be. */
export interface Verdict {
  /** How it is driven: `legacy` on what `initialize` opened, `modern` by request metadata. */
  readonly era: Era
  /** The revision agreed on. A server may answer `initialize` with a modern one; its session then speaks that method set. */
  readonly revision: RevisionId
  readonly transport: TransportKind
  readonly source: VerdictSource
  /** Whether a remembered era was wrong. */
  readonly stale: boolean
  /** The result of `server/discover` or `initialize` that settled it. */
  readonly opening: JsonObject
}

/** What a plan knows before the first byte: from the cache, or from the transport that the configuration names. */
export interface Remembered {
  readonly era: Era
  readonly transport: TransportKind
  /** The question that the preference asks first: the order to go on in when what is remembered proves wrong. */
  readonly first: Question
}

/** How one start of one server is to be probed. */
export interface ProbePlan {
  /** For messages. */
  readonly server: string
  readonly transport: TransportKind
  readonly first: 'discover' | 'initialize'
  /** `first-only` never sends the other one: the era is forced. */
  readonly scope: 'both' | 'first-only'
  readonly remembered: Remembered | undefined
  /** How long a pipe may be silent before the other question is asked beside the first, in ms. */
  readonly probeTimeout: number
  /** Bounds the whole start, in ms. */
  readonly startTimeout: number
}

export type Question = 'discover' | 'initialize'

export type ProbeTimer = 'start' | 'silence' | 'confirm' | 'retry-discover' | 'retry-initialize'

export type ProbeEffect =
  /** Open a channel; a channel that is open already is ended first. */
  | { readonly kind: 'open'; readonly transport: TransportKind }
  | { readonly kind: 'send'; readonly question: Question; readonly version: RevisionId }
  | { readonly kind: 'start-timer'; readonly timer: ProbeTimer; readonly ms: number }
  | { readonly kind: 'settle'; readonly verdict: Verdict }
  /** The verdict stands for this connection, but what is remembered must say this from now on. */
  | { readonly kind: 'correct'; readonly era: Era; readonly revision: RevisionId }
  /** End whatever is open. Nothing is remembered. */
  | { readonly kind: 'fail'; readonly error: McpxError }
