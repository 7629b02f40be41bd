// HTTP/1.1 over a socket by hand: headers as bytes, repeated or broken, in pieces of any size.
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Random } from './random.ts'

export interface Received {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export interface Outgoing {
  readonly verb: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** How a request is written: `split` in pieces, each flushed before the next; `chunked` likewise, without a length. */
export type Manner = 'whole' | 'split' | 'chunked'

/** One connection after another, each kept alive for as long as the server does. One request at a time. */
export class Connections {
  readonly #port: number
  #socket: Socket | undefined
  #pending: Buffer = Buffer.alloc(0)

  constructor(port: number) {
    this.#port = port
  }

  async exchange(sent: Outgoing, manner: Manner, random: Random): Promise<Received> {
    const socket = await this.#connected()
    if (manner === 'whole') socket.write(bytesOf(sent))
    else await writeSlowly(socket, piecesOf(sent, manner, random))
    const received = await this.#receive(socket, sent.verb)
    if (received.headers.get('connection') === 'close') await this.close()
    return received
  }

  /** Begins a request, and hangs up when `when` says so. */
  async abandon(bytes: Buffer, when: Promise<void>): Promise<void> {
    const socket = await this.#connected()
    socket.write(bytes)
    await when
    await this.close()
  }

  async close(): Promise<void> {
    const socket = this.#socket
    this.#socket = undefined
    this.#pending = Buffer.alloc(0)
    if (socket === undefined || socket.closed) return
    const closed = once(socket, 'close')
    socket.destroy()
    await closed
  }

  async #connected(): Promise<Socket> {
    if (this.#socket !== undefined && !this.#socket.destroyed) return this.#socket
    const socket = connect(this.#port, '127.0.0.1').setNoDelay()
    this.#socket = socket
    // What breaks a connection shows in the answer that does not come.
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }

  #receive(socket: Socket, verb: string): Promise<Received> {
    return new Promise((resolve, reject) => {
      const onData = (chunk: Buffer): void => {
        this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
        const read = readAnswer(this.#pending, verb)
        if (read === undefined) return
        done()
        this.#pending = this.#pending.subarray(read.length)
        if (this.#pending.length > 0)
          reject(new Error(`bytes behind the answer: ${this.#pending.toString()}`))
        else resolve(read.received)
      }
      const onClose = (): void => {
        done()
        reject(new Error(`the connection ended before the answer: ${this.#pending.toString()}`))
      }
      const done = (): void => {
        socket.off('data', onData).off('close', onClose)
      }
      socket.on('data', onData).once('close', onClose)
    })
  }
}

export function bytesOf({ verb, headers, body }: Outgoing): Buffer {
  return Buffer.concat([headOf(verb, [...headers, ['Content-Length', String(body.length)]]), body])
}

function headOf(verb: string, headers: Outgoing['headers']): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${verb} /mcp HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
}

function piecesOf(sent: Outgoing, manner: Manner, random: Random): Buffer[] {
  if (manner === 'split') return piecesIn(bytesOf(sent), random)
  const chunks = sent.body.length === 0 ? [] : piecesIn(sent.body, random)
  return [
    headOf(sent.verb, [...sent.headers, ['Transfer-Encoding', 'chunked']]),
    ...chunks.map((chunk) =>
      Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
    ),
    Buffer.from('0\r\n\r\n'),
  ]
}

function piecesIn(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + random.below(Math.max(1, Math.ceil(bytes.length / 6)))
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

/** Stops where the server has answered and closed already. */
async function writeSlowly(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (!socket.writable) return
    await new Promise<void>((resolve) => socket.write(piece, () => resolve()))
  }
}

function readAnswer(bytes: Buffer, verb: string): { received: Received; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const status = Number(first.split(' ')[1])
  const body = bodyOf(bytes.subarray(end + 4), headers, verb === 'HEAD' || status === 204)
  if (body === undefined) return undefined
  return { received: { status, headers, body: body.text }, length: end + 4 + body.length }
}

function bodyOf(
  bytes: Buffer,
  headers: ReadonlyMap<string, string>,
  isEmpty: boolean,
): { text: string; length: number } | undefined {
  if (isEmpty) return { text: '', length: 0 }
  if (headers.get('transfer-encoding') === 'chunked') return unchunked(bytes)
  const length = Number(headers.get('content-length') ?? 0)
  return bytes.length < length ? undefined : { text: bytes.toString('utf8', 0, length), length }
}

function unchunked(bytes: Buffer): { text: string; length: number } | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size
    if (bytes.length < end + 2) return undefined
    if (size === 0) return { text: Buffer.concat(parts).toString(), length: end + 2 }
    parts.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}
