// Raw bytes to a server and back, over a socket of their own.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'

export interface Running {
  readonly port: number
  readonly url: string
  stop(): Promise<void>
}

export async function serve(listener: RequestListener): Promise<Running> {
  return listen(createServer(listener))
}

export async function listen(server: Server): Promise<Running> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Sends the pieces, one character a byte, one by one and gives all bytes of the answer, once the server has ended the connection. */
export async function exchange(port: number, pieces: readonly string[]): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  // A server that answers before it has read everything may reset the connection.
  socket.on('error', () => {})
  const ended = once(socket, 'close')
  await once(socket, 'connect')
  for (const piece of pieces) {
    socket.write(piece, 'latin1')
    await new Promise((resolve) => setImmediate(resolve))
  }
  await ended
  return Buffer.concat(chunks)
}

/** The bytes as text, one character a byte, without the only field that differs between two equal answers. */
export function masked(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/^Date: .*$/gim, 'Date: -')
}

/** Cuts text into pieces of this length. */
export function cut(text: string, length: number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += length) pieces.push(text.slice(at, at + length))
  return pieces
}

export interface RawRequest {
  readonly verb?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Sends the body in chunks of this length. */
  readonly chunk?: number
  /** Whether the connection goes on after it. */
  readonly keepOpen?: boolean
}

/** A request as bytes, one character each. */
export function raw({ verb = 'POST', headers = {}, body, chunk, keepOpen = false }: RawRequest): string {
  const fields: Record<string, string> = { Host: 'server.test', ...headers }
  const bytes = Buffer.from(body ?? '').toString('latin1')
  if (!keepOpen) fields['Connection'] = 'close'
  if (body !== undefined) {
    fields['Content-Type'] ??= 'application/json'
    fields['Accept'] ??= 'application/json, text/event-stream'
    if (chunk === undefined) fields['Content-Length'] ??= String(bytes.length)
    else fields['Transfer-Encoding'] = 'chunked'
  }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${verb} /mcp HTTP/1.1\r\n${head.join('')}\r\n${chunk === undefined ? bytes : chunked(bytes, chunk)}`
}

function chunked(bytes: string, length: number): string {
  const pieces = cut(bytes, length).map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
  return `${pieces.join('')}0\r\n\r\n`
}
