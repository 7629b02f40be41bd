// What a caller needs of an instance, and who may share one.
import { canonicalJson } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { EVERY_ANSWER } from '../wire/index.ts'
import type { TransportKind } from '../wire/index.ts'
import type { Mirroring, Scope } from './server-spec.ts'

export interface Need {
  /** Whose instance it is, whatever the credential; empty where it is everybody's. */
  readonly owner: string
  /** Whose instance: the scope key, and the identity of the credential with which the server is entered. */
  readonly key: string
  readonly principal: string
  readonly declared: Declared
  /** Whether calls of other principals may not be on the instance meanwhile. Servers that ask by results need not care. */
  readonly alone: boolean
}

/** What a server is told of its client when it is opened. Equal keys mean equal capabilities. */
export interface Declared {
  readonly capabilities: JsonObject
  readonly key: string
}

/**
 * What an instance is told. Sessions are cheap, so each set of capabilities has its own, and so has an owner's process; one
 * that is shared by all is told everything, and what a caller cannot answer is refused when it is asked. Roots are permissions
 * for some servers: one that is shared by all never learns those of a caller. Extensions are said with each request.
 */
export function declaredFor(
  server: {
    readonly scope: Scope
    readonly transport: TransportKind
    readonly mirroring: Mirroring
    readonly roots: boolean
  },
  answers: JsonObject,
): Declared {
  const { scope, transport, mirroring } = server
  const shared = transport === 'stdio' && scope === 'global'
  const all = mirroring === 'union' || (mirroring === 'auto' && shared)
  const { roots: callersRoots, extensions: _, ...asked } = all ? EVERY_ANSWER : answers
  const hasRoots = scope === 'global' ? server.roots : callersRoots !== undefined
  const changing = scope === 'global' ? {} : { listChanged: true }
  const capabilities = hasRoots ? { ...asked, roots: changing } : asked
  return { capabilities, key: all ? '' : canonicalJson(capabilities) }
}
