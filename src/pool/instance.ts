// One instance of one server: a start that several callers may wait for, and then a connection that they share.
import { asMcpxError, Cancellation, McpxError } from '../base/index.ts'
import type { Timer } from '../base/index.ts'
import type { Connecting, ProbeFrame } from './connect.ts'
import type { Connection } from './connection.ts'

/** `leaving` takes no new leases and closes with its last one. */
export type InstanceState = 'waiting' | 'starting' | 'ready' | 'leaving' | 'closing' | 'closed'

/** A caller's hold on an instance. Released once; an instance without leases may be ended. */
export interface Lease {
  readonly connection: Connection
  release(): void
}

export interface InstanceHooks {
  /** Opens the server once a place to start is free, unless the start was given up before. */
  readonly start: (givenUp: Cancellation) => Promise<Connecting>
  readonly onReady: (instance: Instance, connection: Connection) => void
  readonly onFailed: (instance: Instance, error: McpxError) => void
  /** The last lease was given back, or the instance is gone. */
  readonly onIdle: (instance: Instance) => void
}

export class Instance {
  readonly key: string
  state: InstanceState = 'waiting'
  /** Callers that hold the instance or wait for it. */
  leases = 0
  idleTimer: Timer | undefined
  readonly #hooks: InstanceHooks
  readonly #opening: Promise<Connection>
  #connecting: Connecting | undefined
  #connection: Connection | undefined
  #closing: Promise<void> | undefined
  readonly #givenUp = new Cancellation()

  constructor(key: string, hooks: InstanceHooks) {
    this.key = key
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

  /**
   * Takes a lease, which counts from the call on, and waits for the start. When the last one who waits has cancelled, the
   * start is given up.
   */
  async lease(cancellation?: Cancellation): Promise<Lease> {
    if (!this.usable) throw ended()
    this.leases++
    this.idleTimer?.cancel()
    let held = true
    const release = (): void => {
      if (!held) return
      held = false
      this.leases--
      if (this.leases === 0) this.#unused()
    }
    try {
      if (this.#connection === undefined) await this.#wait(cancellation)
      if (this.#connection === undefined || !this.usable) throw ended()
      return { connection: this.#connection, release }
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

function ended(): McpxError {
  return new McpxError('UPSTREAM_CLOSED', 'The server was ended while it was waited for')
}
