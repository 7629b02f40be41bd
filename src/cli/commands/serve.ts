import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Command } from 'commander'
import { isObject, McpxError } from '../../base/index.ts'
import { serveStdio } from '../../endpoint/index.ts'
import { unknownServer } from '../../http/index.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { createRuntime, endpointOptions } from '../runtime.ts'
import { onStopSignal } from '../signals.ts'
import { VERSION } from '../version.ts'
import { settingFlags, sharedDaemon, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

interface ServeOptions extends CommonOptions {
  readonly server?: string
  readonly standalone?: boolean
}

/** `mcpx serve`: the endpoint over stdin and stdout, for hosts that start a process. */
export function addServe(program: Command): void {
  withSettings(program.command('serve'))
    .description('serve all servers, or one, over stdin and stdout')
    .option('--server <name>', 'only this one, under its own names')
    .option('--standalone', 'start the servers here, even where a daemon of this configuration runs')
    .action(async (options: ServeOptions) => {
      const daemon = options.standalone === true ? undefined : sharedDaemon(options)
      if (daemon !== undefined && (await throughDaemon(daemon, options.server))) return
      await standalone(options)
    })
}

/** Copies bytes between the host and the daemon. False where the daemon is gone before the first byte. */
async function throughDaemon(daemon: DaemonRecord, server: string | undefined): Promise<boolean> {
  const socket = await open(daemon.socket)
  if (socket === undefined) return false
  socket.write(`${JSON.stringify({ mcpx: { version: VERSION, server } })}\n`)
  await agreed(socket)
  await new Promise<void>((resolve) => {
    process.stdin.pipe(socket)
    socket.pipe(process.stdout, { end: false })
    socket.once('close', resolve)
    onStopSignal(() => socket.destroy())
    // A host that is gone reads nothing more.
    process.stdout.once('error', () => socket.destroy())
  })
  process.stdin.destroy()
  return true
}

async function standalone(options: ServeOptions): Promise<void> {
  const { createLog } = await import('../logger.ts')
  const runtime = createRuntime({
    ...{ configPath: options.config, flags: settingFlags(options), log: createLog },
    logins: true,
  })
  const { gateway } = runtime
  const view = options.server === undefined ? gateway.merged : gateway.only(options.server)
  if (view === undefined) throw unknownServer(options.server ?? '', gateway.names)
  const interrupted = new Promise<string>(onStopSignal)
  const served = serveStdio(endpointOptions(runtime, view), process.stdin, process.stdout)
  await Promise.race([served, interrupted])
  // What is in flight still has its time, and who listens is told that this is the end.
  process.stdin.destroy()
  await served
  await runtime.stop('the client is gone')
}

function open(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('error', () => resolve(undefined))
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}

/** Reads the daemon's first line; what follows it stays in the stream. Throws what the daemon refuses with. */
async function agreed(socket: Socket): Promise<void> {
  let text = Buffer.alloc(0)
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    text = Buffer.concat([text, chunk])
    if (text.includes(0x0a)) break
  }
  const end = text.indexOf(0x0a)
  if (end < 0) throw new McpxError('STOPPING', 'The daemon closed the connection at once. Is it stopping?')
  socket.unshift(text.subarray(end + 1))
  const answer: unknown = JSON.parse(text.subarray(0, end).toString('utf8'))
  const said = isObject(answer) ? answer['mcpx'] : undefined
  const error = isObject(said) ? said['error'] : undefined
  if (isObject(error))
    throw new McpxError(
      error['code'] === 'SERVER_UNKNOWN' ? 'SERVER_UNKNOWN' : 'USAGE',
      String(error['message']),
    )
}
