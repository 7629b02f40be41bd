// Requests by what they were and how they ended, in a bounded number of combinations.
import type { Outcome } from '../endpoint/index.ts'
import { ERRORS, isRevisionId } from '../spec/index.ts'

export interface RequestLabels {
  /** `unknown` where nothing in the request tells its era. */
  readonly era: 'legacy' | 'modern' | 'unknown'
  /** The revision it was answered in, else the one it asked for where mcpx knows it; `none` where it asked for none. */
  readonly revision: string
  readonly method: string
  /** `none` on a pipe, and where the client was gone before anything was sent. */
  readonly status: string
  /** `none` without an error; codes that no revision gives a meaning share the overflow. */
  readonly code: string
}

export interface RequestCount {
  readonly labels: RequestLabels
  count: number
}

/** What takes the place of a value that is one too many. */
const OVERFLOW = '__other__'

/** Combinations that are counted apart. Each is a series in Prometheus. */
const MAX_COUNTS = 1000
const CODES: ReadonlySet<number> = new Set(Object.values(ERRORS))

export class RequestCounts {
  readonly #counts = new Map<string, RequestCount>()

  add(outcome: Outcome): void {
    const labels = labelsOf(outcome)
    const key = keyOf(labels)
    const known = this.#counts.get(key)
    if (known !== undefined) known.count++
    else if (this.#counts.size < MAX_COUNTS) this.#counts.set(key, { labels, count: 1 })
    else this.#overflow(labels.era)
  }

  all(): Iterable<RequestCount> {
    return this.#counts.values()
  }

  /** One more combination for each era, so that sums by era stay true. */
  #overflow(era: RequestLabels['era']): void {
    const labels = { era, revision: OVERFLOW, method: OVERFLOW, status: OVERFLOW, code: OVERFLOW }
    const key = keyOf(labels)
    const known = this.#counts.get(key)
    if (known === undefined) this.#counts.set(key, { labels, count: 1 })
    else known.count++
  }
}

function labelsOf({ era, served, asked, method, status, code }: Outcome): RequestLabels {
  return {
    era: era ?? 'unknown',
    revision: served ?? (asked === null ? 'none' : isRevisionId(asked) ? asked : OVERFLOW),
    method,
    status: status === null ? 'none' : String(status),
    code: code === null ? 'none' : CODES.has(code) ? String(code) : OVERFLOW,
  }
}

function keyOf({ era, revision, method, status, code }: RequestLabels): string {
  return `${era} ${revision} ${method} ${status} ${code}`
}
