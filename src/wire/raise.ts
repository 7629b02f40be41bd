import type { JsonObject } from '../base/index.ts'
import { hasFeature, methodIn, newest } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'

/**
 * A complete result of an upstream of that revision in the newest shape. Adds what the newest revision demands of each result
 * and nothing else; returns the same object where nothing is missing, and never changes its input.
 */
export function raise(method: string, result: JsonObject, from: RevisionId): JsonObject {
  if (hasFeature(from, 'resultType')) return result
  const { resultType = 'complete' } = result
  const cacheable = resultType === 'complete' && methodIn(newest(), method)?.cacheable === true
  const missing = {
    ...(result['resultType'] === undefined && { resultType }),
    // A legacy server says nothing of freshness: stale at once, and for this caller only.
    ...(cacheable && result['ttlMs'] === undefined && { ttlMs: 0 }),
    ...(cacheable && result['cacheScope'] === undefined && { cacheScope: 'private' }),
  }
  return Object.keys(missing).length === 0 ? result : { ...result, ...missing }
}
