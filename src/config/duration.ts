// Durations and sizes as people write them. A bare number is milliseconds or bytes.

const DAY = 86_400_000

const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: DAY,
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
}

/** The same rule as the parsers', for JSON Schema. */
export const DURATION_PATTERN = '^[0-9]+([.][0-9]+)?(ms|s|m|h|d)?$'
export const SIZE_PATTERN = '^[0-9]+([.][0-9]+)?([KkMmGg][Ii]?)?[Bb]?$'

/** Milliseconds, rounded to whole ones, from a number or from text such as `500ms`, `2s`, `1.5m`, `24h`, `7d`. */
export function parseDuration(given: unknown): number | undefined {
  return parseQuantity(given, (unit) => DURATION_UNITS[unit === '' ? 'ms' : unit])
}

/** Bytes, rounded to whole ones, from a number or from text such as `512B`, `64KiB`, `4MiB`, `1GB`. */
export function parseSize(given: unknown): number | undefined {
  return parseQuantity(given, (unit) => SIZE_UNITS[unit === '' ? 'b' : unit.toLowerCase()])
}

/** The shortest exact text for whole milliseconds: `24h`, `90s`, `1500ms`; days from two on. */
export function formatDuration(ms: number): string {
  if (ms > DAY && ms % DAY === 0) return `${ms / DAY}d`
  return formatQuantity(ms, [
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
    ['ms', 1],
  ])
}

/** The shortest exact text for whole bytes, in binary units: `4MiB`, `1000B`. */
export function formatSize(bytes: number): string {
  return formatQuantity(bytes, [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
    ['B', 1],
  ])
}

function parseQuantity(given: unknown, factorOf: (unit: string) => number | undefined): number | undefined {
  if (typeof given === 'number') return whole(given)
  if (typeof given !== 'string') return undefined
  const match = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(given.trim())
  const factor = match === null ? undefined : factorOf(match[2] ?? '')
  return factor === undefined ? undefined : whole(Number(match?.[1]) * factor)
}

function whole(quantity: number): number | undefined {
  const rounded = Math.round(quantity)
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded : undefined
}

function formatQuantity(quantity: number, units: readonly (readonly [string, number])[]): string {
  const unit = quantity === 0 ? units.at(-1) : units.find(([, factor]) => quantity % factor === 0)
  return unit === undefined ? String(quantity) : `${quantity / unit[1]}${unit[0]}`
}
