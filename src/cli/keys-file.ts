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
}

const VERSION = 1
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

/** The keys of the file; none where there is no file. Throws CONFIG_INVALID for one that cannot be read or is broken. */
export function readKeys(path: string): readonly StoredKey[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw new McpxError('CONFIG_INVALID', `The keys in ${path} cannot be read (${codeOf(error)}).`, {
      cause: error,
    })
  }
  const keys = parse(text)
  if (keys !== undefined) return keys
  throw new McpxError(
    'CONFIG_INVALID',
    `The keys in ${path} are broken or of a newer mcpx. While they are, every key is refused: restore the file, or delete it and add keys anew.`,
  )
}

/** Adds a key and returns its token, which is kept nowhere. Throws USAGE for a name that is taken or is none. */
export async function addKey(path: string, name: string, now: Date): Promise<string> {
  const token = newToken()
  await change(path, (keys) => {
    if (keys.some((key) => key.name === name))
      throw new McpxError(
        'USAGE',
        `There is a key "${name}" already. Revoke it first, or choose another name.`,
      )
    return [...keys, { name, hash: hashOf(token), createdAt: now.toISOString() }]
  })
  return token
}

/** Takes a key out. Throws USAGE with the nearest name where there is none of this one. */
export async function revokeKey(path: string, name: string): Promise<void> {
  await change(path, (keys) => {
    const rest = keys.filter((key) => key.name !== name)
    if (rest.length === keys.length) throw unknownKey(name, keys)
    return rest
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

async function change(
  path: string,
  changed: (keys: readonly StoredKey[]) => readonly StoredKey[],
): Promise<void> {
  try {
    await whileLocked(path, async () => {
      const text = `${JSON.stringify({ version: VERSION, keys: changed(readKeys(path)) }, null, 2)}\n`
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

function parse(text: string): readonly StoredKey[] | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  // What another version added might restrict a key: to pass over it would let more in than was meant.
  if (!isObject(value) || value['version'] !== VERSION || !Array.isArray(value['keys'])) return undefined
  const keys = value['keys'].map(storedKey)
  const whole = keys.filter((key) => key !== undefined)
  return whole.length === keys.length ? whole : undefined
}

function storedKey(value: unknown): StoredKey | undefined {
  if (!isObject(value)) return undefined
  const { name, hash, createdAt } = value
  if (typeof name !== 'string' || typeof hash !== 'string' || typeof createdAt !== 'string') return undefined
  return isKeyName(name) && HASH.test(hash) ? { name, hash, createdAt } : undefined
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message : String(error)
}
