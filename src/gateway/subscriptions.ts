// Subscriptions to resources of one server: one upstream for each URI however many listen, renewed on a new connection.
import { McpxError } from '../base/index.ts'
import type { Clock, JsonObject, Log } from '../base/index.ts'
import type { Connection, Lease, LeaseFor, Upstream } from '../pool/index.ts'
import { METHOD } from '../spec/index.ts'
import type { Hearing } from './hearing.ts'

export interface SubscriptionsOptions {
  readonly upstream: Upstream
  readonly who: LeaseFor
  readonly clock: Clock
  readonly log: Log
  /** The stream of changes of a modern connection. */
  readonly hearing: (connection: Connection) => Hearing
}

type Listener = (params: JsonObject) => void

/** Pauses before a lost connection is opened again for those who listen, in ms. */
const BACKOFF = [0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000] as const

export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #listeners = new Map<string, Set<Listener>>()
  /** Held while anybody listens. */
  #lease: Lease | undefined
  /** Resources that the server still has to be told to forget, over the lease that is held. */
  #leaving = 0
  /** What is going on upstream, one after the other. */
  #turn: Promise<void> = Promise.resolve()

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  /** Listens to a resource until the returned function is called. Rejects with an McpxError where the server has no such thing. */
  async add(uri: string, listener: Listener): Promise<() => void> {
    const known = this.#listeners.get(uri)
    const listeners = known ?? new Set()
    listeners.add(listener)
    this.#listeners.set(uri, listeners)
    const remove = (): void => {
      if (!listeners.delete(listener) || listeners.size > 0) return
      this.#listeners.delete(uri)
      this.#leaving++
      void this.#inTurn(() => this.#unsubscribe(uri)).catch(() => {})
    }
    try {
      if (known === undefined) await this.#inTurn(() => this.#subscribe(uri))
      else await this.#turn
    } catch (error) {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(uri)
      this.#rest()
      throw error
    }
    return remove
  }

  /** A resource changed: whoever listens to it, or to what it is a part of, is told. */
  updated(params: JsonObject): void {
    const { uri } = params
    if (typeof uri !== 'string') return
    const exact = this.#listeners.get(uri)
    const told =
      exact ?? [...this.#listeners].filter(([own]) => uri.startsWith(own)).flatMap(([, all]) => [...all])
    for (const listener of told) listener(params)
  }

  /** A connection of the server closed. */
  lost(): void {
    const lease = this.#lease
    if (lease === undefined || lease.connection.isOpen) return
    lease.release()
    this.#lease = undefined
    this.#renew(0)
  }

  #renew(attempt: number): void {
    const pause = BACKOFF[attempt]
    const { clock, log, upstream } = this.#options
    if (this.#listeners.size === 0) return
    if (pause === undefined) {
      log.warn('subscriptions to resources could not be renewed', { server: upstream.name })
      return
    }
    clock.after(pause, () => {
      const all = [...this.#listeners.keys()]
      void this.#inTurn(async () => {
        for (const uri of all) if (this.#listeners.has(uri)) await this.#subscribe(uri)
      }).catch(() => this.#renew(attempt + 1))
    })
  }

  async #subscribe(uri: string): Promise<void> {
    this.#lease ??= await this.#options.upstream.lease(this.#options.who)
    const { connection } = this.#lease
    if (connection.asks === 'by-result') {
      const agreed = await this.#options.hearing(connection).want(new Set(this.#listeners.keys()))
      if (!agreed.has(uri)) throw this.#refused(`it does not tell of ${uri}`)
      return
    }
    const answer = await connection.request({ method: METHOD.subscribe, params: { uri } })
    if ('error' in answer) throw this.#refused(answer.error.message)
  }

  async #unsubscribe(uri: string): Promise<void> {
    try {
      const connection = this.#lease?.connection
      if (connection?.isOpen !== true || this.#listeners.has(uri)) return
      if (connection.asks === 'by-result')
        await this.#options.hearing(connection).want(new Set(this.#listeners.keys()))
      else await connection.request({ method: METHOD.unsubscribe, params: { uri } })
    } finally {
      this.#leaving--
      this.#rest()
    }
  }

  #rest(): void {
    if (this.#listeners.size > 0 || this.#leaving > 0) return
    this.#lease?.release()
    this.#lease = undefined
  }

  #refused(why: string): McpxError {
    return new McpxError(
      'UPSTREAM_ERROR',
      `Server "${this.#options.upstream.name}" refused a subscription: ${why}`,
    )
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}
