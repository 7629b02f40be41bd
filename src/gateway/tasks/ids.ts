// The ids under which callers know tasks: sealed, so that nobody reads or makes one, and the same wherever a task is named.
import type { Sealer } from '../../wire/index.ts'

/** What a task's id says. */
export interface TaskRef {
  readonly server: string
  /** The server's own id of it, or mcpx's where mcpx holds the task itself. */
  readonly id: string
  /** Whether mcpx holds it, because its server has no tasks. */
  readonly held: boolean
}

const PURPOSE = 'task'

export class TaskIds {
  readonly #sealer: Sealer

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  /** The id of a task for a principal; equal for equal tasks, in any process with the same key. */
  of({ server, id, held }: TaskRef, principal: string): string {
    return this.#sealer.sealSame(PURPOSE, { server, id, held, principal })
  }

  /** What an id names; undefined for one that was not made here, or that belongs to another principal. */
  read(text: unknown, principal: string): TaskRef | undefined {
    const sealed = typeof text === 'string' ? this.#sealer.open(PURPOSE, text) : undefined
    if (sealed === undefined || sealed['principal'] !== principal) return undefined
    const { server, id, held } = sealed
    if (typeof server !== 'string' || typeof id !== 'string') return undefined
    return { server, id, held: held === true }
  }
}
