import type { Clock, Log } from '../base/index.ts'
import { DEFAULT_MAX_MESSAGE } from '../wire/index.ts'

/** How long each step of an ending may take, in ms. */
export interface Patience {
  /** A process whose stdin has ended, to exit by itself. */
  readonly stdinEnd: number
  /** A process group that got SIGTERM, to be gone. */
  readonly terminate: number
  /** A process group that got SIGKILL, to be gone: only what the kernel holds is left then. */
  readonly kill: number
  /** The pipes of a process that exited, to be drained: a grandchild may hold them open. */
  readonly drain: number
  /** An HTTP server, to take the end of a session. */
  readonly sessionEnd: number
  /** An HTTP+SSE server, to name its endpoint. */
  readonly endpoint: number
}

export interface Limits {
  /** The bytes of one message; a longer one is dropped, and what follows it is read again. */
  readonly maxMessage: number
}

/** What every channel is made with. */
export interface ChannelOptions {
  /** What the server is called in messages and logs. */
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  readonly limits: Limits
  readonly patience: Patience
}

export const DEFAULT_LIMITS: Limits = { maxMessage: DEFAULT_MAX_MESSAGE }

export const DEFAULT_PATIENCE: Patience = {
  stdinEnd: 2000,
  terminate: 3000,
  kill: 2000,
  drain: 2000,
  sessionEnd: 2000,
  endpoint: 30_000,
}
