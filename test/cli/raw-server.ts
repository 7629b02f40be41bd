// A server that is written by hand, byte by byte: what it answers is what the test says, line ends included.
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface RawRequest {
  /** The first line and the fields. */
  readonly head: string
  readonly body: string
  field(name: string): string | undefined
}

/** Text is written as it is; `keep` leaves the connection open, the function is called with its socket. */
export type RawAnswer = string | ((socket: Socket) => void)

export interface RawServer extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly RawRequest[]
  answer: (request: RawRequest) => RawAnswer
}

/** Answers requests that have a Content-Length or no body. */
export async function openRawServer(answer: RawServer['answer']): Promise<RawServer> {
  const requests: RawRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    let seen = ''
    socket.setEncoding('latin1').on('data', (piece: string) => {
      seen += piece
      for (let request = firstOf(seen); request !== undefined; request = firstOf(seen)) {
        seen = seen.slice(request.head.length + 4 + request.body.length)
        requests.push(request)
        const said = raw.answer(request)
        if (typeof said === 'string') socket.write(said)
        else said(socket)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const raw: RawServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    answer,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return raw
}

/** A whole response; its Content-Length is the body's, behind the given fields. */
export function http(status: string, fields: readonly string[], body = ''): string {
  return [`HTTP/1.1 ${status}`, ...fields, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join(
    '\r\n',
  )
}

/** A response whose body comes in these chunks. */
export function chunked(fields: readonly string[], chunks: readonly string[]): string {
  const framed = [...chunks, ''].map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
  return ['HTTP/1.1 200 OK', ...fields, 'Transfer-Encoding: chunked', '', framed.join('')].join('\r\n')
}

function firstOf(text: string): RawRequest | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = text.slice(0, end)
  const field = (name: string) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim()
  const length = Number(field('content-length') ?? 0)
  const body = text.slice(end + 4, end + 4 + length)
  return body.length < length ? undefined : { head, body, field }
}
