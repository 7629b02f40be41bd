// The keys that seal what travels through clients: kept in the state folder, so that a restart breaks nothing.
import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { McpxError } from '../base/index.ts'
import { createPrivate } from './private-file.ts'

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
  const kept = readKeys(path)
  if (kept !== undefined) return kept
  const text = fresh.map((key) => Buffer.from(key).toString('base64')).join('\n')
  return createPrivate(path, text) ? fresh : (readKeys(path) ?? fresh)
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

function putAside(path: string): void {
  try {
    renameSync(path, `${path}.broken`)
  } catch {
    // It cannot be replaced either, and this process goes on with a key of its own.
  }
}
