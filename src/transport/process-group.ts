// A child and all that it started. On POSIX that is a process group, led by the child; on Windows, the tree below it.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export const WINDOWS = process.platform === 'win32'

/**
 * Whether a process of the group is left. The leader must have been reaped. On Windows nobody can say once the leader is
 * gone, so the answer is no. A group that we may not signal counts as gone, since nothing can be done about it.
 */
export function isGroupAlive(pid: number): boolean {
  if (WINDOWS) return false
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * Whether all that is left of a group are zombies. In a container whose first process reaps nothing, orphans stay that way
 * for ever. Linux only, and it reads every process's state, so it is for those who have waited already.
 */
export function isGroupUnreaped(pid: number): boolean {
  if (process.platform !== 'linux') return false
  const states = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => stateInGroup(name, pid))
  return states.every((state) => state === undefined || state === 'Z')
}

/** The state of a process, undefined where it is not of that group. */
function stateInGroup(pid: string, group: number): string | undefined {
  try {
    // "pid (command) state parent group …"; a command may hold anything, parentheses too.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state, , its] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)
    return Number(its) === group ? state : undefined
  } catch {
    return undefined
  }
}

/** Signals every process of the group. Windows has no signals: the tree is ended, whichever one was asked for. */
export function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (WINDOWS) return endTree(pid)
  try {
    process.kill(-pid, signal)
  } catch {
    // It is gone already.
  }
}

function endTree(pid: number): void {
  const taskkill = spawn('taskkill', ['/pid', String(pid), '/T', '/F'], {
    stdio: 'ignore',
    windowsHide: true,
  })
  taskkill.on('error', () => undefined)
}
