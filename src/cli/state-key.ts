// The key that seals what travels through clients: made once for a state folder, so that a restart breaks nothing.
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const BYTES = 32

/** The folder's key, made where there is none. A folder that cannot be written gets one for this process alone. */
export function stateKey(folder: string): Uint8Array {
  const path = join(folder, 'state.key')
  const fresh = randomBytes(BYTES)
  return readKey(path) ?? writeKey(folder, path, fresh) ?? readKey(path) ?? fresh
}

function readKey(path: string): Uint8Array | undefined {
  try {
    const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
    return key.length === BYTES ? key : undefined
  } catch {
    return undefined
  }
}

/** Writes a whole file and links it into place, so that of two processes that start together one wins and both read the same. */
function writeKey(folder: string, path: string, key: Uint8Array): Uint8Array | undefined {
  const draft = `${path}.${process.pid}`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const file = openSync(draft, 'w', 0o600)
    writeSync(file, Buffer.from(key).toString('base64'))
    fsyncSync(file)
    closeSync(file)
    linkSync(draft, path)
    return key
  } catch {
    return undefined
  } finally {
    remove(draft)
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It was never made.
  }
}
