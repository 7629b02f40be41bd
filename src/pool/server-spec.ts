import type { McpxError } from '../base/index.ts'
import type { Authorizer, Target, TransportKind } from '../wire/index.ts'

/** Whose instance a server is: one for all callers, or one for each principal, session or call. */
export type Scope = 'global' | 'principal' | 'session' | 'call'

/** Whether a server is told exactly what its caller can be asked, or all that any caller may be. */
export type Mirroring = 'auto' | 'exact' | 'union'

/** One server as the pool needs it: everything expanded, every default filled in. */
export interface ServerSpec {
  readonly name: string
  /** Where it is, or why its definition cannot be used. */
  readonly target: Target | McpxError
  /** The transport to open first. */
  readonly transport: TransportKind
  /** Digest of the process definition, under which its era is remembered. */
  readonly digest: string
  readonly scope: Scope
  /** Instances at once in a lane. */
  readonly max: number
  /** Instances that idleness never ends. */
  readonly min: number
  readonly start: 'lazy' | 'eager'
  /** What is known beforehand to ask its caller something: subjects, as an Asker names them. */
  readonly asks?: readonly string[]
  /** Whether the server is told of roots although it is shared by all: its configuration names them. */
  readonly roots?: boolean
  /** Identity of the credential with which the server is entered for a principal; one for all where absent. */
  readonly credentialOf?: (principal: string) => string
  /** Whoever holds the credentials with which an HTTP server is entered for a principal; absent where its headers are all. */
  readonly authorizerFor?: ((principal: string) => Authorizer) | undefined
  /** What may change while mcpx runs; read anew for each start. */
  readonly tuning: () => ServerTuning
}

/** Times in ms. */
export interface ServerTuning {
  readonly preference:
    'prefer-discover' | 'prefer-initialize' | 'force-discover' | 'force-initialize' | 'follow'
  readonly probeTimeout: number
  readonly startTimeout: number
  readonly callTimeout: number
  readonly callTimeoutMax: number
  readonly idleTimeout: number
  /** How a server is told what its callers can be asked; `auto` where absent. */
  readonly mirroring?: Mirroring
}
