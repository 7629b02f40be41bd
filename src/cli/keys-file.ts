// The API keys of a state folder, hashed. A token has 256 random bits, so that nobody finds one by trying: a fast hash is as
// safe as a slow one, and each request pays for it.
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { isObject, McpxError, nearest } from '../base/index.ts'
import { isKeyName } from '../config/index.ts'
import type { ApiKey } from '../config/index.ts'
import { whileLocked } from './locked.ts'

export interface StoredKey extends ApiKey {
  /** ISO 8601. */
  readonly createdAt: string
  /** ISO 8601; without it the key is good until it is revoked. */
  readonly expiresAt?: string
}

/** A key that was taken back: known so that whoever still sends it is told. */
export interface RevokedKey extends ApiKey {
  readonly revokedAt: string
}

export interface KeysFile {
  readonly keys: readonly StoredKey[]
  readonly revoked: readonly RevokedKey[]
}

/** The second has keys that expire, which an mcpx that knows only the first would let in for ever. */
const PLAIN = 1
const EXPIRING = 2
/** Revoked keys that are remembered; the oldest go first. */
const MAX_REVOKED = 100
const NOTHING: KeysFile = { keys: [], revoked: [] }
const HASH = /^[0-9a-f]{64}$/

export function keysPath(folder: string): string {
  return join(folder, 'keys.json')
}

export function newToken(): string {
  return `mcpx_${randomBytes(32).toString('base64url')}`
}

export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** What the file says; nothing where there is no file. Throws CONFIG_INVALID for one that cannot be read or is broken. */
export function readKeys(path: string): KeysFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return NOTHING
    throw new McpxError('CONFIG_INVALID', `The keys in ${path} cannot be read (${codeOf(error)}).`, {
      cause: error,
    })
  }
  const file = parse(text)
  if (file !== undefined) return file
  throw new McpxError(
    'CONFIG_INVALID',
    `The keys in ${path} are broken or of a newer mcpx. While they are, every key is refused: restore the file, or delete it and add keys anew.`,
  )
}

/** `expiresIn` in ms. */
export interface NewKey {
  readonly name: string
  readonly now: Date
  readonly expiresIn: number | undefined
}

/** Adds a key and returns its token, which is kept nowhere. Throws USAGE for a name that is taken or is none. */
export async function addKey(path: string, { name, now, expiresIn }: NewKey): Promise<string> {
  const token = newToken()
  const until =
    expiresIn === undefined ? {} : { expiresAt: new Date(now.getTime() + expiresIn).toISOString() }
  await change(path, ({ keys, revoked }) => {
    if (keys.some((key) => key.name === name))
      throw new McpxError(
        'USAGE',
        `There is a key "${name}" already. Revoke it first, or choose another name.`,
      )
    const key = { name, hash: hashOf(token), createdAt: now.toISOString(), ...until }
    return { keys: [...keys, key], revoked }
  })
  return token
}

/** Takes a key out. Throws USAGE with the nearest name where there is none of this one. */
export async function revokeKey(path: string, name: string, now: Date): Promise<void> {
  await change(path, ({ keys, revoked }) => {
    const gone = keys.filter((key) => key.name === name)
    if (gone.length === 0) throw unknownKey(name, keys)
    const revokedAt = now.toISOString()
    const all = [...revoked, ...gone.map(({ hash }) => ({ name, hash, revokedAt }))]
    return { keys: keys.filter((key) => key.name !== name), revoked: all.slice(-MAX_REVOKED) }
  })
}

/** Throws USAGE for what cannot be the name of a key. */
export function checkName(name: string): void {
  if (isKeyName(name)) return
  throw new McpxError(
    'USAGE',
    `${JSON.stringify(name)} cannot be the name of a key: give 1 to 60 of A-Z a-z 0-9 . _ - and not "local", which callers without a key have.`,
  )
}

function unknownKey(name: string, keys: readonly StoredKey[]): McpxError {
  const names = keys.map((key) => key.name)
  const near = nearest(name, names)
  const advice =
    near === undefined ? `The keys are: ${names.join(', ') || 'none'}.` : `Did you mean "${near}"?`
  return new McpxError('USAGE', `There is no key ${JSON.stringify(name)}. ${advice}`)
}

async function change(path: string, changed: (file: KeysFile) => KeysFile): Promise<void> {
  try {
    await whileLocked(path, async () => {
      const file = changed(readKeys(path))
      const version = file.keys.some(({ expiresAt }) => expiresAt !== undefined) ? EXPIRING : PLAIN
      const { keys, revoked } = file
      const said = { version, keys, ...(revoked.length > 0 && { revoked }) }
      const text = `${JSON.stringify(said, null, 2)}\n`
      await writeFileAtomic(path, text, { mode: 0o600 })
    })
  } catch (error) {
    if (error instanceof McpxError) throw error
    throw new McpxError(
      'CONFIG_INVALID',
      `The keys in ${path} cannot be changed (${codeOf(error)}). MCPX_STATE_DIR names another folder.`,
      { cause: error },
    )
  }
}

function parse(text: string): KeysFile | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  // What another version added might restrict a key: to pass over it would let more in than was meant.
  if (!isObject(value) || (value['version'] !== PLAIN && value['version'] !== EXPIRING)) return undefined
  const { keys, revoked = [] } = value
  if (!Array.isArray(keys) || !Array.isArray(revoked)) return undefined
  const stored = keys.map(storedKey)
  const whole = stored.filter((key) => key !== undefined)
  const taken = revoked.map(revokedKey).filter((key) => key !== undefined)
  return whole.length === stored.length ? { keys: whole, revoked: taken } : undefined
}

function storedKey(value: unknown): StoredKey | undefined {
  if (!isObject(value)) return undefined
  const { name, hash, createdAt, expiresAt } = value
  if (typeof name !== 'string' || typeof hash !== 'string' || typeof createdAt !== 'string') return undefined
  if (!isKeyName(name) || !HASH.test(hash)) return undefined
  if (expiresAt === undefined) return { name, hash, createdAt }
  // A date that cannot be read must not make a key good for ever.
  if (typeof expiresAt !== 'string' || Number.isNaN(Date.parse(expiresAt))) return undefined
  return { name, hash, createdAt, expiresAt }
}

function revokedKey(value: unknown): RevokedKey | undefined {
  if (!isObject(value)) return undefined
  const { name, hash, revokedAt } = value
  if (typeof name !== 'string' || typeof hash !== 'string' || typeof revokedAt !== 'string') return undefined
  return { name, hash, revokedAt }
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message : String(error)
}
