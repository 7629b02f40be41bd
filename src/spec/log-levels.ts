import { LOG_LEVELS } from './names.ts'
import type { LogLevel } from './names.ts'

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((known) => known === value)
}

/** Whether a log of that level is for those who want logs from `wanted` on. A level that no revision knows is for nobody. */
export function logReaches(level: unknown, wanted: LogLevel | undefined): boolean {
  return wanted !== undefined && isLogLevel(level) && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(wanted)
}

/** Whether one level lets more through than another; any lets more through than none. */
export function isMoreVerbose(level: LogLevel, than: LogLevel | undefined): boolean {
  return than === undefined || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(than)
}
