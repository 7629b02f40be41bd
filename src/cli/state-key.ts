// The keys that seal what travels through clients: kept in the state folder, so that a restart breaks nothing.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { McpxError } from '../base/index.ts'

const BYTES = 32

/**
 * The keys that the configuration names (`state.key`), or else those of the folder's file: base64, one a line, the first
 * seals and all of them open. Where there is no file one is made; a file without any good key is put aside. A folder that
 * cannot be written gets a key for this process alone. Throws `CONFIG_INVALID` for a configured key that is none.
 */
export function stateKeys(folder: string, configured: readonly string[]): readonly Uint8Array[] {
  if (configured.length > 0) return configured.map(configuredKey)
  const path = join(folder, 'state.key')
  const fresh = [randomBytes(BYTES)]
  return readKeys(path) ?? writeKeys(folder, path, fresh) ?? readKeys(path) ?? fresh
}

function configuredKey(text: string): Uint8Array {
  const key = Buffer.from(text, 'base64')
  if (key.length === BYTES) return key
  throw new McpxError(
    'CONFIG_INVALID',
    `state.key holds a key that is not ${BYTES} bytes in base64. Make one with: node -p "crypto.randomBytes(${BYTES}).toString('base64')"`,
  )
}

function readKeys(path: string): readonly Uint8Array[] | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  const keys = text
    .split(/\s+/)
    .map((line) => Buffer.from(line, 'base64'))
    .filter(({ length }) => length === BYTES)
  if (keys.length > 0) return keys
  putAside(path)
  return undefined
}

/** Writes a whole file and links it into place, so that of two processes that start together one wins and both read the same. */
function writeKeys(
  folder: string,
  path: string,
  keys: readonly Uint8Array[],
): readonly Uint8Array[] | undefined {
  const draft = `${path}.${process.pid}`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeWhole(draft, keys.map((key) => Buffer.from(key).toString('base64')).join('\n'))
    linkSync(draft, path)
    return keys
  } catch {
    return undefined
  } finally {
    remove(draft)
  }
}

function writeWhole(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function putAside(path: string): void {
  try {
    renameSync(path, `${path}.broken`)
  } catch {
    // It cannot be replaced either, and this process goes on with a key of its own.
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It was never made.
  }
}
