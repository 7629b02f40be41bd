// What the servers of one pool share, what callers say of themselves, and what the pool tells.
import type { Clock, Log, McpxError } from '../base/index.ts'
import type { EraMemory, EraRecord } from '../era/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Answer, CloseReason, Dialer, RpcNotification } from '../wire/index.ts'
import type { Answers } from './asker.ts'
import type { Connection, Identity } from './connection.ts'
import type { Line } from './line.ts'
import type { LaneName } from './plan.ts'

/** What the pool shares between all servers. */
export interface Shared {
  /** Dialers by the server's name, for their messages and logs. */
  readonly dialer: { named(server: string): Dialer }
  readonly clock: Clock
  readonly log: Log
  /** Numbers from 0 to 1. */
  readonly random: () => number
  readonly identity: Identity
  readonly eras: EraMemory
  /** How long a legacy record is believed, in ms. */
  readonly eraMaxAge: () => number
  /** The places to start servers in. */
  readonly starts: Line
  readonly nextId: () => number
  readonly onEvent: (event: PoolEvent) => void
}

export type PoolEvent =
  | {
      readonly kind: 'start'
      readonly server: string
      readonly lane: LaneName
      readonly connection: Connection
      readonly ms: number
    }
  | {
      readonly kind: 'start-failed'
      readonly server: string
      readonly lane: LaneName
      readonly error: McpxError
      readonly ms: number
    }
  | { readonly kind: 'stop'; readonly server: string; readonly lane: LaneName; readonly reason: CloseReason }
  | {
      readonly kind: 'era-stale'
      readonly server: string
      readonly was: EraRecord | undefined
      readonly now: string
    }
  | {
      readonly kind: 'notification'
      readonly server: string
      readonly connection: Connection
      readonly notification: RpcNotification
    }

/** Who needs a connection: decides scope key and lane. */
export interface LeaseFor {
  readonly principal: string
  readonly session: string | undefined
  /** The caller's revision, undefined for calls that come from no client (the catalogue, REST): those are modern. */
  readonly revision: RevisionId | undefined
  /** What the caller can be asked; nothing where absent. */
  readonly answers?: Answers | undefined
}

/** A server's answer, and the connection that it came over. */
export interface Served {
  readonly answer: Answer
  readonly connection: Connection
}
