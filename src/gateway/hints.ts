/** What a result says of its freshness. */
export interface Hints {
  readonly ttlMs: unknown
  readonly cacheScope: unknown
}

/**
 * The caching hints of a result that is made of others: as fresh as the first of them to go stale, and for everybody only
 * where each of them is. What says nothing is stale at once and for its caller only, and so is a result of nothing.
 */
export function hintsOf(parts: readonly Hints[]): { ttlMs: number; cacheScope: 'public' | 'private' } {
  const ttls = parts.map(({ ttlMs }) => (typeof ttlMs === 'number' && ttlMs > 0 ? Math.floor(ttlMs) : 0))
  const isPublic = parts.length > 0 && parts.every(({ cacheScope }) => cacheScope === 'public')
  return { ttlMs: parts.length > 0 ? Math.min(...ttls) : 0, cacheScope: isPublic ? 'public' : 'private' }
}
