// What one server granted one principal, in a file of its own that every mcpx of a state folder shares.
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { McpxError } from '../base/index.ts'
import type { Log } from '../base/index.ts'
import { emptyRecord, formatRecord, grantIn, parseRecord } from '../oauth/index.ts'
import type { Changed, GrantRecord, GrantStore } from '../oauth/index.ts'
import { whileLocked } from './locked.ts'

export interface GrantFile extends GrantStore {
  /** Forgets all of it, in this process too. Returns whether there was anything. */
  remove(): Promise<boolean>
}

export interface GrantPlace {
  /** The state folder. */
  readonly folder: string
  /** The server's identifier, from its URL. */
  readonly server: string
  readonly principal: string
  readonly log: Log
}

/** Longer than an authorization server is waited for, in ms: whoever waits here gets the token that another process is fetching. */
const LOCK_PATIENCE = 30_000

/** The name is a digest, since a URL fits into no file's name. Where the file cannot be written, memory has to do. */
export function openGrantFile({ folder, server, principal, log }: GrantPlace): GrantFile {
  const digest = createHash('sha256').update(`${server}\n${principal}`).digest('hex').slice(0, 32)
  const path = join(folder, 'oauth', `${digest}.json`)
  let seen: GrantRecord | undefined
  let state: string | undefined
  let loaded = false
  let warned = false

  function reread(): GrantRecord | undefined {
    // The state first: what is written between the two is read again the next time.
    const now = stateOf(path)
    const record = now === undefined ? undefined : parseRecord(textOf(path), { server, principal })
    // What could not be written is only here.
    if (record === undefined && warned) return seen
    state = now
    seen = record
    loaded = true
    return seen
  }

  function read(): GrantRecord | undefined {
    if (!loaded) return reread()
    // Servers without a grant are most, and pay for no look at the disk: their refusal brings one.
    return grantIn(seen) !== undefined && stateOf(path) !== state ? reread() : seen
  }

  function keep(record: GrantRecord): void {
    state = stateOf(path)
    seen = record
    loaded = true
  }

  async function update<Result>(change: (record: GrantRecord) => Promise<Changed<Result>>): Promise<Result> {
    let began = false
    const changed = async (): Promise<Result> => {
      began = true
      const { record, result } = await change(reread() ?? emptyRecord(server, principal))
      if (record !== undefined) {
        try {
          await writeFileAtomic(path, formatRecord(record), { mode: 0o600 })
        } catch (error) {
          unwritable(error)
        }
        keep(record)
      }
      return result
    }
    try {
      return await whileLocked(path, changed, LOCK_PATIENCE)
    } catch (error) {
      if (began || !isFileError(error)) throw error
      if (error.code !== 'ELOCKED') {
        unwritable(error)
        return changed()
      }
      const text = `Another process has been busy with the credentials of ${server} for ${LOCK_PATIENCE / 1000} s. Try again.`
      throw new McpxError('AUTH_UNAVAILABLE', text, { cause: error })
    }
  }

  function unwritable(error: unknown): void {
    if (!warned)
      log.warn('credentials cannot be kept on disk and are kept in memory', {
        path,
        error: isFileError(error) ? error.code : String(error),
      })
    warned = true
  }

  async function remove(): Promise<boolean> {
    const was = reread() !== undefined
    if (was) await whileLocked(path, async () => rmSync(path, { force: true }), LOCK_PATIENCE)
    seen = undefined
    state = undefined
    return was
  }

  return { read, reread, update, remove }
}

/** What changes whenever another file is put in its place; undefined where there is none. */
function stateOf(path: string): string | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat === undefined ? undefined : `${stat.mtimeMs} ${stat.size} ${stat.ino}`
  } catch {
    return undefined
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function isFileError(error: unknown): error is Error & { readonly code: string } {
  return (
    error instanceof Error &&
    !(error instanceof McpxError) &&
    'code' in error &&
    typeof error.code === 'string'
  )
}
