import { canonicalJson, McpxError } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { hashOf } from './names.ts'

/** Items in one page of a list that mcpx serves. */
const PAGE_SIZE = 250

export interface Page {
  readonly items: readonly JsonObject[]
  readonly nextCursor: string | undefined
}

/**
 * One page of a list. A cursor holds the place and the list's own hash, so it is good as long as the list stays equal,
 * whoever serves it. Throws `CURSOR_UNKNOWN` for a cursor of another list or of somebody else's making.
 */
export function pageOf(items: readonly JsonObject[], cursor: unknown): Page {
  if (cursor === undefined && items.length <= PAGE_SIZE) return { items, nextCursor: undefined }
  const mark = hashOf(canonicalJson(items))
  const start = cursor === undefined ? 0 : startOf(cursor, mark, items.length)
  const end = start + PAGE_SIZE
  return { items: items.slice(start, end), nextCursor: end < items.length ? `${end}.${mark}` : undefined }
}

function startOf(cursor: unknown, mark: string, length: number): number {
  const [place = '', hash] = typeof cursor === 'string' ? cursor.split('.') : []
  const start = /^[1-9][0-9]*$/.test(place) ? Number(place) : Number.NaN
  if (hash === mark && start < length) return start
  throw new McpxError(
    'CURSOR_UNKNOWN',
    'Invalid cursor: the list has changed, or the cursor is not of this list. Start again without one.',
  )
}
