// The processes of a bench run: each prints one line when it is ready, and all end with the run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** @typedef {{ line: string, pid: number }} Running */

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set()
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')))
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.on(signal, () => void endAll().then(() => process.exit(1)))

/**
 * Starts a program with Node and resolves with its first line.
 * @param {string[]} args @param {Record<string, string>} [env] @returns {Promise<Running>}
 */
export async function start(args, env) {
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  children.add(child)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr = (stderr + text).slice(-4000)))
  child.once('exit', () => children.delete(child))
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close')])
  if (line === undefined) throw new Error(`${args.join(' ')} ended: ${stderr}`)
  return { line, pid: child.pid ?? 0 }
}

/** Asks every child to end and waits for it; one that does not within 5 s is killed. */
export async function endAll() {
  const ends = [...children].map(async (child) => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000)
    await ended
    clearTimeout(timer)
  })
  await Promise.all(ends)
}

/** CPU time that a process has used, in microseconds, in steps of 10 ms; null where it is not said. @param {number} pid */
export function cpuOf(pid) {
  if (process.platform !== 'linux') return null
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The fields after the command's name, which may itself hold spaces: utime and stime are the 14th and 15th of all.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Resident and peak memory of a process in MiB; null where the system does not say. @param {number} pid */
export function memoryOf(pid) {
  if (process.platform !== 'linux') return null
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mib = (/** @type {string} */ key) =>
    Math.round(Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
  return { rss: mib('VmRSS'), peak: mib('VmHWM') }
}
