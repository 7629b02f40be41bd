// Keys that tell callers apart, as a configuration spells them: `<name>:sha256:<hash of the token>`.
import type { ValueType } from './value-type.ts'

export interface ApiKey {
  /** The principal that the key stands for. */
  readonly name: string
  /** The SHA-256 of the token, in lower-case hex. */
  readonly hash: string
}

/** The principal of callers without a key; no key may have its name. */
const RESERVED = 'local'
const NAME = '[A-Za-z0-9._-]{1,60}'
const HASH = '[0-9a-fA-F]{64}'
const KEY_NAME = new RegExp(`^${NAME}$`)
const LINE = new RegExp(`^(${NAME}):sha256:(${HASH})$`)

export function isKeyName(name: string): boolean {
  return KEY_NAME.test(name) && name !== RESERVED
}

/** A key from its spelling, or undefined. */
export function parseApiKey(line: string): ApiKey | undefined {
  const [, name = '', hash = ''] = LINE.exec(line.trim()) ?? []
  return isKeyName(name) ? { name, hash: hash.toLowerCase() } : undefined
}

export function formatApiKey({ name, hash }: ApiKey): string {
  return `${name}:sha256:${hash}`
}

/** A list of keys. Several may have one name, so that a token can be replaced without a gap. */
export const apiKeys: ValueType<readonly string[]> = {
  name: 'list',
  allowed: `a list of "<name>:sha256:<64 hex digits>" with the SHA-256 of each key; a name has 1 to 60 of A-Z a-z 0-9 . _ - and is not "${RESERVED}"`,
  schema: { type: 'array', items: { type: 'string', pattern: `^(?!${RESERVED}:)${NAME}:sha256:${HASH}$` } },
  // Whoever takes the key itself for what belongs here must not find it in a message.
  secret: true,
  read: (given) => (Array.isArray(given) ? readLines(given) : undefined),
  readText: (line) => readLines(line.split(',').filter((item) => item.trim() !== '')),
  write: (lines) => lines.map((line) => line.slice(0, line.indexOf(':'))).join(','),
}

function readLines(lines: readonly unknown[]): readonly string[] | undefined {
  const keys = lines.map((line) => (typeof line === 'string' ? parseApiKey(line) : undefined))
  const known = keys.filter((key) => key !== undefined)
  return known.length === keys.length ? known.map(formatApiKey) : undefined
}
