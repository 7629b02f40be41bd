import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { StdioTarget } from '../../src/wire/index.ts'

export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/transport/${name}.mjs`, import.meta.url))
}

export function target(name: string, ...args: string[]): StdioTarget {
  return { kind: 'stdio', command: process.execPath, args: [fixture(name), ...args], env: {}, cwd: undefined }
}

/** Whether a process runs. A zombie, which waits for a parent that may never look, does not. */
export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const stat = `/proc/${pid}/stat`
  return !existsSync(stat) || !/^\d+ \(.*\) Z/s.test(readFileSync(stat, 'utf8'))
}

/** Waits for what no event tells: the state of processes that are not our children. */
export async function eventually(condition: () => boolean): Promise<boolean> {
  for (let look = 0; look < 400; look++) {
    if (condition()) return true
    await setTimeout(25)
  }
  return false
}

/** The guardians that a process started. POSIX only. */
export function guardiansOf(parent: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => Number(words[1]) === parent && words.some((word) => word.endsWith('guardian.js')))
    .map((words) => Number(words[0]))
    .filter(runs)
}
