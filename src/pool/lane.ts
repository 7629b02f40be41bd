// One lane of one server: its instances by scope key, at most `max` of them, and the line of those who wait for a place.
import { McpxError } from '../base/index.ts'
import type { Cancellation, Clock } from '../base/index.ts'
import { Circuit } from './backoff.ts'
import { Instance } from './instance.ts'
import type { InstanceHooks, Lease } from './instance.ts'
import type { Connecting } from './connect.ts'
import type { Connection } from './connection.ts'
import type { Need } from './need.ts'

export interface LaneOptions {
  readonly server: string
  readonly max: number
  readonly min: number
  /** In ms. */
  readonly idleTimeout: () => number
  /** How long a caller waits in line for a place, in ms. */
  readonly patience: () => number
  readonly clock: Clock
  readonly random: () => number
  readonly start: (instance: Instance, givenUp: Cancellation) => Promise<Connecting>
  readonly onReady: (instance: Instance, connection: Connection) => void
  readonly onFailed: (instance: Instance, error: McpxError) => void
}

interface Waiter {
  readonly need: Need
  readonly take: (instance: Instance) => void
  readonly refuse: (error: McpxError) => void
}

export class Lane {
  readonly circuit: Circuit
  readonly #options: LaneOptions
  readonly #instances = new Set<Instance>()
  /** Out of use, and open only for the leases that are still held; they take no place. */
  readonly #leaving = new Set<Instance>()
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
   * Leases an instance that serves the need, starting it if there is none. With every place taken, an idle instance of
   * another key is ended for it; with none idle, the caller waits in line, and what stands in its way is kept free of new
   * calls. Rejects with the start's error, at once while the circuit is open, with `CANCELLED` or `UPSTREAM_BUSY`.
   */
  async acquire(need: Need, cancellation?: Cancellation): Promise<Lease> {
    for (;;) {
      if (this.#stopped !== undefined) throw this.#stopping(this.#stopped)
      const place = this.#find(need) ?? (this.#waiters.size === 0 ? this.#startFor(need) : undefined)
      if (place instanceof McpxError) throw place
      const lease = await (place === undefined
        ? this.#turn(need, cancellation)
        : place.lease(need, cancellation))
      if (lease.fits) return lease
      lease.release()
    }
  }

  /** Ends every instance; those who come later start fresh ones. */
  async close(reason: string): Promise<void> {
    await Promise.all([...this.#instances, ...this.#leaving].map((instance) => instance.close(reason)))
  }

  /** Ends everything for good. */
  async stop(reason: string): Promise<void> {
    this.#stopped = reason
    this.#wake()
    await this.close(reason)
  }

  /** Takes a connection out of use: later calls get another one, and it is closed when its last lease is given back. */
  leave(connection: Connection): void {
    const instance = this.instances.find((candidate) => candidate.connection === connection)
    if (instance?.state !== 'ready') return
    instance.leave()
    this.#instances.delete(instance)
    this.#leaving.add(instance)
    this.#wake()
  }

  /** Takes an instance out whose connection closed. */
  lost(connection: Connection, error: McpxError): void {
    const instance = [...this.#instances, ...this.#leaving].find(
      (candidate) => candidate.connection === connection,
    )
    if (instance === undefined) return
    // A server that ended before anything was asked of it is no better than one that did not start. One that a call ended
    // may be what another call needs.
    if (instance.state === 'ready' && connection.asked === 0) this.circuit.failed(error)
    instance.closedByPeer()
  }

  /** Whoever wants to be alone stays where its principal already is. */
  #find(need: Need): Instance | undefined {
    let found: Instance | undefined
    for (const instance of this.#instances) {
      if (!instance.serves(need)) continue
      if (!need.alone || instance.isAloneFor(need.principal)) return instance
      found ??= instance
    }
    return found
  }

  /** A new instance, the error that the circuit answers with, or undefined while every place is taken. */
  #startFor(need: Need): Instance | McpxError | undefined {
    const refusal = this.circuit.refusal()
    if (refusal !== undefined) return refusal
    if (this.#instances.size >= this.#options.max) return undefined
    this.circuit.trying()
    const instance: Instance = new Instance(
      need,
      this.#hooks(() => instance),
    )
    this.#instances.add(instance)
    return instance
  }

  #hooks(self: () => Instance): InstanceHooks {
    const { onReady, onFailed } = this.#options
    return {
      // Deferred by one turn, so that the instance exists before it starts.
      start: async (givenUp) => {
        await Promise.resolve()
        return this.#options.start(self(), givenUp)
      },
      onReady: (instance, connection) => {
        this.circuit.succeeded()
        onReady(instance, connection)
        if (instance.leases === 0) this.#rest(instance)
        this.#wake()
      },
      onFailed: (instance, error) => {
        this.#instances.delete(instance)
        if (error.code === 'CANCELLED') this.circuit.abandoned()
        else if (error.code === 'AUTH_REQUIRED' || error.code === 'AUTH_UNAVAILABLE')
          this.circuit.wantsLogin(error)
        else this.circuit.failed(error)
        onFailed(instance, error)
        this.#wake()
      },
      onIdle: (instance) => {
        if (instance.state === 'closed') this.#forget(instance)
        else if (instance.state === 'ready') this.#rest(instance)
        else if (instance.state === 'leaving') void this.#retire(instance, 'it is out of use')
        this.#wake()
      },
      onFreed: () => {
        if (this.#waiters.size > 0) this.#wake()
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

  /** Ends idle instances, as many as there are callers in line. */
  #evict(): void {
    const all = this.instances
    let wanted = this.#waiters.size - all.filter(({ state }) => state === 'closing').length
    for (const instance of all) {
      if (wanted <= 0) return
      if (instance.state !== 'ready' || instance.leases > 0) continue
      wanted--
      void this.#retire(instance, 'its place is needed')
    }
  }

  async #retire(instance: Instance, reason: string): Promise<void> {
    await instance.close(reason)
    this.#forget(instance)
    this.#wake()
  }

  #forget(instance: Instance): void {
    this.#instances.delete(instance)
    this.#leaving.delete(instance)
  }

  #turn(need: Need, cancellation: Cancellation | undefined): Promise<Lease> {
    const { clock, patience, server, max } = this.#options
    const ms = patience()
    return new Promise((resolve, reject) => {
      let forget: (() => void) | undefined
      const leave = (act: () => void): void => {
        forget?.()
        timer.cancel()
        act()
      }
      const waiter: Waiter = {
        need,
        take: (instance) => leave(() => resolve(instance.lease(need, cancellation))),
        refuse: (error) => leave(() => reject(error)),
      }
      const giveUp = (error: McpxError): void => {
        if (!this.#waiters.delete(waiter)) return
        waiter.refuse(error)
        this.#wake()
      }
      const timer = clock.after(ms, () => {
        const text = `Server "${server}" was busy for ${ms / 1000} s: all ${max} of its instances are held by other callers. Raise "max", or "callTimeout" to wait longer.`
        giveUp(new McpxError('UPSTREAM_BUSY', text))
      })
      this.#waiters.add(waiter)
      forget = cancellation?.onCancel((reason) =>
        giveUp(new McpxError('CANCELLED', `Cancelled while waiting for server "${server}": ${reason}`)),
      )
      this.#claim(need)
      this.#evict()
    })
  }

  #stopping(reason: string): McpxError {
    return new McpxError('STOPPING', `Server "${this.#options.server}" is being stopped: ${reason}`)
  }

  /** Serves the line in its order, as far as places go. Whoever shares the instance of somebody before him needs no place. */
  #wake(): void {
    for (const instance of this.#instances) instance.claim = undefined
    let full = false
    for (const waiter of this.#waiters) {
      const place: Instance | McpxError | undefined =
        this.#stopped === undefined
          ? (this.#find(waiter.need) ?? (full ? undefined : this.#startFor(waiter.need)))
          : this.#stopping(this.#stopped)
      if (place === undefined) {
        full = true
        // Before the next in line is looked at, who may share what this one waits for.
        this.#claim(waiter.need)
        continue
      }
      this.#waiters.delete(waiter)
      if (place instanceof McpxError) waiter.refuse(place)
      else waiter.take(place)
    }
    this.#evict()
  }

  /**
   * Keeps an instance free of new calls for one who waits, so that steady traffic of one caller cannot keep another out for
   * ever: one of its own key, or else any. One is enough for all who may share it.
   */
  #claim(need: Need): void {
    const all = this.instances
    if (all.some(({ claim }) => claim?.key === need.key && claim.principal === need.principal)) return
    const free = all.filter(({ claim, state }) => claim === undefined && state === 'ready')
    const instance = free.find((candidate) => candidate.need.key === need.key) ?? free[0]
    if (instance !== undefined) instance.claim = need
  }
}
