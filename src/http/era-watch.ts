// Watches in which era clients come and what they get: who falls back, who is stuck, who still needs the legacy era. Everything
// here is bounded, whatever clients call themselves or ask for.
import type { Clock } from '../base/index.ts'
import type { Outcome } from '../endpoint/index.ts'
import { METHOD } from '../spec/index.ts'
import type { Era } from '../spec/index.ts'
import { ClientTable } from './client-table.ts'
import type { ClientRow } from './client-table.ts'
import { RequestCounts } from './request-counts.ts'
import type { RequestCount } from './request-counts.ts'

/** How soon `initialize` must follow a failed modern request to count as falling back, in ms. */
const FALLBACK_WINDOW = 5000
/** A refused client that was silent for so long has been repaired, or has given up, in ms. */
const STUCK_MEMORY = 60 * 60_000

export type ClientReport = Omit<ClientRow, 'attempt' | 'refusedSince'> & {
  /** Refused, without a success since, and seen within the last hour. */
  readonly stuck: boolean
  /** When its first refusal since its last success was, in ms since the epoch. */
  readonly stuckSince: number | null
}

export interface ClientsReport {
  /** The client seen last comes first. */
  readonly clients: readonly ClientReport[]
  readonly stuck: number
  readonly fallback: FallbackReport
  readonly ambiguous: Readonly<Record<AmbiguousReason, number>>
  /** All requests since the start, by era. */
  readonly requests: Readonly<Record<Era | 'unknown', number>>
  /** Clients that left the table to make room. */
  readonly forgotten: number
}

export interface FallbackReport {
  readonly pairs: number
  /** The share of `initialize` requests that came after a failed modern request; null before the first. */
  readonly rate: number | null
  /** What clients lost between the modern request and `initialize`, in ms, all pairs together. */
  readonly lostMs: number
}

/** Why a request without the marker was taken for a modern one. */
export type AmbiguousReason = 'header' | 'method'

export class EraWatch {
  readonly #clock: Clock
  readonly #table = new ClientTable()
  readonly #counts = new RequestCounts()
  readonly #ambiguous = { header: 0, method: 0 }
  readonly #byEra = { legacy: 0, modern: 0, unknown: 0 }
  readonly #listeners: ((outcome: Outcome) => void)[] = []
  #opened = 0
  #pairs = 0
  #lostMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls back for every outcome that is taken in. */
  onOutcome(listener: (outcome: Outcome) => void): void {
    this.#listeners.push(listener)
  }

  /** Takes one outcome in. Constant time. */
  observe(outcome: Outcome): void {
    const { era, reason } = outcome
    this.#counts.add(outcome)
    this.#byEra[era ?? 'unknown']++
    if (era === 'modern' && (reason === 'header' || reason === 'method')) this.#ambiguous[reason]++
    const row = this.#table.touch(outcome, outcome.at + outcome.ms)
    const opens = era === 'legacy' && outcome.method === METHOD.initialize
    if (opens) {
      this.#opened++
      this.#pair(row, outcome)
    }
    noteUse(row, outcome)
    noteResult(row, outcome)
    // A client may say its name only once it is let in: whatever it was refused before was the same client.
    if ((opens || outcome.method === METHOD.discover) && row.name !== null && succeeded(outcome)) {
      const unnamed = this.#table.unnamed(outcome)
      if (unnamed !== undefined && outcome.at - unnamed.lastSeen <= FALLBACK_WINDOW)
        unnamed.refusedSince = null
    }
    for (const listener of this.#listeners) listener(outcome)
  }

  get fallback(): FallbackReport {
    const rate = this.#opened === 0 ? null : this.#pairs / this.#opened
    return { pairs: this.#pairs, rate, lostMs: this.#lostMs }
  }

  get ambiguous(): Readonly<Record<AmbiguousReason, number>> {
    return this.#ambiguous
  }

  requestCounts(): Iterable<RequestCount> {
    return this.#counts.all()
  }

  stuck(): number {
    const now = this.#clock.now()
    let count = 0
    for (const row of this.#table.all()) if (isStuck(row, now)) count++
    return count
  }

  report(): ClientsReport {
    const now = this.#clock.now()
    const clients = [...this.#table.all()].toReversed().map((row) => reportOf(row, now))
    return {
      clients,
      stuck: clients.filter(({ stuck }) => stuck).length,
      fallback: this.fallback,
      ambiguous: { ...this.#ambiguous },
      requests: { ...this.#byEra },
      forgotten: this.#table.forgotten,
    }
  }

  /** Counts a fallback pair where the client's last modern request failed a moment ago, under its name or under none. */
  #pair(row: ClientRow, outcome: Outcome): void {
    const unnamed = row.name === null ? undefined : this.#table.unnamed(outcome)
    for (const tried of [row, unnamed]) {
      const attempt = tried?.attempt
      if (tried === undefined || attempt === undefined) continue
      tried.attempt = undefined
      if (outcome.at < attempt.began || outcome.at - attempt.ended > FALLBACK_WINDOW) continue
      row.fallbackPairs++
      this.#pairs++
      this.#lostMs += Math.max(0, outcome.at - attempt.began)
      return
    }
  }
}

function noteUse(row: ClientRow, outcome: Outcome): void {
  const { era, asked, served } = outcome
  row.requests++
  row.transport = outcome.transport
  row.agent = outcome.agent
  row.version = outcome.client.version ?? row.version
  if (era === null) return
  const use = (row.eras[era] ??= { requests: 0, lastSeen: 0, asked: null, served: null })
  use.requests++
  use.lastSeen = row.lastSeen
  // Within a session the header repeats what was agreed on, which is not what the client wanted.
  const wants = outcome.reason === 'marker' || outcome.method === METHOD.initialize || use.asked === null
  if (wants) use.asked = asked
  use.served = served ?? use.served
  row.era = era
  row.asked = use.asked
  row.served = served
}

function noteResult(row: ClientRow, outcome: Outcome): void {
  const { era, method, status, code, refused } = outcome
  if (refused) {
    row.refusals++
    row.refusedSince ??= outcome.at
  } else if (succeeded(outcome)) row.refusedSince = null
  if (refused || code !== null) row.lastError = { at: outcome.at, era, method, status, code }
  // A modern request that got no answer at all failed too: its client may have waited in vain.
  if (era !== 'modern' || status === 202) return
  if (succeeded(outcome)) row.attempt = undefined
  else if (row.attempt === undefined || outcome.at - row.attempt.ended > FALLBACK_WINDOW)
    row.attempt = { began: outcome.at, ended: row.lastSeen }
  else row.attempt.ended = row.lastSeen
}

/** A request that got a result. A 202 says only that a message came, and without a status nobody was there to get any. */
function succeeded({ refused, code, status, transport }: Outcome): boolean {
  return !refused && code === null && (status === 200 || transport === 'stdio')
}

function isStuck(row: Pick<ClientRow, 'refusedSince' | 'lastSeen'>, now: number): boolean {
  return row.refusedSince !== null && now - row.lastSeen < STUCK_MEMORY
}

function reportOf(row: ClientRow, now: number): ClientReport {
  const { attempt: _attempt, refusedSince, ...shown } = row
  const stuck = isStuck(row, now)
  return { ...shown, stuck, stuckSince: stuck ? refusedSince : null }
}
