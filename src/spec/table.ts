import { rev20241105 } from './revisions/2024-11-05.ts'
import { rev20250326 } from './revisions/2025-03-26.ts'
import { rev20250618 } from './revisions/2025-06-18.ts'
import { rev20251125 } from './revisions/2025-11-25.ts'
import { rev20260728 } from './revisions/2026-07-28.ts'

/** Every revision that mcpx speaks, oldest first. Everything else about revisions is derived from this list. */
export const REVISIONS = [rev20241105, rev20250326, rev20250618, rev20251125, rev20260728] as const

export type Revision = (typeof REVISIONS)[number]
export type RevisionId = Revision['id']

/** `keyof` of a union gives what all members share; this gives what any has. */
type KeysOfEach<T> = T extends unknown ? keyof T : never

/** A method of any revision. */
export type Method = KeysOfEach<Revision['methods']>
export type MethodIn<Id extends RevisionId> = keyof Extract<Revision, { id: Id }>['methods']
