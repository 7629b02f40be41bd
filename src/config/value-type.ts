// The kinds of values that settings and server keys have: how each is read, written, described and put in JSON Schema.
import { clip, isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import {
  DURATION_PATTERN,
  formatDuration,
  formatSize,
  parseDuration,
  parseSize,
  SIZE_PATTERN,
} from './duration.ts'
import { PREFERENCE_LIST, PREFERENCE_SPELLINGS, readPreference } from './preference.ts'
import type { Preference } from './preference.ts'

export interface ValueType<Value> {
  readonly name: string
  /** What may be given, as the end of "… is not allowed: give". */
  readonly allowed: string
  /** What a configuration file may say, as JSON Schema. */
  readonly schema: JsonObject
  /** Whether what was given may hold a secret, so that no message repeats it. */
  readonly secret?: true
  /** The normalised value of a JSON value, or undefined where it is not allowed. */
  read(given: unknown): Value | undefined
  /** The same for text from the environment or the command line. */
  readText(text: string): Value | undefined
  /** The value as a person would write it. */
  write(value: Value): string
}

/** Why a value was refused: what was given, unless it may be secret, and what is allowed. */
export function refusal(type: Pick<ValueType<unknown>, 'allowed' | 'secret'>, given: unknown): string {
  const shown = type.secret === undefined ? clip(JSON.stringify(given) ?? String(given)) : kindOf(given)
  return `${shown} is not allowed: give ${type.allowed}`
}

/** The longest that a timer of every JavaScript runtime can wait is 2^31-1 ms; more would fire at once. */
const LONGEST_TIMER = 24 * 86_400_000

/** A duration in milliseconds. */
export function duration({ min = 0, max = LONGEST_TIMER } = {}): ValueType<number> {
  const read = (given: unknown): number | undefined => within(parseDuration(given), min, max)
  const range = `from ${formatDuration(min)} to ${formatDuration(max)}`
  return {
    name: 'duration',
    allowed: `a duration such as "500ms", "2s", "1.5m" or "24h", or a number of milliseconds, ${range}`,
    schema: {
      anyOf: [
        { type: 'string', pattern: DURATION_PATTERN },
        { type: 'number', minimum: min, maximum: max },
      ],
    },
    read,
    readText: read,
    write: formatDuration,
  }
}

/** A number of bytes. */
export function size({ min = 1, max = 2 ** 30 } = {}): ValueType<number> {
  const read = (given: unknown): number | undefined => within(parseSize(given), min, max)
  const range = `from ${formatSize(min)} to ${formatSize(max)}`
  return {
    name: 'size',
    allowed: `a size such as "64KiB" or "4MiB", or a number of bytes, ${range}`,
    schema: {
      anyOf: [
        { type: 'string', pattern: SIZE_PATTERN },
        { type: 'number', minimum: min, maximum: max },
      ],
    },
    read,
    readText: read,
    write: formatSize,
  }
}

export function integer(min: number, max: number): ValueType<number> {
  const read = (given: unknown): number | undefined =>
    Number.isInteger(given) ? within(given as number, min, max) : undefined
  return {
    name: 'integer',
    allowed: `a whole number from ${min} to ${max}`,
    schema: { type: 'integer', minimum: min, maximum: max },
    read,
    readText: (text) => (/^\d+$/.test(text.trim()) ? read(Number(text)) : undefined),
    write: String,
  }
}

export const boolean: ValueType<boolean> = {
  name: 'boolean',
  allowed: 'true or false',
  schema: { type: 'boolean' },
  read: (given) => (typeof given === 'boolean' ? given : undefined),
  readText: (text) => TRUTHS.get(text.trim().toLowerCase()),
  write: String,
}

const TRUTHS = new Map([
  ['true', true],
  ['1', true],
  ['on', true],
  ['yes', true],
  ['false', false],
  ['0', false],
  ['off', false],
  ['no', false],
])

/** Text that is not empty. */
export const text: ValueType<string> = {
  name: 'text',
  allowed: 'text that is not empty',
  schema: { type: 'string', minLength: 1 },
  read: readNonEmpty,
  readText: readNonEmpty,
  write: String,
}

/** One of a few words, in any case. */
export function choice<const Word extends string>(words: readonly Word[]): ValueType<Word> {
  const read = (given: unknown): Word | undefined =>
    typeof given === 'string'
      ? words.find((word) => word.toLowerCase() === given.trim().toLowerCase())
      : undefined
  return {
    name: words.join(' | '),
    allowed: words.join(', '),
    schema: { enum: [...words] },
    read,
    readText: read,
    write: String,
  }
}

/** A list of texts; on one line they are separated by commas. */
export const strings: ValueType<readonly string[]> = {
  name: 'list',
  allowed: 'a list of texts',
  schema: { type: 'array', items: { type: 'string' } },
  read: (given) =>
    Array.isArray(given) && given.every((item) => typeof item === 'string') ? given : undefined,
  readText: (line) =>
    line
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  write: (items) => items.join(','),
}

/** Names with texts, such as headers. Numbers and booleans become text, null leaves the name out, as VS Code has it. */
export const stringMap: ValueType<Readonly<Record<string, string>>> = {
  name: 'object',
  allowed: 'an object whose values are texts',
  schema: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean', 'null'] } },
  secret: true,
  read: readStringMap,
  readText: () => undefined,
  write: (map) => Object.keys(map).join(','),
}

export const preference: ValueType<Preference> = {
  name: 'preference',
  allowed: PREFERENCE_LIST,
  schema: { enum: [...PREFERENCE_SPELLINGS] },
  read: readPreference,
  readText: readPreference,
  write: String,
}

function readNonEmpty(given: unknown): string | undefined {
  return typeof given === 'string' && given.trim() !== '' ? given : undefined
}

function readStringMap(given: unknown): Readonly<Record<string, string>> | undefined {
  if (!isObject(given)) return undefined
  const entries: [string, string][] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
    entries.push([name, String(value)])
  }
  return Object.fromEntries(entries)
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined
}

function kindOf(given: unknown): string {
  if (given === null) return 'null'
  if (Array.isArray(given)) return 'a list'
  return typeof given === 'object' ? 'an object with such values' : `a ${typeof given}`
}
