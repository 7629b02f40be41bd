// A proxy of bytes that keeps each exchange of the clients that come through it. Only the Host field is changed on the way.
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { McpxError } from '../../base/index.ts'
import { open } from './conversation.ts'
import { createEventReader } from './event-reader.ts'
import type { End, Exchange } from './exchange-file.ts'
import { createHttpReader, isInterim } from './http-reader.ts'
import type { HttpReader } from './http-reader.ts'
import { contentOf } from './response.ts'
import { exchangesOf, labelOf } from './talk.ts'
import type { Talk } from './talk.ts'

export interface ProxyOptions {
  readonly url: URL
  readonly port: number
  /** How long a stream that a client left must be silent when it is replayed, in ms. */
  readonly quiet: number
  /** `lost`: the client left before the answer was whole, which cannot be replayed. */
  onExchange(label: string, end: End | 'lost'): void
}

export interface RecordingProxy {
  /** Where clients go instead of to the server's own URL. */
  readonly url: string
  /** Ends every connection, and returns what was recorded in the order of the requests. */
  stop(): Promise<Exchange[]>
}

/** Listens on 127.0.0.1. Throws PORT_TAKEN. Nothing holds a fast sender back: what is recorded is in memory anyway. */
export async function openProxy(options: ProxyOptions): Promise<RecordingProxy> {
  const talks: Talk[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    sockets.add(client)
    client.on('close', () => sockets.delete(client))
    carry(client, talks, options)
  })
  server.listen(options.port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new McpxError('PORT_TAKEN', `The proxy cannot listen on 127.0.0.1:${options.port}.`, { cause })
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${options.url.pathname}${options.url.search}`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
      for (const talk of talks) leave(talk, options)
      return exchangesOf(talks, options.url)
    },
  }
}

function carry(client: Socket, talks: Talk[], options: ProxyOptions): void {
  const upstream = open(options.url)
  if (options.url.protocol === 'https:') {
    // Nothing is said before the certificate is judged.
    upstream.cork()
    upstream.on('secureConnect', () => upstream.uncork())
  }
  /** Requests whose responses are not whole, the oldest first: HTTP/1.1 answers in order. */
  const pending: Talk[] = []
  const asking = createAsking({ options, send: (bytes) => void upstream.write(bytes), begin })
  let answering: HttpReader | undefined

  function begin(): Talk {
    const overlaps = talks
      .filter(({ end }) => end === undefined)
      .map((talk) => ({ talk, passed: talk.passed }))
    const talk: Talk = {
      request: [],
      response: [],
      overlaps,
      head: [],
      passed: 'request',
      isStream: false,
      end: undefined,
    }
    talks.push(talk)
    pending.push(talk)
    return talk
  }

  function finish(talk: Talk, end: End): void {
    pending.shift()
    answering = undefined
    talk.end = end
    options.onExchange(labelOf(talk), end)
  }

  client.on('data', (bytes) => {
    if (!asking(bytes)) client.destroy()
  })
  upstream.on('data', (bytes) => {
    client.write(bytes)
    for (let at = 0; at < bytes.length;) {
      const [talk] = pending
      if (talk === undefined) return
      answering ??= readerFor(talk)
      const taken = answering.take(bytes.subarray(at))
      const broken = answering.state === 'broken'
      talk.response.push(bytes.subarray(at, broken ? bytes.length : at + taken))
      if (broken) return
      at += taken
      if (answering.state === 'done') finish(talk, { kind: 'complete' })
    }
  })
  upstream.on('end', () => {
    const [talk] = pending
    if (talk !== undefined) finish(talk, { kind: 'closed' })
    client.end()
  })
  upstream.on('error', () => client.destroy())
  client.on('error', () => client.destroy())
  client.on('close', () => {
    upstream.destroy()
    for (const talk of pending.splice(0)) leave(talk, options)
  })
}

interface Asking {
  readonly options: ProxyOptions
  readonly send: (bytes: Buffer) => void
  readonly begin: () => Talk
}

/** Takes what a client sends; false for what is no HTTP. */
function createAsking({ options, send, begin }: Asking): (bytes: Buffer) => boolean {
  let talk: Talk | undefined
  let reader: HttpReader | undefined
  let length = 0
  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      const current = (talk ??= begin())
      reader ??= createHttpReader('request', {
        onHead(lines) {
          current.head = lines
          const sent = lines.map((line) => line.replace(/^(host:\s*).*?(\r?\n)$/i, `$1${options.url.host}$2`))
          send(Buffer.from(sent.join(''), 'latin1'))
        },
      })
      const piece = bytes.subarray(at, at + reader.take(bytes.subarray(at)))
      current.request.push(piece)
      const headLength = current.head.join('').length
      if (headLength > 0 && length + piece.length > headLength)
        send(piece.subarray(Math.max(0, headLength - length)))
      length += piece.length
      at += piece.length
      if (reader.state === 'broken') return false
      if (reader.state === 'done') {
        talk = reader = undefined
        length = 0
      }
    }
    return true
  }
}

function readerFor(talk: Talk): HttpReader {
  const events = createEventReader()
  return createHttpReader(
    { answering: talk.head[0]?.split(' ', 1)[0] ?? '' },
    {
      onHead(lines) {
        if (isInterim(lines)) return
        talk.passed = 'head'
        talk.isStream = contentOf(lines) === 'events'
      },
      onBody(piece) {
        const count = talk.isStream ? events.take(piece).length : 0
        if (count > 0) talk.passed = count + (typeof talk.passed === 'number' ? talk.passed : 0)
      },
    },
  )
}

/** The client went away: a stream counts as far as it came, anything else is lost. */
function leave(talk: Talk, options: ProxyOptions): void {
  if (talk.end !== undefined) return
  talk.end = talk.isStream ? { kind: 'quiet', ms: options.quiet } : 'lost'
  options.onExchange(labelOf(talk), talk.end)
}
