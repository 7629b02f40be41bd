// The end of a child and of everything that it started, step by step.
import type { Clock } from '../base/index.ts'
import type { Guard } from './guard.ts'
import type { Patience } from './options.ts'
import { isGroupAlive, isGroupUnreaped, signalGroup, WINDOWS } from './process-group.ts'

const FIRST_LOOK_MS = 5
const SLOWEST_LOOK_MS = 100

export interface ChildGroupOptions {
  readonly pid: number
  readonly clock: Clock
  readonly patience: Patience
  readonly guard: Guard
}

/** A child's process group, guarded until it is empty. */
export class ChildGroup {
  readonly #options: ChildGroupOptions
  #leaderGone = false
  #wake: (() => void) | undefined
  #end: Promise<void> | undefined

  constructor(options: ChildGroupOptions) {
    this.#options = options
    options.guard.add(options.pid)
  }

  /** The child exited and was reaped. What it left behind is ended without further waiting. */
  leaderExited(): void {
    this.#leaderGone = true
    this.#wake?.()
    void this.end()
  }

  /**
   * Waits for the child, whose stdin has ended, to exit; then SIGTERM and SIGKILL to the group as far as needed. Resolves when
   * the group is empty, zombies apart, or when SIGKILL has had its time.
   */
  end(): Promise<void> {
    this.#end ??= this.#descend()
    return this.#end
  }

  async #descend(): Promise<void> {
    const { pid, patience, guard } = this.#options
    await this.#leaderGoneWithin(patience.stdinEnd)
    if (!this.#isEmpty()) {
      signalGroup(pid, 'SIGTERM')
      if (!(await this.#emptyWithin(patience.terminate))) {
        signalGroup(pid, 'SIGKILL')
        await this.#emptyWithin(patience.kill)
      }
    }
    guard.remove(pid)
  }

  #isEmpty(): boolean {
    return this.#leaderGone && !isGroupAlive(this.#options.pid)
  }

  async #leaderGoneWithin(ms: number): Promise<void> {
    if (!this.#leaderGone) await this.#pause(ms)
  }

  /** Only the leader's exit is told; for the others one has to look. */
  async #emptyWithin(ms: number): Promise<boolean> {
    let left = ms
    let look = WINDOWS ? SLOWEST_LOOK_MS : FIRST_LOOK_MS
    while (!this.#isEmpty()) {
      if (left <= 0) return false
      const pause = Math.min(look, left)
      await this.#pause(pause)
      left -= pause
      if (look === SLOWEST_LOOK_MS && this.#leaderGone && isGroupUnreaped(this.#options.pid)) return true
      look = Math.min(look * 2, SLOWEST_LOOK_MS)
    }
    return true
  }

  /** Ends early when the leader exits. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(ms, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
  }
}
