// The era records on disk, shared by every mcpx of one state folder.
import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import writeFileAtomic from 'write-file-atomic'
import type { Clock, Log } from '../base/index.ts'
import { formatRecords, parseRecords } from '../era/index.ts'
import type { EraMemory, EraRecord } from '../era/index.ts'
import { whileLocked } from './locked.ts'

export interface EraFile extends EraMemory {
  /** Resolves when everything that was remembered so far is on disk, or cannot be. Never rejects. */
  flush(): Promise<void>
}

/**
 * Opens the records of a file; one that is missing or cannot be read holds none. Only what this process changed is written,
 * into what the file says by then, under a lock and by rename. Where the file cannot be written, memory has to do, and the
 * log says so once.
 */
export function openEraFile(path: string, io: { readonly clock: Clock; readonly log: Log }): EraFile {
  const { clock, log } = io
  let records = parseRecords(readIfThere(path))
  /** Changes that are not on disk yet; undefined takes a record out. */
  let changes = new Map<string, EraRecord | undefined>()
  let writing: Promise<void> | undefined
  let warned = false

  function change(digest: string, record: EraRecord | undefined): void {
    apply(records, digest, record)
    changes.set(digest, record)
    writing ??= write()
  }

  async function write(): Promise<void> {
    // Servers that start together are written together.
    await Promise.resolve()
    await writeAll()
  }

  /** Ends in the same turn in which it sees that nothing is left, so that no change falls between two writers. */
  async function writeAll(): Promise<void> {
    while (changes.size > 0) {
      const mine = changes
      changes = new Map()
      try {
        await merge(mine)
      } catch (error) {
        if (!warned)
          log.warn('the eras of servers cannot be kept on disk and are kept in memory', {
            path,
            error: messageOf(error),
          })
        warned = true
        // They go with the next change; what changed since is newer.
        changes = new Map([...mine, ...changes])
        break
      }
    }
    writing = undefined
  }

  function merge(mine: ReadonlyMap<string, EraRecord | undefined>): Promise<void> {
    return whileLocked(path, async () => {
      const merged = parseRecords(await readFile(path, 'utf8').catch(() => undefined))
      for (const [digest, record] of mine) apply(merged, digest, record)
      await writeFileAtomic(path, formatRecords(merged, clock.now()), { mode: 0o600 })
      for (const [digest, record] of changes) apply(merged, digest, record)
      records = merged
    })
  }

  return {
    recall: (digest) => records.get(digest),
    remember: change,
    forget: (digest) => change(digest, undefined),
    flush: () => writing ?? Promise.resolve(),
  }
}

function apply(records: Map<string, EraRecord>, digest: string, record: EraRecord | undefined): void {
  if (record === undefined) records.delete(digest)
  else records.set(digest, record)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
