import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../src/base/index.ts'

export interface ManualClock extends Clock {
  /** The delays of the timers that wait, in ms from when they were set. */
  readonly delays: readonly number[]
  /** Turns time forward and fires what falls due on the way, in order. */
  advance(ms: number): Promise<void>
  /** Resolves when a timer of that delay waits. */
  waitsFor(ms: number): Promise<void>
}

export function createManualClock(): ManualClock {
  let now = 0
  const timers = new Set<{ at: number; ms: number; callback: () => void }>()
  const watchers = new Set<() => void>()
  return {
    now: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, ms, callback }
      timers.add(timer)
      for (const watch of [...watchers]) watch()
      return { cancel: () => timers.delete(timer) }
    },
    get delays() {
      return [...timers].map(({ ms }) => ms)
    },
    async advance(ms) {
      const end = now + ms
      // Sockets and processes get their turns, also where no timer is due.
      await setImmediate()
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
        if (due === undefined) break
        now = Math.max(now, due.at)
        timers.delete(due)
        due.callback()
        await setImmediate()
      }
      now = end
    },
    waitsFor: (ms) =>
      new Promise((resolve) => {
        const watch = (): void => {
          if (![...timers].some((timer) => timer.ms === ms)) return
          watchers.delete(watch)
          resolve()
        }
        watchers.add(watch)
        watch()
      }),
  }
}
