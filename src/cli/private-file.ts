// Small files that only their owner may read.
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a whole file and links it into place, so that of two processes that start together one wins and both read the same.
 * False where there is such a file already, or where the folder cannot be written.
 */
export function createPrivate(path: string, text: string): boolean {
  const draft = `${path}.${process.pid}`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeWhole(draft, text)
    linkSync(draft, path)
    return true
  } catch {
    return false
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

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It was never made.
  }
}
