// The daemon's socket: each connection is a pipe like that of a host's own child process, so `mcpx serve` only has to copy
// bytes. The first line says who calls and which server is meant; the daemon's first line agrees or says why not.
import { chmod, unlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { asMcpxError, isObject, McpxError } from '../base/index.ts'
import { serveStdio } from '../endpoint/index.ts'
import type { EndpointOptions } from '../endpoint/index.ts'

export interface SocketListener {
  close(): Promise<void>
}

export interface SocketOptions {
  /** A path, or the name of a pipe on Windows. */
  readonly path: string
  readonly version: string
  /** The endpoint of one server, or of all for undefined. Throws `SERVER_UNKNOWN`. */
  readonly endpointFor: (server: string | undefined) => EndpointOptions
}

/** The first line of a connection may not be longer, in bytes. */
const MAX_HELLO = 64 * 1024

/** Listens on a socket that only its owner may use, taking the place of one that a dead daemon left. */
export async function listenSocket(options: SocketOptions): Promise<SocketListener> {
  const { path } = options
  const isPipe = path.startsWith('\\\\')
  if (!isPipe) await unlink(path).catch(() => {})
  const open = new Set<Socket>()
  // A host that has closed its end still reads the answers to what is in flight.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    // A host that is killed resets its end; the pipe's own end shows that.
    socket.on('error', () => {})
    void serve(socket, options)
  })
  await listening(server, path)
  if (!isPipe) await chmod(path, 0o600)
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

async function serve(socket: Socket, options: SocketOptions): Promise<void> {
  try {
    const hello = await firstLine(socket)
    const endpoint = options.endpointFor(serverIn(hello))
    socket.write(`${JSON.stringify({ mcpx: { version: options.version } })}\n`)
    await serveStdio(endpoint, socket, socket)
    socket.end()
  } catch (error) {
    const { code, message } = asMcpxError(error)
    socket.end(`${JSON.stringify({ mcpx: { version: options.version, error: { code, message } } })}\n`)
  }
}

/** The first line; what came after it stays in the stream. */
function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (act: () => void): void => {
      socket.removeListener('data', onData)
      socket.removeListener('close', onClose)
      act()
    }
    function onClose(): void {
      settle(() => reject(new McpxError('USAGE', 'The connection ended before its first line')))
    }
    function onData(chunk: Buffer): void {
      chunks.push(chunk)
      size += chunk.length
      const end = chunk.indexOf(0x0a)
      if (end < 0 && size <= MAX_HELLO) return
      socket.pause()
      settle(() => {
        if (end < 0) return reject(new McpxError('USAGE', 'The first line is too long'))
        const all = Buffer.concat(chunks)
        const cut = size - chunk.length + end
        socket.unshift(all.subarray(cut + 1))
        resolve(all.subarray(0, cut).toString('utf8'))
      })
    }
    socket.on('data', onData)
    socket.once('close', onClose)
  })
}

function serverIn(line: string): string | undefined {
  let hello: unknown
  try {
    hello = JSON.parse(line)
  } catch {
    hello = undefined
  }
  const said = isObject(hello) ? hello['mcpx'] : undefined
  if (!isObject(said))
    throw new McpxError('USAGE', 'The first line must be {"mcpx": {…}}: this socket is for mcpx serve')
  return typeof said['server'] === 'string' ? said['server'] : undefined
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}
