// A server as a child process: messages on its pipes, its stderr kept, its end and its group's.
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { statSync } from 'node:fs'
import spawn from 'cross-spawn'
import { isObject, McpxError } from '../base/index.ts'
import { answeredBy, createLineFramer, shapeOf } from '../wire/index.ts'
import type {
  Channel,
  ChannelListener,
  CloseReason,
  Id,
  LineFramer,
  RpcMessage,
  StdioTarget,
} from '../wire/index.ts'
import { ChildGroup } from './child-group.ts'
import { heldOpen } from './clock.ts'
import { childEnvironment } from './environment.ts'
import type { Environment } from './environment.ts'
import type { Guard } from './guard.ts'
import { createNoise } from './noise.ts'
import type { Noise } from './noise.ts'
import type { ChannelOptions } from './options.ts'
import { WINDOWS } from './process-group.ts'
import { StderrTail } from './stderr-tail.ts'

export interface StdioOptions extends ChannelOptions {
  readonly guard: Guard
  /** What the child may inherit a few variables of. */
  readonly environment: Environment
}

const BODY_CLIP = 4096

/**
 * Starts the process, in a group of its own and without a shell. Resolves when it runs; rejects with `UPSTREAM_START_FAILED`
 * when it cannot.
 */
export function openStdio(
  target: StdioTarget,
  listener: ChannelListener,
  options: StdioOptions,
): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void => reject(startFailure(error, target, options.name))
    try {
      const child = launch(target, options.environment)
      child.once('error', failed)
      if (child.pid === undefined) return
      const channel = new StdioChannel(child, child.pid, { ...options, listener })
      child.once('spawn', () => {
        child.off('error', failed)
        resolve(channel)
      })
    } catch (error) {
      failed(error)
    }
  })
}

function launch(target: StdioTarget, environment: Environment): ChildProcessWithoutNullStreams {
  const child = spawn(target.command, target.args, {
    cwd: target.cwd,
    env: childEnvironment(target.env, environment),
    stdio: ['pipe', 'pipe', 'pipe'],
    // On POSIX the leader of a new group. On Windows it would be given a console window.
    detached: !WINDOWS,
    windowsHide: true,
  })
  return child as ChildProcessWithoutNullStreams
}

class StdioChannel implements Channel {
  readonly transport = 'stdio'
  readonly #child: ChildProcessWithoutNullStreams
  readonly #listener: ChannelListener
  readonly #options: StdioOptions
  readonly #group: ChildGroup
  readonly #noise: Noise
  readonly #framer: LineFramer
  readonly #stderr = new StderrTail()
  #exit: { code: number | null; signal: string | null } | undefined
  #closing: Promise<void> | undefined
  #over = false
  #unsent: (Id | undefined)[] = []
  #onOver: () => void = () => undefined

  constructor(
    child: ChildProcessWithoutNullStreams,
    pid: number,
    options: StdioOptions & { listener: ChannelListener },
  ) {
    this.#child = child
    this.#listener = options.listener
    this.#options = options
    this.#group = new ChildGroup({ ...options, pid })
    this.#noise = createNoise(options.log, options.name)
    const { maxMessage } = options.limits
    this.#framer = createLineFramer(
      {
        onLine: (line) => this.#take(line),
        onOversize: (line) =>
          this.#listener.onFailed(answeredBy(line), { kind: 'too-large', bytes: maxMessage }),
      },
      maxMessage,
    )
    this.#read()
    child.on('exit', (code, signal) => this.#exited(code, signal))
    // After the start, the only error is a command that Windows finds missing once its shim runs.
    child.on('error', (error) => {
      this.#stderr.push(Buffer.from(`${error.message}\n`))
      this.#exited(child.exitCode ?? 1, child.signalCode)
    })
  }

  send(message: RpcMessage): void {
    if (this.#over) return
    const id = 'method' in message && 'id' in message ? message.id : undefined
    const { stdin } = this.#child
    if (!stdin.writable) return this.#notSent(id)
    stdin.write(`${JSON.stringify(message)}\n`, (error) => {
      if (error) this.#notSent(id)
    })
  }

  /** A pipe has nothing to give up. */
  abandon(): void {}

  stderr(): readonly string[] {
    return this.#stderr.lines()
  }

  close(): Promise<void> {
    this.#closing ??= heldOpen(async () => {
      this.#child.stdin.end()
      await this.#group.end()
      // What even SIGKILL does not end is reported as gone all the same.
      if (this.#exit === undefined) this.#finish()
      if (!this.#over) await new Promise<void>((resolve) => (this.#onOver = resolve))
    })
    return this.#closing
  }

  #read(): void {
    const { stdin, stdout, stderr } = this.#child
    stdout.on('data', (bytes: Buffer) => {
      if (!this.#over) this.#framer.feed(bytes)
    })
    stdout.on('end', () => this.#outputEnded())
    stderr.on('data', (bytes: Buffer) => this.#stderr.push(bytes))
    // A broken pipe is told by each write and by the exit.
    for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined)
    // All pipes have ended and the process has exited.
    this.#child.on('close', () => this.#finish())
  }

  #take(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      return this.#noise.skip(line, 'not JSON')
    }
    // Revision 2025-03-26 has batches.
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const shape = shapeOf(item)
      if (shape.kind !== 'invalid') this.#listener.onMessage(shape.message, undefined)
      else this.#skip(item, line, shape)
    }
  }

  /** What has a request's id and is no call can only be a broken answer: its request need not wait for another one. */
  #skip(value: unknown, line: string, { reason, id }: { reason: string; id: Id | undefined }): void {
    this.#noise.skip(line, reason)
    if (id === undefined || (isObject(value) && 'method' in value)) return
    const body = line.slice(0, BODY_CLIP)
    this.#listener.onFailed(id, { kind: 'not-json-rpc', status: 0, contentType: '', body })
  }

  /**
   * A process that does not read is most likely about to exit, and its exit says more than the broken pipe. Only when it goes
   * on without its stdin are the messages reported, which it never got whole.
   */
  #notSent(id: Id | undefined): void {
    if (this.#closing !== undefined || this.#over) return
    this.#unsent.push(id)
    if (this.#unsent.length > 1) return
    this.#options.clock.after(this.#options.patience.drain, () => {
      const ids = this.#unsent
      this.#unsent = []
      for (const unsent of ids) {
        if (this.#over) return
        this.#listener.onFailed(unsent, {
          kind: 'network',
          message: 'the process closed its stdin',
          sent: false,
        })
      }
    })
  }

  #exited(code: number | null, signal: string | null): void {
    if (this.#exit !== undefined) return
    this.#exit = { code, signal }
    this.#group.leaderExited()
    this.#options.clock.after(this.#options.patience.drain, () => this.#finish())
  }

  /** A process that closed its stdout can answer nothing more: it is ended unless it ends itself. */
  #outputEnded(): void {
    this.#options.clock.after(this.#options.patience.drain, () => {
      if (this.#exit !== undefined) return
      this.#child.stdin.end()
      void this.#group.end()
    })
  }

  #finish(): void {
    if (this.#over) return
    this.#framer.end()
    this.#over = true
    this.#noise.end()
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy()
    this.#listener.onClosed(this.#reason())
    this.#onOver()
  }

  #reason(): CloseReason {
    if (this.#closing !== undefined) return { kind: 'closed' }
    return {
      kind: 'exited',
      code: this.#exit?.code ?? null,
      signal: this.#exit?.signal ?? null,
      stderr: this.stderr(),
    }
  }
}

function startFailure(error: unknown, target: StdioTarget, name: string): McpxError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const message = `Server "${name}" did not start: ${explain(code, error, target)}`
  return new McpxError('UPSTREAM_START_FAILED', message, {
    cause: error,
    data: { command: target.command, code },
  })
}

function explain(code: string | undefined, error: unknown, { command, cwd }: StdioTarget): string {
  if (code === 'ENOENT' && cwd !== undefined && !isFolder(cwd)) {
    return `its working folder "${cwd}" does not exist. Create it or change "cwd".`
  }
  if (code === 'ENOENT')
    return `the command "${command}" was not found. Install it, or give its full path as "command".`
  if (code === 'EACCES')
    return `"${command}" may not be executed. Check its permissions, or name its interpreter as "command".`
  return `"${command}": ${error instanceof Error ? error.message : String(error)}.`
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
