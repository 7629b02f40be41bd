// Which scopes are asked for. https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy

export interface ScopeFacts {
  /** What the server said that the request needs. */
  readonly challenged: readonly string[] | undefined
  /** `scopes_supported` of the server's metadata: the least that it needs. */
  readonly supported: readonly string[] | undefined
  /** What the configuration wants in any case. */
  readonly configured: readonly string[]
  /** What was asked for before, at the same authorization server. */
  readonly before: readonly string[]
  /** `scopes_supported` of the authorization server. */
  readonly offered: readonly string[] | undefined
  /** Whether a refresh token is wanted. */
  readonly lasting: boolean
}

const OFFLINE = 'offline_access'

/** The scopes, or none at all where nobody names any: the authorization server then chooses. */
export function selectScopes(facts: ScopeFacts): readonly string[] {
  const { challenged, supported, configured, before, offered, lasting } = facts
  const least = challenged ?? (configured.length > 0 ? [] : (supported ?? []))
  const wanted = new Set([...before, ...configured, ...least])
  // Alone it would take the place of the authorization server's own choice.
  if (lasting && wanted.size > 0 && offered?.includes(OFFLINE) === true) wanted.add(OFFLINE)
  return [...wanted]
}

/** Upgrades of one login. A server that asks for more each time is left alone after these. */
const MAX_STEP_UPS = 3

/**
 * What to ask for after `insufficient_scope`, or why another login would not help: the same was asked for already, or too often.
 */
export function stepUp(
  challenged: readonly string[] | undefined,
  requested: readonly string[],
  upgrades: number,
): { readonly scopes: readonly string[] } | { readonly hopeless: 'unnamed' | 'asked-before' | 'too-often' } {
  if (challenged === undefined) return { hopeless: 'unnamed' }
  if (challenged.every((scope) => requested.includes(scope))) return { hopeless: 'asked-before' }
  if (upgrades >= MAX_STEP_UPS) return { hopeless: 'too-often' }
  return { scopes: [...new Set([...requested, ...challenged])] }
}
