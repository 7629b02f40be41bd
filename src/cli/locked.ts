// Changes to files that every mcpx of one state folder shares.
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import lockfile from 'proper-lockfile'

/** A lock that was not renewed for so long belongs to a process that died, in ms. */
const STALE = 2500

/** Runs while no other process changes the file, whose folder is made where it is missing. */
export async function whileLocked<T>(path: string, change: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const release = await lockfile.lock(path, {
    realpath: false,
    stale: STALE,
    retries: { retries: 50, minTimeout: 20, maxTimeout: 200, factor: 1.5, randomize: true },
  })
  try {
    return await change()
  } finally {
    await release()
  }
}
