// One lane of one server: its instances by scope key, at most `max` of them, and the line of those who wait for a place.
import { McpxError } from '../base/index.ts'
import type { Cancellation, Clock } from '../base/index.ts'
import { Circuit } from './backoff.ts'
import { Instance } from './instance.ts'
import type { InstanceHooks, Lease } from './instance.ts'
import type { Connecting } from './connect.ts'
import type { Connection } from './connection.ts'

export interface LaneOptions {
  readonly server: string
  readonly max: number
  readonly min: number
  /** In ms. */
  readonly idleTimeout: () => number
  readonly clock: Clock
  readonly random: () => number
  readonly start: (instance: Instance) => Promise<Connecting>
  readonly onReady: (instance: Instance, connection: Connection) => void
  readonly onFailed: (instance: Instance, error: McpxError) => void
}

interface Waiter {
  readonly key: string
  readonly retry: () => void
}

export class Lane {
  readonly circuit: Circuit
  readonly #options: LaneOptions
  readonly #instances = new Set<Instance>()
  readonly #waiters = new Set<Waiter>()
  #stopped: string | undefined

  constructor(options: LaneOptions) {
    this.#options = options
    this.circuit = new Circuit(options.clock, options.random)
  }

  get instances(): readonly Instance[] {
    return [...this.#instances]
  }

  /**
   * Leases the instance of a scope key, starting it if there is none. With every place taken, an idle instance of another key
   * is ended for it; with none idle, the caller waits in line. Rejects with the start's error, at once while the circuit is
   * open, or with `CANCELLED`.
   */
  async acquire(key: string, cancellation?: Cancellation): Promise<Lease> {
    let turn = false
    for (;;) {
      if (this.#stopped !== undefined) throw this.#stopping(this.#stopped)
      const instance = this.#find(key)
      if (instance !== undefined) {
        // The place that this turn stood for is still free.
        if (turn) this.#wake()
        return instance.lease(cancellation)
      }
      const started = turn || this.#waiters.size === 0 ? this.#startFor(key) : undefined
      if (started !== undefined) return started.lease(cancellation)
      await this.#turn(key, cancellation)
      turn = true
    }
  }

  /** Ends every instance; those who come later start fresh ones. */
  async close(reason: string): Promise<void> {
    await Promise.all([...this.#instances].map((instance) => instance.close(reason)))
  }

  /** Ends everything for good. */
  async stop(reason: string): Promise<void> {
    this.#stopped = reason
    this.#wake()
    await this.close(reason)
  }

  /** Takes an instance out whose connection closed by itself. */
  lost(connection: Connection, error: McpxError): void {
    const instance = [...this.#instances].find((candidate) => candidate.connection === connection)
    if (instance === undefined) return
    // A server that never answered anything is no better than one that did not start.
    if (connection.answered === 0) this.circuit.failed(error)
    instance.closedByPeer()
  }

  #find(key: string): Instance | undefined {
    for (const instance of this.#instances) if (instance.key === key && instance.usable) return instance
    return undefined
  }

  #startFor(key: string): Instance | undefined {
    const refusal = this.circuit.refusal()
    if (refusal !== undefined) {
      this.#wake()
      throw refusal
    }
    if (this.#instances.size >= this.#options.max) {
      this.#evict()
      return undefined
    }
    const instance: Instance = new Instance(
      key,
      this.#hooks(() => instance),
    )
    this.#instances.add(instance)
    for (const waiter of [...this.#waiters]) {
      if (waiter.key === key && this.#waiters.delete(waiter)) waiter.retry()
    }
    return instance
  }

  #hooks(self: () => Instance): InstanceHooks {
    const { onReady, onFailed } = this.#options
    return {
      // Deferred by one turn, so that the instance exists before it starts.
      start: async () => {
        await undefined
        return this.#options.start(self())
      },
      onReady: (instance, connection) => {
        this.circuit.succeeded()
        onReady(instance, connection)
        if (instance.leases === 0) this.#rest(instance)
      },
      onFailed: (instance, error) => {
        this.#instances.delete(instance)
        if (error.code !== 'CANCELLED') this.circuit.failed(error)
        onFailed(instance, error)
        this.#wake()
      },
      onIdle: (instance) => {
        if (instance.state === 'closed') this.#instances.delete(instance)
        else this.#rest(instance)
        this.#wake()
      },
    }
  }

  #rest(instance: Instance): void {
    const { clock, idleTimeout, min } = this.#options
    instance.idleTimer?.cancel()
    instance.idleTimer = clock.after(idleTimeout(), () => {
      if (instance.leases > 0 || instance.state !== 'ready') return
      if (this.#instances.size <= min) return this.#rest(instance)
      void this.#retire(instance, 'idle')
    })
  }

  #evict(): void {
    for (const instance of this.#instances) {
      if (instance.state === 'ready' && instance.leases === 0) {
        void this.#retire(instance, 'its place is needed')
        return
      }
    }
  }

  async #retire(instance: Instance, reason: string): Promise<void> {
    await instance.close(reason)
    this.#instances.delete(instance)
    this.#wake()
  }

  #turn(key: string, cancellation: Cancellation | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let forget: (() => void) | undefined
      const waiter: Waiter = {
        key,
        retry: () => {
          forget?.()
          resolve()
        },
      }
      this.#waiters.add(waiter)
      forget = cancellation?.onCancel((reason) => {
        if (this.#waiters.delete(waiter)) {
          reject(
            new McpxError(
              'CANCELLED',
              `Cancelled while waiting for server "${this.#options.server}": ${reason}`,
            ),
          )
        }
      })
    })
  }

  #stopping(reason: string): McpxError {
    return new McpxError('STOPPING', `Server "${this.#options.server}" is being stopped: ${reason}`)
  }

  /** One place is one turn, in the order of waiting; whoever cannot use it passes it on. */
  #wake(): void {
    if (this.#stopped !== undefined) {
      for (const waiter of [...this.#waiters]) waiter.retry()
      this.#waiters.clear()
      return
    }
    const [next] = this.#waiters
    if (next === undefined) return
    this.#waiters.delete(next)
    next.retry()
  }
}
