// One request and its response on a connection of its own, with every byte kept.
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { isObject, McpxError } from '../../base/index.ts'
import type { Timer } from '../../base/index.ts'
import { systemClock } from '../../transport/index.ts'
import type { Heard } from './compare.ts'
import { createEventReader, dataOf } from './event-reader.ts'
import type { Progress } from './exchange-file.ts'
import { createHttpReader, isInterim } from './http-reader.ts'
import { parseJson } from './json-places.ts'
import { contentOf } from './response.ts'

/** When to stop listening to a stream of events that the server leaves open. Any other response must end by itself. */
export interface Stop {
  /** Stops behind the last byte of so many events. */
  readonly events?: number
  /** Stops when nothing came for so many ms. */
  readonly quiet?: number
  /** Silence counts once so many events came, */
  readonly leastEvents?: number
  /** once one of them was an answer, */
  readonly answer?: boolean
  /** and once this is settled. */
  readonly after?: Promise<unknown>
}

export interface Question {
  readonly url: URL
  readonly verb: string
  readonly bytes: Buffer
  readonly stop: Stop
  /** In ms, for the whole exchange; from the end of `stop.after` where there is one. */
  readonly timeout: number
}

export interface Conversation {
  /** Rejects with UPSTREAM_UNREACHABLE where no connection can be made, and never for what comes after. */
  readonly ended: Promise<Heard>
  /** Resolves once so much has passed, or once it is clear that it will not. */
  reached(passed: Progress): Promise<void>
  /** What came so far. */
  heard(): Buffer
  /** Closes the connection; what came so far is all. */
  close(): void
}

/** Written at once; what lies between gives the server's answer a chance to stop the writing of a large body. */
const PIECE = 65_536

export function converse({ url, verb, bytes, stop, timeout }: Question): Conversation {
  const received: Buffer[] = []
  let length = 0
  let cut: number | undefined
  let isStream = false
  let bodyLength = 0
  let events = 0
  let answered = false
  let held = stop.after !== undefined
  let over = false
  let connected = false
  let written = false
  let headed = false
  let quietTimer: Timer | undefined
  /** Those who wait for events. */
  const waiting = new Set<() => void>()
  let resolve: (heard: Heard) => void = () => undefined
  let reject: (error: McpxError) => void = () => undefined
  const ended = new Promise<Heard>((...settlers) => ([resolve, reject] = settlers))

  const eventReader = createEventReader()
  const reader = createHttpReader(
    { answering: verb },
    {
      onHead(lines) {
        headed = !isInterim(lines)
        isStream = headed && contentOf(lines) === 'events'
      },
      onBody(piece, offset) {
        if (!isStream) return
        for (const block of eventReader.take(piece)) {
          events++
          answered ||= isAnswer(dataOf(block).text)
          if (events === stop.events) cut ??= offset + block.end - bodyLength
        }
        bodyLength += piece.length
      },
    },
  )

  const socket = open(url)
  let limit = systemClock.after(timeout, giveUp)
  socket.on('data', take)
  // Nothing is said before a certificate is judged.
  socket.on(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
    connected = true
    void write(socket, bytes, () => over).then(() => {
      written = true
      announce()
    })
  })
  socket.on('end', () => finish({ kind: 'closed' }))
  // A connection that was made may be reset, as by a server that refuses a large body: what came until then counts.
  socket.on('error', (cause) => {
    if (connected) return finish({ kind: 'closed' })
    fail(`No connection to ${url.host}: ${messageOf(cause)}.`, cause)
  })
  void stop.after?.finally(() => {
    held = false
    limit.cancel()
    limit = systemClock.after(timeout, giveUp)
    watchQuiet()
  })

  function take(piece: Buffer): void {
    if (over) return
    const start = length
    const taken = reader.take(piece)
    const whole = reader.state === 'broken' ? piece : piece.subarray(0, taken)
    received.push(cut === undefined ? whole : whole.subarray(0, cut - start))
    length += whole.length
    if (cut !== undefined) finish({ kind: 'events', count: events })
    else if (reader.state === 'done') finish({ kind: 'complete' })
    else watchQuiet()
    announce()
  }

  function watchQuiet(): void {
    quietTimer?.cancel()
    const { quiet, leastEvents = 0, answer = false } = stop
    if (over || quiet === undefined || !isStream || held || events < leastEvents || (answer && !answered))
      return
    quietTimer = systemClock.after(quiet, () => finish({ kind: 'quiet', ms: quiet }))
  }

  function giveUp(): void {
    if (!connected) return fail(`${url.host} accepted no connection within ${timeout} ms.`)
    // While others are being waited for, their own limits count.
    if (!held) finish({ kind: 'timeout', ms: timeout })
  }

  function finish(end: Heard['end']): void {
    if (over) return
    settle()
    const counted = end.kind === 'events' ? { ...end, count: stop.events ?? events } : end
    resolve({ bytes: Buffer.concat(received), end: counted })
  }

  function fail(message: string, cause?: unknown): void {
    if (over) return
    settle()
    reject(new McpxError('UPSTREAM_UNREACHABLE', message, cause === undefined ? {} : { cause }))
  }

  function settle(): void {
    over = true
    quietTimer?.cancel()
    limit.cancel()
    socket.destroy()
    announce()
  }

  function announce(): void {
    for (const look of waiting) look()
  }

  return {
    ended,
    heard: () => Buffer.concat(received),
    close: () => finish({ kind: 'closed' }),
    reached: (passed) =>
      new Promise((done) => {
        const look = (): void => {
          const there = passed === 'request' ? written : passed === 'head' ? headed : events >= passed
          if (over || there) stopWaiting()
        }
        const stopWaiting = (): void => {
          waiting.delete(look)
          timer.cancel()
          done()
        }
        const timer = systemClock.after(timeout, stopWaiting)
        waiting.add(look)
        look()
      }),
  }
}

/** A connection to the server of a URL. Over TLS it may be written to after `secureConnect`. */
export function open(url: URL): Socket {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port === '' ? DEFAULT_PORT[url.protocol] : url.port)
  if (url.protocol !== 'https:') return connectTcp({ host, port })
  return connectTls({ host, port, servername: isName(host) ? host : '', ALPNProtocols: ['http/1.1'] })
}

const DEFAULT_PORT: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

async function write(socket: Socket, bytes: Buffer, isOver: () => boolean): Promise<void> {
  for (let at = 0; at < bytes.length && !isOver(); at += PIECE) {
    const room = socket.write(bytes.subarray(at, at + PIECE))
    await new Promise<void>((resolve) => {
      if (room) return void setImmediate(resolve)
      socket.once('drain', resolve)
      socket.once('close', () => resolve())
    })
  }
}

function isAnswer(data: string): boolean {
  const value = parseJson(data)
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.some((one) => isObject(one) && ('result' in one || 'error' in one))
}

function isName(host: string): boolean {
  return !/^[\d.]+$/.test(host) && !host.includes(':')
}

function messageOf(error: Error): string {
  // The error of several addresses that all failed has no message.
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : []
  return first?.message ?? error.message
}
