// The other end of the guardian: one small process that ends the groups which mcpx, killed, cannot end itself.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../base/index.ts'

export interface Guard {
  /** Guards a process group from now on. The word is in the kernel when this returns. */
  add(pid: number): void
  /** The group is gone; its number may soon be another's. */
  remove(pid: number): void
  /** Lets the guardian go. */
  close(): void
}

const SCRIPT = fileURLToPath(new URL('./guardian.js', import.meta.url))
/** A guardian that dies is replaced; one that cannot live is not started for ever. */
const MAX_STARTS = 10

/** Starts the guardian with the first group, and another one with all groups when it dies. */
export function createGuard(log: Log): Guard {
  const groups = new Set<number>()
  let guardian: ChildProcess | undefined
  let starts = 0
  let closed = false

  function add(pid: number): void {
    groups.add(pid)
    if (guardian === undefined) start()
    else tell(`+${pid}\n`)
  }

  function remove(pid: number): void {
    if (groups.delete(pid)) tell(`-${pid}\n`)
  }

  function close(): void {
    closed = true
    guardian?.stdin?.end()
  }

  function start(): void {
    if (closed || starts === MAX_STARTS) return
    starts += 1
    const child = launch()
    guardian = child
    child.once('error', (error) => lost(child, error.message))
    child.once('exit', (code, signal) => lost(child, signal ?? `code ${code}`))
    for (const pid of groups) tell(`+${pid}\n`)
  }

  function lost(child: ChildProcess, reason: string): void {
    if (guardian !== child) return
    guardian = undefined
    if (closed) return
    log.warn('the guardian process ended; if mcpx is killed, servers may be left running', { reason, starts })
    if (groups.size > 0) start()
  }

  function tell(line: string): void {
    // Node writes to a child's pipe at once as long as the pipe has room, so no word waits for the event loop.
    guardian?.stdin?.write(line)
  }

  return { add, remove, close }
}

function launch(): ChildProcess {
  const systemRoot = process.env['SYSTEMROOT']
  const child = spawn(process.execPath, [SCRIPT], {
    // Detached is a session of its own: the signals of a terminal that closes do not reach it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
    // In the root, since a process keeps its working folder from being removed.
    cwd: parse(process.execPath).root,
    env: systemRoot === undefined ? {} : { SYSTEMROOT: systemRoot },
  })
  child.stdin.on('error', () => undefined)
  child.unref()
  unref(child.stdin)
  return child
}

/** A child's pipe is a socket, which its type does not say. */
function unref(stream: object): void {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
}
