// A folder with a configuration, and mcpx as a command in it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Command, JsonObject } from './peer.ts'
import { ROOT } from './processes.ts'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Workspace extends AsyncDisposable {
  /** The configuration file. */
  readonly config: string
  /** The path of a file in the folder. */
  file(name: string): string
  /** Runs `mcpx <args>` in the folder to its end. */
  run(args: readonly string[], stdin?: string): Promise<Finished>
  /** `mcpx <args>` in the folder, to be started. */
  command(...args: string[]): Command
  /** Starts `mcpx <args>` in the folder. */
  start(...args: string[]): Promise<Running>
}

/** Ended with SIGTERM when it is disposed of. */
export interface Running extends AsyncDisposable {
  readonly pid: number
  readonly stdin: Writable
  /** What stdout, or stderr, holds once the pattern is in it. Rejects when the process ends before. */
  printed(pattern: RegExp): Promise<string>
  logged(pattern: RegExp): Promise<string>
  /** Sends the signal, if any, and resolves with the exit code, or with the signal that ended the process. */
  end(signal?: NodeJS.Signals): Promise<number | string | null>
}

/** `config` is the file's own text where it is a string; without it the folder has none. */
export async function openWorkspace(
  config?: JsonObject | string,
  env: Record<string, string> = {},
): Promise<Workspace> {
  const folder = await mkdtemp(join(tmpdir(), 'mcpx-'))
  const file = (name: string) => join(folder, name)
  if (config !== undefined) {
    await writeFile(file('mcpx.json'), typeof config === 'string' ? config : JSON.stringify(config))
  }
  const command = (...args: string[]): Command => ({
    command: process.execPath,
    args: [join(ROOT, 'dist', 'cli', 'main.js'), ...args],
    cwd: folder,
    // Nothing of the user's own configuration may be found. Most tests are not about credentials, and their clients send none.
    env: {
      ...{ MCPX_STATE_DIR: file('state'), XDG_CONFIG_HOME: file('home'), APPDATA: file('home') },
      MCPX_AUTH_LOCAL: 'open',
      ...env,
    },
  })
  return {
    config: file('mcpx.json'),
    file,
    command,
    run: (args, stdin = '') => finish(command(...args), stdin),
    start: (...args) => start(command(...args)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

async function finish({ command, args, cwd, env }: Command, stdin: string): Promise<Finished> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' })
  child.stdin.on('error', () => undefined)
  child.stdin.end(stdin)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}

async function start({ command, args, cwd, env }: Command): Promise<Running> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' })
  const ended = once(child, 'close')
  await once(child, 'spawn')
  child.stdin.on('error', () => undefined)
  const end = async (signal?: NodeJS.Signals) => {
    if (signal) child.kill(signal)
    await ended
    return child.exitCode ?? child.signalCode
  }
  return {
    pid: child.pid ?? 0,
    stdin: child.stdin,
    printed: watch(child.stdout, ended),
    logged: watch(child.stderr, ended),
    end,
    [Symbol.asyncDispose]: async () => {
      await end('SIGTERM')
    },
  }
}

function watch(stream: Readable, ended: Promise<unknown>): (pattern: RegExp) => Promise<string> {
  let seen = ''
  stream.setEncoding('utf8').on('data', (part: string) => (seen += part))
  return async (pattern) => {
    const over = ended.then(() => {
      throw new Error(`The process ended without ${String(pattern)}: ${seen}`)
    })
    over.catch(() => undefined)
    while (!pattern.test(seen)) await Promise.race([once(stream, 'data'), over])
    return seen
  }
}

/** A program of test/fixtures/servers as a server of a configuration. */
export function fixture(name: string, env: Record<string, string> = {}, ...args: string[]) {
  return { command: process.execPath, args: [fixturePath(name), ...args], env }
}

export function fixturePath(name: string): string {
  return fileURLToPath(new URL(`../fixtures/servers/${name}.mjs`, import.meta.url))
}

/** The pids that fixtures wrote to a file, one a line. */
export function pidsIn(path: string): number[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
