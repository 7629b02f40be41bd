// The token of the local user: what lets programs in over TCP that can read this user's files. One for each state folder.
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { McpxError } from '../base/index.ts'
import type { Log } from '../base/index.ts'
import { newToken } from './keys-file.ts'
import { createPrivate } from './private-file.ts'

/** Without the letters that would need escaping in a header, and long enough that it was not typed. */
const TOKEN = /^[\w.~+/-]{32,200}$/

export function tokenPath(folder: string): string {
  return join(folder, 'token')
}

/** The token of a state folder, or undefined where there is none. */
export function readToken(folder: string): string | undefined {
  try {
    const text = readFileSync(tokenPath(folder), 'utf8').trim()
    return TOKEN.test(text) ? text : undefined
  } catch {
    return undefined
  }
}

/**
 * Makes sure that a state folder has a token which is its owner's alone: one that others could read is replaced. False where
 * the folder cannot be written.
 */
export function ensureToken(folder: string, log: Log): boolean {
  const path = tokenPath(folder)
  if (readToken(folder) === undefined) {
    if (createPrivate(path, `${newToken()}\n`) || readToken(folder) !== undefined) return true
    return replaced(path) !== undefined
  }
  if (!isOpen(path)) return true
  try {
    chmodSync(path, 0o600)
  } catch {
    // Somebody else's file: what it holds is known to them.
  }
  // Some file systems have no modes: there a new token would be as open as the old one.
  if (isOpen(path)) log.warn('the token can be read by others: its file system keeps no modes', { path })
  else if (replaced(path) !== undefined)
    log.warn('others could read the token, so there is a new one: clients need it', { path })
  return true
}

/** Puts a new token in the place of the old one, which is refused from then on. Throws `CONFIG_INVALID`. */
export function renewToken(folder: string): string {
  const path = tokenPath(folder)
  // The folder may not be there yet.
  const token = createPrivate(path, `${newToken()}\n`) ? readToken(folder) : replaced(path)
  if (token !== undefined) return token
  throw new McpxError(
    'CONFIG_INVALID',
    `The token in ${path} cannot be written. MCPX_STATE_DIR names another folder.`,
  )
}

function replaced(path: string): string | undefined {
  const token = newToken()
  try {
    writeFileAtomic.sync(path, `${token}\n`, { mode: 0o600 })
    return token
  } catch {
    return undefined
  }
}

/** Whether anybody but the owner may read or change the file. Windows guards the folder instead. */
function isOpen(path: string): boolean {
  if (process.platform === 'win32') return false
  try {
    return (statSync(path).mode & 0o077) !== 0
  } catch {
    return false
  }
}
