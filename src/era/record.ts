import type { Era, RevisionId } from '../spec/index.ts'
import type { TransportKind } from '../wire/index.ts'
import type { Question, VerdictSource } from './verdict.ts'

/** What is remembered of a server between its starts. */
export interface EraRecord {
  readonly era: Era
  readonly revision: RevisionId
  readonly transport: TransportKind
  /** How it was learned; `forced` eras are never remembered. */
  readonly source: Exclude<VerdictSource, 'forced' | 'cache'>
  /** The question that was asked first. A dual-era server answers both, so the other order learns nothing from this one. */
  readonly first: Question
  /** When it was learned, in ms since the epoch. */
  readonly at: number
  /** When it last served, in ms since the epoch. */
  readonly usedAt: number
  /** What the server called itself then. */
  readonly server: { readonly name: string | undefined; readonly version: string | undefined }
  /** What is known to ask its caller something on the way, by what is called; legacy servers only. */
  readonly asks?: readonly string[]
  /** Set where something contradicts the record: the next start looks again. */
  readonly doubted?: true
}

/** Keeps era records by the digest of a server's process definition. */
export interface EraMemory {
  recall(digest: string): EraRecord | undefined
  remember(digest: string, record: EraRecord): void
  forget(digest: string): void
}
