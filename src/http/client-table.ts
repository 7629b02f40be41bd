// The clients that were seen lately: a client is a name, as a principal, from an address. Those without a name are told apart by
// their User-Agent.
import type { Outcome } from '../endpoint/index.ts'
import type { Era } from '../spec/index.ts'

/** What the client wanted and got in one era, when last seen there. */
export interface EraUse {
  requests: number
  lastSeen: number
  asked: string | null
  served: string | null
}

export interface ClientError {
  readonly at: number
  readonly era: Era | null
  readonly method: string
  readonly status: number | null
  readonly code: number | null
}

/** Modern requests in a row that failed: when the first one came, and when the last one had its answer. */
export interface Attempt {
  readonly began: number
  ended: number
}

/** Times in ms since the epoch. */
export interface ClientRow {
  readonly name: string | null
  version: string | null
  agent: string | null
  readonly principal: string
  readonly remote: string | null
  transport: Outcome['transport']
  /** The era of the last request that had one. */
  era: Era | null
  asked: string | null
  served: string | null
  readonly eras: { legacy: EraUse | null; modern: EraUse | null }
  readonly firstSeen: number
  lastSeen: number
  requests: number
  refusals: number
  fallbackPairs: number
  refusedSince: number | null
  lastError: ClientError | null
  attempt: Attempt | undefined
}

/** Rows that are kept; whoever was not seen for longest leaves first. */
const MAX_CLIENTS = 1000

export class ClientTable {
  readonly #rows = new Map<string, ClientRow>()
  #latest: string | undefined
  #forgotten = 0

  /** Rows that had to leave. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** The row of a request's client, made where it has none, as the one seen last. */
  touch(outcome: Outcome, now: number): ClientRow {
    const key = keyOf(outcome, outcome.client.name)
    let row = this.#rows.get(key)
    row ??= newRow(outcome)
    if (this.#latest !== key) {
      this.#rows.delete(key)
      this.#rows.set(key, row)
      this.#latest = key
      if (this.#rows.size > MAX_CLIENTS) this.#forgetOldest()
    }
    row.lastSeen = now
    return row
  }

  /** The row of what came from the same place and program without a name. */
  unnamed(outcome: Outcome): ClientRow | undefined {
    return this.#rows.get(keyOf(outcome, null))
  }

  /** The client seen last comes last. */
  all(): Iterable<ClientRow> {
    return this.#rows.values()
  }

  #forgetOldest(): void {
    const [oldest] = this.#rows.keys()
    if (oldest === undefined) return
    this.#rows.delete(oldest)
    this.#forgotten++
  }
}

function keyOf({ agent, principal, remote }: Outcome, name: string | null): string {
  return name === null
    ? `agent\n${agent ?? ''}\n${principal}\n${remote ?? ''}`
    : `name\n${name}\n${principal}\n${remote ?? ''}`
}

function newRow({ client, agent, principal, remote, transport, at }: Outcome): ClientRow {
  return {
    ...{ name: client.name, version: client.version, agent, principal, remote, transport },
    ...{ era: null, asked: null, served: null, eras: { legacy: null, modern: null } },
    ...{ firstSeen: at, lastSeen: at, requests: 0, refusals: 0, fallbackPairs: 0 },
    ...{ refusedSince: null, lastError: null, attempt: undefined },
  }
}
