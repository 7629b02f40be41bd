import type { Era, RevisionId } from '../spec/index.ts'
import type { TransportKind } from '../wire/index.ts'
import type { ProbeEffect, ProbePlan, Question } from './verdict.ts'

/** How far a question has come on the channel that is open. */
export type Progress = 'unsent' | 'pending' | 'answered' | 'refused'

export interface ProbeState {
  readonly plan: ProbePlan
  readonly phase: 'opening' | 'asking' | 'confirming' | 'settled' | 'failed'
  readonly transport: TransportKind
  /** What may be sent on the channel that is open now. */
  readonly may: 'both' | 'discover-only' | 'initialize-only'
  readonly first: Question
  /** Channels opened so far; a start may open three. */
  readonly opened: number
  readonly progress: Readonly<Record<Question, Progress>>
  /** Sends of each version of discover on this channel. */
  readonly sends: Readonly<Partial<Record<RevisionId, number>>>
  /** What discover said while initialize was still out. */
  readonly found: { readonly revision: RevisionId; readonly result: Record<string, unknown> } | undefined
  /** Why each question was refused, for the error that ends a start. */
  readonly refusals: Readonly<Partial<Record<Question, Refusal>>>
  /** The era that is remembered and not yet contradicted. */
  readonly believed: Era | undefined
  readonly stale: boolean
  /** Set by a detour; a settled start that took none is a plain `probe`. */
  readonly detour: 'raced' | 'closed' | undefined
}

export interface Step {
  readonly state: ProbeState
  readonly effects: readonly ProbeEffect[]
}

/** Why a question was refused. `bare` marks the statuses that HTTP+SSE servers answer a POST with. */
export interface Refusal {
  readonly why: string
  readonly answer: string
  readonly bare: boolean
  /** What came is no answer at all, so that the question may have been taken as well. */
  readonly unclear: boolean
}

/** Where both questions stand on a channel that was just opened. */
export const UNSENT = { discover: 'unsent', initialize: 'unsent' } as const
