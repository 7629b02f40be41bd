import type { Clock } from '../base/index.ts'

/** The machine's own time. Its timers keep no process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return { cancel: () => clearTimeout(timer) }
  },
}

/** Resolves when the promise does, or after that many milliseconds; true when the promise was first. */
export function within(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(false))
    promise.then(() => resolve(true), reject).finally(() => timer.cancel())
  })
}

/**
 * Runs an ending to its end although nothing else may keep the process alive: the clock's timers do not. It begins after the
 * caller has the promise, so that an ending that is asked for again from within finds it.
 */
export async function heldOpen(ending: () => Promise<void>): Promise<void> {
  await Promise.resolve()
  const hold = setInterval(() => undefined, 2 ** 30)
  try {
    await ending()
  } finally {
    clearInterval(hold)
  }
}
