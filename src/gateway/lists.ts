// What one server offers: its lists, walked to the last page, kept while they are known to be fresh.
import { canonicalJson, clip, isObject, keepLatest, McpxError } from '../base/index.ts'
import type { Clock, JsonObject, Log } from '../base/index.ts'
import type { Connection, LeaseFor, Upstream } from '../pool/index.ts'
import { ERRORS, METHOD, methodIn, newest } from '../spec/index.ts'
import { raise, readParamHeaders } from '../wire/index.ts'
import type { Answer, ParamHeader } from '../wire/index.ts'
import { hintsOf } from './hints.ts'
import type { Hints } from './hints.ts'

export type ListKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

/** How each list is asked for, what names its items, and the capability without which there is none. */
export const LISTS = {
  tools: { method: METHOD.toolsList, key: 'name', capability: 'tools' },
  prompts: { method: METHOD.promptsList, key: 'name', capability: 'prompts' },
  resources: { method: METHOD.resourcesList, key: 'uri', capability: 'resources' },
  resourceTemplates: { method: METHOD.templatesList, key: 'uriTemplate', capability: 'resources' },
} as const satisfies Record<ListKind, { method: string; key: string; capability: string }>

/** One list as a server gave it, in the newest shape, sorted by what names its items and without repeats. */
export interface List {
  readonly items: readonly JsonObject[]
  readonly byKey: ReadonlyMap<string, JsonObject>
}

const EMPTY: List = { items: [], byKey: new Map() }
const MAX_PAGES = 1000
const UNKNOWN: Hints = { ttlMs: 0, cacheScope: 'private' }

interface Kept {
  /** That of the walk which read it. */
  readonly turn: number
  readonly list: List
  readonly connection: Connection
  readonly freshUntil: number
  /** What the server's own pages said; none where it has no such list. */
  readonly hints: readonly Hints[]
}

interface Walked {
  readonly items: readonly JsonObject[]
  readonly ttl: number
  readonly hints: readonly Hints[]
  /** The one that the last page came over. */
  readonly connection: Connection
}

interface Fetch {
  readonly turn: number
  readonly began: number
  readonly list: Promise<List>
}

export interface ListsIo {
  readonly clock: Clock
  readonly log: Log
  /** A list that somebody did not get is there now. */
  readonly onLate: (kind: ListKind) => void
  /** What the log has been told of this server's lists, which are walked again and again. */
  readonly warned: Map<string, true>
}

/** Different warnings of one server that are remembered; the oldest may be given again. */
const MAX_WARNED = 1000

export class ServerLists {
  readonly #onLate: ListsIo['onLate']
  readonly #warned: ListsIo['warned']
  /** Lists that somebody asked for and did not get. */
  readonly #missed = new Set<ListKind>()
  readonly #upstream: Upstream
  readonly #clock: Clock
  readonly #log: Log
  readonly #who: LeaseFor
  readonly #kept = new Map<ListKind, Kept>()
  readonly #fetches = new Map<ListKind, Fetch>()
  #turns = 0
  readonly #paramHeaders = new WeakMap<JsonObject, readonly ParamHeader[]>()

  constructor(upstream: Upstream, who: LeaseFor, io: ListsIo) {
    this.#onLate = io.onLate
    this.#warned = io.warned
    this.#upstream = upstream
    this.#who = who
    this.#clock = io.clock
    this.#log = io.log
  }

  /** The list, from memory while it is known to be fresh, else from the server. Rejects with the McpxError of either. */
  get(kind: ListKind): Promise<List> {
    const kept = this.#kept.get(kind)
    if (kept !== undefined && this.#isFresh(kept)) return Promise.resolve(kept.list)
    return this.#fetch(kind).list
  }

  /** The list as it was last seen, however old, or undefined where it never was. */
  known(kind: ListKind): List | undefined {
    return this.#kept.get(kind)?.list
  }

  /**
   * The list, waiting for the server at most until `patience` ms after it was first asked: a slow server is waited for once,
   * not by every caller. Then what was last seen, or undefined. `error` has why a list cannot be had.
   */
  async within(kind: ListKind, patience: number): Promise<{ list: List | undefined; error?: unknown }> {
    const kept = this.#kept.get(kind)
    if (kept !== undefined && this.#isFresh(kept)) return { list: kept.list }
    const fetch = this.#fetch(kind)
    const left = fetch.began + patience - this.#clock.now()
    if (left <= 0) {
      this.#missed.add(kind)
      return { list: kept?.list }
    }
    let done: (() => void) | undefined
    const waited = new Promise<'late'>((resolve) => {
      const timer = this.#clock.after(left, () => resolve('late'))
      done = () => timer.cancel()
    })
    try {
      const outcome = await Promise.race([fetch.list, waited])
      if (outcome !== 'late') return { list: outcome }
      this.#missed.add(kind)
      return { list: kept?.list }
    } catch (error) {
      this.#missed.add(kind)
      return { list: kept?.list, error }
    } finally {
      done?.()
    }
  }

  /** How fresh the list is, and for whom, as far as its server said so; none where the server has no such list. */
  hints(kind: ListKind): readonly Hints[] {
    const kept = this.#kept.get(kind)
    if (kept === undefined) return [UNKNOWN]
    if (kept.hints.length === 0) return []
    const { cacheScope } = hintsOf(kept.hints)
    const ttlMs = this.#isFresh(kept) && kept.freshUntil < Infinity ? kept.freshUntil - this.#clock.now() : 0
    return [{ ttlMs, cacheScope: this.#upstream.spec.scope === 'global' ? cacheScope : 'private' }]
  }

  /** A notification said that the list changed. What is being read now may be of before. */
  invalidate(kind: ListKind): void {
    this.#fetches.delete(kind)
    const kept = this.#kept.get(kind)
    if (kept !== undefined) this.#kept.set(kind, { ...kept, freshUntil: 0 })
  }

  /** The parameters of a tool that HTTP headers repeat. */
  paramHeaders(tool: JsonObject): readonly ParamHeader[] {
    const known = this.#paramHeaders.get(tool)
    if (known !== undefined) return known
    const reading = readParamHeaders(tool['inputSchema'])
    const params = reading.ok ? reading.params : []
    this.#paramHeaders.set(tool, params)
    return params
  }

  #isFresh(kept: Kept): boolean {
    return kept.connection.isOpen && this.#clock.now() < kept.freshUntil
  }

  #fetch(kind: ListKind): Fetch {
    const running = this.#fetches.get(kind)
    if (running !== undefined) return running
    const turn = ++this.#turns
    const list = this.#walk(kind, turn).finally(() => {
      if (this.#isLatest(kind, turn)) this.#fetches.delete(kind)
    })
    // Nobody may be waiting any more when it fails; the next call asks again and hears of it.
    list.catch(() => {})
    const fetch = { turn, began: this.#clock.now(), list }
    this.#fetches.set(kind, fetch)
    return fetch
  }

  #isLatest(kind: ListKind, turn: number): boolean {
    return this.#fetches.get(kind)?.turn === turn
  }

  async #walk(kind: ListKind, turn: number): Promise<List> {
    const { capability } = LISTS[kind]
    const lease = await this.#upstream.lease(this.#who)
    const opened = lease.connection
    lease.release()
    const none = { items: [], ttl: Infinity, hints: [], connection: opened }
    const walked = opened.capabilities[capability] === undefined ? none : await this.#pages(opened, kind)
    const { items, ttl, hints, connection } = walked
    const list = this.#listOf(kind, items, connection)
    const declared = connection.capabilities[capability]
    const told = connection.verdict.era === 'legacy' && connection.verdict.transport === 'stdio'
    const announced = told && isObject(declared) && declared['listChanged'] === true
    const fresh = announced ? Infinity : this.#clock.now() + ttl
    const freshUntil = this.#isLatest(kind, turn) ? fresh : 0
    if (turn > (this.#kept.get(kind)?.turn ?? 0))
      this.#kept.set(kind, { turn, list, connection, freshUntil, hints })
    if (this.#missed.delete(kind)) this.#onLate(kind)
    return list
  }

  async #pages(opened: Connection, kind: ListKind): Promise<Walked> {
    const { method, key } = LISTS[kind]
    const seen = new Set<string>()
    const names = new Set<unknown>()
    let connection = opened
    let items: JsonObject[] = []
    let hints: Hints[] = []
    let ttl = Infinity
    let cursor: string | undefined
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const params = cursor === undefined ? undefined : { cursor }
      const served = await this.#upstream.request(this.#who, { method, params })
      if (served.connection !== connection) {
        // A cursor is good on the connection that gave it, so the walk begins again.
        connection = served.connection
        items = []
        hints = []
        seen.clear()
        names.clear()
        if (cursor !== undefined) {
          cursor = undefined
          continue
        }
      }
      const result = this.#resultOf(served.answer, method, connection)
      if (result === undefined) break
      const part = result[methodIn(newest(), method)?.lists ?? kind]
      const page: readonly JsonObject[] = Array.isArray(part) ? part.filter(isObject) : []
      if (page.length > 0 && page.every((item) => names.has(item[key]))) {
        this.#warn('gave a page twice; its list ends there', { kind })
        break
      }
      for (const item of page) names.add(item[key])
      items.push(...page)
      const { ttlMs, cacheScope } = result
      hints.push({ ttlMs, cacheScope })
      ttl = Math.min(ttl, typeof ttlMs === 'number' ? ttlMs : 0)
      const next = result['nextCursor']
      // The empty string ends a list for legacy servers and is a cursor like any other for modern ones.
      const more = typeof next === 'string' && (next !== '' || connection.verdict.era === 'modern')
      if (!more) break
      if (seen.has(next)) {
        this.#warn('gave a cursor twice; its list ends there', { kind, cursor: clip(next) })
        break
      }
      seen.add(next)
      cursor = next
    }
    return { items, ttl, hints, connection }
  }

  /** One page in the newest shape; undefined where the server has no such list. Throws for any other refusal. */
  #resultOf(answer: Answer, method: string, connection: Connection): JsonObject | undefined {
    if ('result' in answer) return raise(method, answer.result, connection.verdict.revision)
    const { code, message } = answer.error
    // Servers declare resources and have no templates; anything else is no statement about the list.
    if (code === ERRORS.methodNotFound) return undefined
    const text = `Server "${this.#upstream.name}" refused ${method} with ${code}: ${clip(message, 200)}`
    throw new McpxError('UPSTREAM_PROTOCOL', text, { data: { error: answer.error } })
  }

  #listOf(kind: ListKind, items: readonly JsonObject[], connection: Connection): List {
    if (items.length === 0) return EMPTY
    const { key } = LISTS[kind]
    const byKey = new Map<string, JsonObject>()
    for (const item of items) {
      const name = item[key]
      if (typeof name !== 'string') this.#warn(`lists an item without ${key}; it is left out`, { kind })
      else if (byKey.has(name))
        this.#warn('lists an item twice; the first one counts', { kind, name: clip(name) })
      else if (kind !== 'tools' || this.#mayOffer(item, name, connection)) byKey.set(name, item)
    }
    const sorted = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1))
    return { items: sorted.map(([, item]) => item), byKey: new Map(sorted) }
  }

  /** Over modern HTTP a tool whose header annotations are invalid must not be offered. */
  #mayOffer(tool: JsonObject, name: string, connection: Connection): boolean {
    const { verdict } = connection
    if (verdict.era !== 'modern' || verdict.transport === 'stdio') return true
    const reading = readParamHeaders(tool['inputSchema'])
    if (!reading.ok)
      this.#warn('offers a tool with an invalid annotation; it is left out', {
        tool: clip(name),
        reason: reading.reason,
      })
    return reading.ok
  }

  #warn(message: string, facts: Record<string, unknown>): void {
    const key = canonicalJson([message, facts])
    if (this.#warned.has(key)) return
    keepLatest(this.#warned, [key, true], MAX_WARNED)
    this.#log.warn(`server ${message}`, { server: this.#upstream.name, ...facts })
  }
}

/** A lease as `LeaseFor` for what mcpx does on nobody's behalf. */
export function forCatalogue(principal: string, answers: JsonObject): LeaseFor {
  return { principal, session: undefined, revision: undefined, answers }
}
