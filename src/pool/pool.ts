// All servers of the configuration, and what they share: the places to start in, ids, and what is remembered of eras.
import type { EraMemory } from '../era/index.ts'
import { Line } from './line.ts'
import type { ServerSpec } from './server-spec.ts'
import type { PoolEvent, Shared } from './shared.ts'
import { Upstream } from './upstream.ts'

export interface PoolOptions extends Omit<Shared, 'starts' | 'nextId' | 'onEvent'> {
  /** Servers that start at the same time. */
  readonly maxStarting: number
}

export class Pool {
  readonly #upstreams: ReadonlyMap<string, Upstream>
  readonly #listeners = new Set<(event: PoolEvent) => void>()
  #stopping: Promise<void> | undefined

  /** Servers keep the order in which the configuration names them. */
  constructor(specs: readonly ServerSpec[], options: PoolOptions) {
    let lastId = 0
    const { maxStarting, ...rest } = options
    const shared: Shared = {
      ...rest,
      starts: new Line(maxStarting),
      nextId: () => ++lastId,
      onEvent: (event) => {
        for (const listener of this.#listeners) listener(event)
      },
    }
    this.#upstreams = new Map(specs.map((spec) => [spec.name, new Upstream(spec, shared)]))
  }

  get upstreams(): readonly Upstream[] {
    return [...this.#upstreams.values()]
  }

  get(name: string): Upstream | undefined {
    return this.#upstreams.get(name)
  }

  /** Calls back for every event until the returned function is called. */
  onEvent(listener: (event: PoolEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Starts the servers that are to run from the beginning. Failures show where every start's do. */
  startEager(): void {
    for (const upstream of this.upstreams) if (upstream.spec.start === 'eager') upstream.start()
  }

  /** Ends every server. Resolves when all processes and streams are gone; later leases are refused with `STOPPING`. */
  stop(reason: string): Promise<void> {
    this.#stopping ??= Promise.all(this.upstreams.map((upstream) => upstream.stop(reason))).then(() => {})
    return this.#stopping
  }
}

/** Era records that live as long as the process. */
export function memoryOnly(): EraMemory {
  const records = new Map<string, ReturnType<EraMemory['recall']> & object>()
  return {
    recall: (digest) => records.get(digest),
    remember: (digest, record) => void records.set(digest, record),
    forget: (digest) => void records.delete(digest),
  }
}
