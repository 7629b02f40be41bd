import type { RevisionId } from './table.ts'

/**
 * The revision of a legacy request that names none and belongs to no session: the last one before the version header
 * (2025-06-18, basic/transports, "Protocol Version Header").
 */
export const ASSUMED_REVISION: RevisionId = '2025-03-26'
