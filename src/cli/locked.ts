// Changes to files that every mcpx of one state folder shares.
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import lockfile from 'proper-lockfile'

/** A lock that was not renewed for so long belongs to a process that died, in ms. */
const STALE = 2500

/** The longest pause between two tries, in ms. */
const PAUSE = 200

/**
 * Runs while no other process changes the file, whose folder is made where it is missing. Whoever holds the lock is waited for
 * about `patience` ms.
 */
export async function whileLocked<T>(path: string, change: () => Promise<T>, patience = 8_000): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const release = await lockfile.lock(path, {
    realpath: false,
    stale: STALE,
    retries: {
      ...{ retries: Math.ceil(patience / PAUSE) + 10, minTimeout: 20, maxTimeout: PAUSE },
      ...{ factor: 1.5, randomize: true },
    },
    // A process that was stopped for a while loses its lock to another one, which is no reason to end it.
    onCompromised: () => {},
  })
  try {
    return await change()
  } finally {
    await release().catch(() => {})
  }
}
