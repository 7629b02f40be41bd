// Reads `WWW-Authenticate` (RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1).

/** What a server says with a refusal. */
export interface Challenge {
  readonly error: string | undefined
  /** The scopes that the request needs. */
  readonly scopes: readonly string[] | undefined
  readonly resourceMetadata: string | undefined
}

export const NO_CHALLENGE: Challenge = { error: undefined, scopes: undefined, resourceMetadata: undefined }

/** The Bearer challenge of a header that may hold several, its parameters in any order; empty where there is none. */
export function readChallenge(header: string | undefined): Challenge {
  const params = header === undefined ? undefined : bearerParams(header)
  if (params === undefined) return NO_CHALLENGE
  const scopes = scopesOf(params.get('scope'))
  return {
    error: params.get('error'),
    scopes: scopes.length === 0 ? undefined : scopes,
    resourceMetadata: params.get('resource_metadata'),
  }
}

function scopesOf(scope: string | undefined): string[] {
  return [...new Set((scope ?? '').split(/\s+/).filter((item) => item !== ''))]
}

/** A parameter, or the name of a scheme: servers leave quotes out around URLs too, so that a bare value ends at a comma or space. */
const PIECE = /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/g

function bearerParams(header: string): Map<string, string> | undefined {
  let current: Map<string, string> | undefined
  let bearer: Map<string, string> | undefined
  for (const [whole, name = '', quoted, bare] of header.matchAll(PIECE)) {
    if (whole.includes('=')) {
      const value = quoted === undefined ? (bare ?? '') : quoted.replaceAll(/\\(.)/g, '$1')
      if (current?.has(name.toLowerCase()) === false) current.set(name.toLowerCase(), value)
      continue
    }
    current = new Map()
    if (name.toLowerCase() === 'bearer') bearer ??= current
  }
  return bearer
}
