import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../src/base/index.ts'

export interface FakeClock extends Clock {
  /** The delays of the timers that wait, in ms from when they were set. */
  readonly delays: readonly number[]
  /** Turns time forward, fires what falls due on the way in order, and lets what follows from it settle. */
  turn(ms: number): Promise<void>
}

/** Starts at a time that no default could be mistaken for. */
export function createFakeClock(start = 1_800_000_000_000): FakeClock {
  let now = start
  const timers = new Set<{ at: number; ms: number; callback: () => void }>()
  return {
    now: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, ms, callback }
      timers.add(timer)
      return { cancel: () => timers.delete(timer) }
    },
    get delays() {
      return [...timers].map(({ ms }) => ms)
    },
    async turn(ms) {
      await settled()
      const end = now + ms
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
        if (due === undefined) break
        now = Math.max(now, due.at)
        timers.delete(due)
        due.callback()
        await settled()
      }
      now = end
    },
  }
}

/** Lets everything run that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await setImmediate()
}
