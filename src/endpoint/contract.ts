// What an endpoint needs from those who mount it.
import type { Clock, JsonObject, Log } from '../base/index.ts'
import type { Classification } from '../era/index.ts'
import { newest } from '../spec/index.ts'
import type { Era, RevisionId } from '../spec/index.ts'
import type { CallHandler } from '../wire/index.ts'
import type { Sealer } from '../wire/index.ts'
import type { Quotas } from './quotas.ts'

export interface EndpointOptions {
  readonly handler: CallHandler
  /** Which of several endpoints with one key this is: a session of one is none of another. */
  readonly path?: string
  /** What the endpoint calls itself, in the newest shape. */
  readonly serverInfo: JsonObject
  /** Whether methods that no revision knows go to the handler too. */
  readonly open: boolean
  readonly clock: Clock
  readonly log: Log
  readonly limits: EndpointLimits
  readonly access: EndpointAccess
  /** Tells callers over HTTP apart. Without it all of them are the local user, and no credential is looked at. */
  readonly principals?: Principals | undefined
  /** What a principal may use at a time; without it, anything. */
  readonly quotas?: Quotas | undefined
  /** Told why each request was not let in. Called on the hot path: it must be quick. */
  readonly onRefused?: ((reason: RefusedFor) => void) | undefined
  /** Seals what travels through clients; keys that outlive the process let sessions outlive it too. */
  readonly sealer: Sealer
  /** Told what became of each request, refusals among them. Called on the hot path: it must be quick. */
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined
}

/** What became of one request. Times in ms. What a caller chose is clipped to 60 characters. */
export interface Outcome {
  /** Given by mcpx in the order of the outcomes, from 1 in each process. */
  id: number
  /** When the request came, since the epoch, and how long its answer took. */
  at: number
  ms: number
  /** Null where the request was refused before its message was read and no header names an era. */
  era: Era | null
  reason: Classification['reason'] | null
  /** The revision that the request names, known or not. */
  asked: string | null
  /** The revision in which it was answered; null for a refusal. */
  served: RevisionId | null
  /** A method of any revision, or `other`. */
  method: string
  readonly transport: 'http' | 'stdio'
  /** Null on a pipe, and where the client went away before anything was sent. */
  status: number | null
  /** The code of the JSON-RPC error that was the answer. */
  code: number | null
  /** Whether the endpoint refused the request itself: HTTP 400 and above, or the same refusal on a pipe. */
  refused: boolean
  client: { readonly name: string | null; readonly version: string | null }
  /** The `User-Agent`, for clients that do not say their name. */
  readonly agent: string | null
  principal: string
  /** The peer's address; null on a pipe. */
  readonly remote: string | null
}

/** Why a request, or something that it asked for, was refused. The names are labels of a metric. */
export type RefusedFor =
  | 'origin'
  | 'host'
  | `key-${CredentialFault}`
  | 'forbidden'
  | 'rate'
  | 'streams'
  | 'sessions'
  | 'body'
  | 'header'

/** Bounds, read anew for each request, so that they may change while the endpoint runs. Times in ms, sizes in bytes. */
export interface EndpointLimits {
  maxBody(): number
  /** How long nothing may be sent before a comment is. */
  keepAlive(): number
  sessionIdle(): number
  /** How long a client that can come back for an answer is kept waiting before; 0 for as long as it takes. */
  streamTime(): number
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

/** Who stands behind a credential. Asked for each request before its body is read: it must be quick. */
export interface Principals {
  /** The principal of an `Authorization` header, or what is wrong with it. */
  of(authorization: string | undefined): string | BadCredential
}

/** A credential that lets nobody in. The message says what to do and holds nothing of the credential. */
export interface BadCredential {
  readonly fault: CredentialFault
  readonly message: string
}

export type CredentialFault = 'missing' | 'malformed' | 'unknown' | 'expired' | 'revoked' | 'unreadable'

/** The principal of callers that no credential tells apart. */
export const LOCAL_USER = 'local'

/** mcpx's own user where no client speaks for it: a caller that nothing can be asked. */
export const LOCAL_CALLER = { principal: LOCAL_USER, capabilities: {}, revision: newest() }

/** What stands for a principal in the outcome of a request whose credential was not good. */
export const UNKNOWN_PRINCIPAL = '(unknown)'
