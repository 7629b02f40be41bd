// The tasks that mcpx knows of: those that callers made of their calls, each until its time is over.
import type { Clock, Timer } from '../../base/index.ts'
import type { Caller } from '../../wire/index.ts'
import type { TaskServer } from './party.ts'
import { isTerminal } from './shape.ts'
import type { TaskState } from './shape.ts'
import type { Task } from './task.ts'

export interface Entry {
  /** As callers know it. */
  readonly id: string
  readonly member: TaskServer
  /** As whoever runs it knows it. */
  readonly own: string
  readonly held: boolean
  readonly task: Task
  /** Whoever made it. */
  readonly caller: Caller
  /** Its caller was not told of it: mcpx waits for it in the caller's place. */
  hidden: boolean
  /** As it was last seen, under the id that callers know. */
  state: TaskState
}

interface Kept {
  readonly entry: Entry
  readonly timer: Timer
  readonly listeners: Set<(state: TaskState) => void>
}

/** Tasks of one principal that are known, and held ones that run; the longest that one is known, in ms. */
const MAX_TASKS = 1_000
const MAX_HELD = 100
export const MAX_TTL = 3_600_000
/** What the outcomes of one principal's held tasks may have together, in characters. */
const MAX_SIZE = 16 * 2 ** 20

export class Book {
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept>()
  readonly #watchers = new Set<(entry: Entry) => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(id: string): Entry | undefined {
    return this.#kept.get(id)?.entry
  }

  /** The latest entry of a server's own task. */
  find(server: string, own: string): Entry | undefined {
    return this.all(({ entry }) => entry.own === own && entry.member.name === server && !entry.held).at(-1)
  }

  /** Every task of a principal, those too that only mcpx knows of. */
  of(principal: string): readonly Entry[] {
    return this.all(({ entry }) => entry.caller.principal === principal)
  }

  all(fits: (kept: Kept) => boolean): readonly Entry[] {
    return [...this.#kept.values()].filter(fits).map(({ entry }) => entry)
  }

  /** Whether a principal may have one more held task. */
  hasRoom(principal: string): boolean {
    const held = this.of(principal).filter((entry) => entry.held)
    return held.filter(({ state }) => !isTerminal(state)).length < MAX_HELD && room(held) > 0
  }

  /** What the outcome of one more held task may have, in characters. */
  room(principal: string): number {
    return Math.min(MAX_SIZE / 4, room(this.of(principal).filter((entry) => entry.held)))
  }

  add(entry: Entry): Entry {
    const known = this.get(entry.id)
    if (known !== undefined) this.remove(known.id, 'it is known anew')
    const { ttlMs } = entry.state
    const ttl = typeof ttlMs === 'number' ? Math.min(ttlMs, MAX_TTL) : MAX_TTL
    const timer = this.#clock.after(ttl, () => this.remove(entry.id, 'its time is over'))
    this.#kept.set(entry.id, { entry, timer, listeners: new Set() })
    const own = this.of(entry.caller.principal)
    const excess = own.length > MAX_TASKS ? (own.find(({ state }) => isTerminal(state)) ?? own[0]) : undefined
    if (excess !== undefined) this.remove(excess.id, 'there are too many tasks')
    return entry
  }

  remove(id: string, reason: string): void {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    this.#kept.delete(id)
    kept.timer.cancel()
    kept.entry.task.close(reason)
  }

  /** A state was seen, whoever asked for it. Those who listen are told of what is new. */
  see(entry: Entry, state: TaskState): void {
    const before = entry.state
    entry.state = state
    if (before['status'] === state['status'] && before['lastUpdatedAt'] === state['lastUpdatedAt']) return
    for (const listener of this.#kept.get(entry.id)?.listeners ?? []) listener(state)
    for (const watcher of this.#watchers) watcher(entry)
  }

  /** Calls back for each new state of a task until the returned function is called. */
  listen(id: string, listener: (state: TaskState) => void): () => void {
    const listeners = this.#kept.get(id)?.listeners
    listeners?.add(listener)
    return () => listeners?.delete(listener)
  }

  /** Calls back for each task with a new state until the returned function is called. */
  watch(watcher: (entry: Entry) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  stop(reason: string): void {
    for (const id of [...this.#kept.keys()]) this.remove(id, reason)
  }
}

function room(held: readonly Entry[]): number {
  const used = held.filter(({ state }) => isTerminal(state)).map(({ state }) => JSON.stringify(state).length)
  return MAX_SIZE - used.reduce((sum, size) => sum + size, 0)
}
