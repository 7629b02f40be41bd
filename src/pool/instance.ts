// One instance of one server: a start that several callers may wait for, and then a connection that they share.
import { asMcpxError, Cancellation, McpxError } from '../base/index.ts'
import type { Timer } from '../base/index.ts'
import type { Connecting, ProbeFrame } from './connect.ts'
import type { Connection } from './connection.ts'
import type { Need } from './need.ts'

/** `leaving` takes no new leases and closes with its last one. */
export type InstanceState = 'waiting' | 'starting' | 'ready' | 'leaving' | 'closing' | 'closed'

/** A caller's hold on an instance. Released once; an instance without leases may be ended. */
export interface Lease {
  readonly connection: Connection
  /** Whether the server was told what it should know of this caller: it may show only once it has started. */
  readonly fits: boolean
  release(): void
}

export interface InstanceHooks {
  /** Opens the server once a place to start is free, unless the start was given up before. */
  readonly start: (givenUp: Cancellation) => Promise<Connecting>
  readonly onReady: (instance: Instance, connection: Connection) => void
  readonly onFailed: (instance: Instance, error: McpxError) => void
  /** The last lease was given back, or the instance is gone. */
  readonly onIdle: (instance: Instance) => void
  /** A principal has left, or wants to be alone no more. */
  readonly onFreed: (instance: Instance) => void
}

export class Instance {
  /** What it was started for. */
  readonly need: Need
  state: InstanceState = 'waiting'
  /** Callers that hold the instance or wait for it. */
  leases = 0
  idleTimer: Timer | undefined
  /** Whoever waits for the others to leave; nobody else comes in meanwhile. */
  claim: Need | undefined
  /** Leases by principal. */
  readonly #holders = new Map<string, number>()
  /** Leases that want their principal to be alone. */
  #alone = 0
  readonly #hooks: InstanceHooks
  readonly #opening: Promise<Connection>
  #connecting: Connecting | undefined
  #connection: Connection | undefined
  #closing: Promise<void> | undefined
  readonly #givenUp = new Cancellation()

  constructor(need: Need, hooks: InstanceHooks) {
    this.need = need
    this.#hooks = hooks
    this.#opening = this.#open()
    // Failures reach the waiters and the lane; without either this promise is nobody's.
    this.#opening.catch(() => {})
  }

  get connection(): Connection | undefined {
    return this.#connection
  }

  get frames(): readonly ProbeFrame[] {
    return this.#connecting?.frames ?? []
  }

  /** Whether new leases may be taken. */
  get usable(): boolean {
    return this.state !== 'leaving' && this.state !== 'closing' && this.state !== 'closed'
  }

  /** Whether a caller may share the instance now. */
  serves(need: Need): boolean {
    return this.usable && this.need.key === need.key && this.#fits(need) && this.#admits(need)
  }

  /** Whether calls of the principal keep the others out already. */
  isAloneFor(principal: string): boolean {
    return this.#alone > 0 && this.#holders.has(principal)
  }

  /**
   * Takes a lease, which counts from the call on, and waits for the start. When the last one who waits has cancelled, the
   * start is given up.
   */
  async lease(need: Need, cancellation?: Cancellation): Promise<Lease> {
    if (!this.usable) throw ended()
    this.idleTimer?.cancel()
    const release = this.#hold(need)
    try {
      if (this.#connection === undefined) await this.#wait(cancellation)
      if (this.#connection === undefined || !this.usable) throw ended()
      return { connection: this.#connection, fits: this.#fits(need), release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Ends the instance, its start included. Resolves when all of it is gone. */
  close(reason: string): Promise<void> {
    this.#closing ??= this.#close(reason)
    return this.#closing
  }

  /** Takes no new leases from now on; those that are held may finish. */
  leave(): void {
    if (this.state !== 'ready') return
    this.idleTimer?.cancel()
    this.state = 'leaving'
  }

  /** The connection closed by itself. */
  closedByPeer(): void {
    this.idleTimer?.cancel()
    this.state = 'closed'
    this.#hooks.onIdle(this)
  }

  /** Only a legacy server was told once and for all who its client is. */
  #fits(need: Need): boolean {
    const era = this.#connection?.verdict.era
    return era !== 'legacy' || this.need.declared.key === need.declared.key
  }

  #admits(need: Need): boolean {
    if (this.claim !== undefined && !sameOwner(this.claim, need)) return false
    if (this.#connection?.verdict.era === 'modern') return true
    if (need.alone && this.#connection?.isHauntedFor(need.principal) === true) return false
    const others = this.#holders.size > (this.#holders.has(need.principal) ? 1 : 0)
    return !others || (this.#alone === 0 && !need.alone)
  }

  #hold({ principal, alone }: Need): () => void {
    this.leases++
    this.#holders.set(principal, (this.#holders.get(principal) ?? 0) + 1)
    if (alone) this.#alone++
    let held = true
    return () => {
      if (!held) return
      held = false
      this.leases--
      const left = (this.#holders.get(principal) ?? 1) - 1
      if (left === 0) this.#holders.delete(principal)
      else this.#holders.set(principal, left)
      if (alone) this.#alone--
      if (this.leases === 0) this.#unused()
      else if (left === 0 || (alone && this.#alone === 0)) this.#hooks.onFreed(this)
    }
  }

  /** Ends with exactly one of `onReady` and `onFailed`. */
  async #open(): Promise<Connection> {
    try {
      this.#connecting = await this.#hooks.start(this.#givenUp)
      if (this.#givenUp.reason !== undefined) this.#connecting.giveUp(this.#givenUp.reason)
      else this.state = 'starting'
      const connection = await this.#connecting.connected
      if (this.#givenUp.reason !== undefined) {
        await connection.close()
        throw new McpxError('CANCELLED', `The start was given up: ${this.#givenUp.reason}`)
      }
      if (!connection.isOpen)
        throw new McpxError('UPSTREAM_CLOSED', 'The server closed its connection at once')
      this.#connection = connection
      this.state = 'ready'
      this.#hooks.onReady(this, connection)
      return connection
    } catch (error) {
      this.state = 'closed'
      const failure = asMcpxError(error)
      this.#hooks.onFailed(this, failure)
      throw failure
    }
  }

  async #wait(cancellation: Cancellation | undefined): Promise<void> {
    if (cancellation === undefined) {
      await this.#opening
      return
    }
    let forget: (() => void) | undefined
    const cancelled = new Promise<never>((_, reject) => {
      forget = cancellation.onCancel((reason) =>
        reject(new McpxError('CANCELLED', `Cancelled while the server started: ${reason}`)),
      )
    })
    try {
      await Promise.race([this.#opening, cancelled])
    } finally {
      forget?.()
    }
  }

  #unused(): void {
    if (this.state === 'waiting' || this.state === 'starting') void this.close('nobody waits for it any more')
    else this.#hooks.onIdle(this)
  }

  async #close(reason: string): Promise<void> {
    this.idleTimer?.cancel()
    this.state = 'closing'
    this.#givenUp.cancel(reason)
    this.#connecting?.giveUp(reason)
    try {
      const connection = await this.#opening
      await connection.close()
    } catch {
      // The start failed or was given up: nothing is open.
    }
    this.state = 'closed'
  }
}

function sameOwner(claim: Need, need: Need): boolean {
  return claim === need || (claim.key === need.key && claim.principal === need.principal)
}

function ended(): McpxError {
  return new McpxError('UPSTREAM_CLOSED', 'The server was ended while it was waited for')
}
