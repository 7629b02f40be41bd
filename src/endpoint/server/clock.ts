import type { Clock } from '../../base/index.ts'

/** The time of whatever runtime this is: only Node's timers can, and must, be kept from holding a process. */
export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer: unknown = setTimeout(callback, ms)
    if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as NodeJS.Timeout).unref()
    return { cancel: () => clearTimeout(timer as NodeJS.Timeout) }
  },
}
