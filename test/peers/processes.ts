// Real processes for the tests: each is started here, known by its child object, and ended with its owner.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Command, JsonObject } from './peer.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MCPX = join(ROOT, 'dist', 'cli', 'main.js')

/** How long a process has to end by itself before it is killed. Only a hang reaches it. */
const PATIENCE_MS = 10_000

export interface Child extends AsyncDisposable {
  readonly pid: number | undefined
  readonly stdin: Writable
  readonly stdout: Readable
  stderr(): string
  /** Closes stdin and waits for the end; with a signal, sends that first. Kills a child that does not end. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export function startChild({ command, args, cwd = ROOT, env }: Command): Child {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' })
  const ended = once(child, 'close').catch(() => undefined)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  // A child that has gone shows as the end of its stdout; the failed write says nothing more.
  child.stdin.on('error', () => undefined)

  const stop = async (signal?: NodeJS.Signals) => {
    if (signal) child.kill(signal)
    child.stdin.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
    await ended
    clearTimeout(timer)
  }
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: () => stderr,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  }
}

/** Starts a program of this project with Node and resolves with the first line of its stdout. */
export async function startProgram(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Child & { readonly line: string }> {
  const child = startChild({ command: process.execPath, args, env })
  return { ...child, line: await firstLine(child) }
}

export interface Daemon extends AsyncDisposable {
  /** The endpoint of all servers; `/<server>` behind it is one of them. */
  readonly url: string
  readonly v1: string
  readonly pid: number
  /** The `mcpx serve` that belongs to this daemon: same configuration, same state. */
  serve(...args: string[]): Command
  stderr(): string
  /** SIGTERM, then the end of the process and of its folder. */
  stop(): Promise<void>
}

/** Starts `mcpx daemon` on a free port with the configuration, in a folder of its own, and waits until it listens. */
export async function startDaemon(config: JsonObject, env: Record<string, string> = {}): Promise<Daemon> {
  if (!existsSync(MCPX)) throw new Error(`${MCPX} does not exist: npm run build`)
  const folder = await mkdtemp(join(tmpdir(), 'mcpx-'))
  const file = join(folder, 'mcpx.json')
  await writeFile(file, JSON.stringify(config))
  const environment = { MCPX_AUTH_LOCAL: 'open', ...env, MCPX_STATE_DIR: join(folder, 'state') }
  const child = startChild({
    command: process.execPath,
    args: [MCPX, 'daemon', '--config', file, '--port', '0', '--json'],
    env: environment,
  })
  const stop = async () => {
    await child.stop('SIGTERM')
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const { mcp, v1, pid } = JSON.parse(await firstLine(child)) as { mcp: string; v1: string; pid: number }
    return {
      url: mcp,
      v1,
      pid,
      serve: (...args) => ({
        command: process.execPath,
        args: [MCPX, 'serve', '--config', file, ...args],
        env: environment,
      }),
      stderr: () => child.stderr(),
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (cause) {
    await stop()
    throw cause
  }
}

async function firstLine(child: Child): Promise<string> {
  const lines = createInterface({ input: child.stdout })
  const line = await new Promise<string | undefined>((resolve) => {
    lines.once('line', resolve)
    lines.once('close', () => resolve(undefined))
  })
  if (line === undefined) throw new Error(`The process ended before its first line: ${child.stderr()}`)
  return line
}
