// What an endpoint needs from those who mount it.
import type { Clock, JsonObject, Log } from '../base/index.ts'
import type { CallHandler } from '../wire/index.ts'
import type { Outcome } from './outcome.ts'
import type { Sealer } from './seal.ts'

export interface EndpointOptions {
  readonly handler: CallHandler
  /** What the endpoint calls itself, in the newest shape. */
  readonly serverInfo: JsonObject
  /** Whether methods that no revision knows go to the handler too. */
  readonly open: boolean
  readonly clock: Clock
  readonly log: Log
  readonly limits: EndpointLimits
  readonly access: EndpointAccess
  /** Seals what travels through clients; keys that outlive the process let sessions outlive it too. */
  readonly sealer: Sealer
  /** Told what became of each request, refusals among them. Called on the hot path: it must be quick. */
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined
}

/** Bounds, read anew for each request, so that they may change while the endpoint runs. Times in ms, sizes in bytes. */
export interface EndpointLimits {
  maxBody(): number
  /** How long nothing may be sent before a comment is. */
  keepAlive(): number
  sessionIdle(): number
  /** How long requests in flight may go on when a pipe's client has closed it. */
  drain(): number
}

/** Who may come in. */
export interface EndpointAccess {
  /** Host names beyond the loopback ones that requests may name, and whether the listener is a loopback one at all. */
  allowedHosts(): readonly string[]
  allowedOrigins(): readonly string[]
  readonly loopback: boolean
}

/** The principal of callers that no credential tells apart. */
export const LOCAL_USER = 'local'
