// Streamable HTTP: each message a POST of its own, each answer JSON or an event stream.
import type { Timer } from '../base/index.ts'
import { shapeOf } from '../wire/index.ts'
import type { Channel, ChannelListener, HttpTarget, Id, RpcMessage } from '../wire/index.ts'
import type { Agents } from './agents.ts'
import { heldOpen, within } from './clock.ts'
import type { Reply, Running } from './exchange.ts'
import { HttpCall } from './http-call.ts'
import type { CallHost } from './http-call.ts'
import { createEndpoint, withHeaders } from './http-endpoint.ts'
import type { HttpEndpoint, Outgoing } from './http-endpoint.ts'
import { StandaloneStream } from './http-stream.ts'
import { createNoise } from './noise.ts'
import type { Noise } from './noise.ts'
import type { ChannelOptions } from './options.ts'

export interface HttpOptions extends ChannelOptions {
  readonly agents: Agents
}

type Headers = Readonly<Record<string, string>>

/** How long a stream may go on after its answer, in ms. A server should end it at once. */
const LINGER_MS = 5000

/** A channel to an HTTP server. Nothing is sent yet; throws `CONFIG_INVALID` for a target that cannot be asked. */
export function openHttp(target: HttpTarget, listener: ChannelListener, options: HttpOptions): Channel {
  return new HttpChannel(createEndpoint(target, options.name, options.agents), listener, options)
}

class HttpChannel implements Channel, CallHost {
  readonly transport = 'streamable-http'
  readonly listener: ChannelListener
  readonly clock: ChannelOptions['clock']
  readonly noise: Noise
  readonly maxMessage: number
  readonly #endpoint: HttpEndpoint
  readonly #options: HttpOptions
  readonly #postHeaders: Headers
  readonly #calls = new Map<Id, HttpCall>()
  /** POSTs that are no requests, and those whose answer came before their stream's end, with the round that saw it. */
  readonly #rest = new Map<HttpCall, number>()
  #round = 0
  #sweeping: Timer | undefined
  #stream: StandaloneStream | undefined
  #sessionId: string | undefined
  #closing: Promise<void> | undefined

  constructor(endpoint: HttpEndpoint, listener: ChannelListener, options: HttpOptions) {
    this.#endpoint = endpoint
    this.#options = options
    this.listener = listener
    this.clock = options.clock
    this.maxMessage = options.limits.maxMessage
    this.noise = createNoise(options.log, options.name)
    this.#postHeaders = {
      ...endpoint.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
  }

  get sessionId(): string | undefined {
    return this.#sessionId
  }

  send(message: RpcMessage, over?: Headers): void {
    if (this.#closing !== undefined) return
    const id = 'method' in message && 'id' in message ? message.id : undefined
    const headers = withHeaders(this.#postHeaders, over)
    if (headers === undefined) return queueMicrotask(() => this.#unsendable(id))
    if (this.#sessionId !== undefined) headers['mcp-session-id'] = this.#sessionId
    const call = new HttpCall({ host: this, id, over })
    if (id === undefined) this.#rest.set(call, Infinity)
    else this.#calls.set(id, call)
    call.start({ method: 'POST', headers, body: JSON.stringify(message) })
  }

  abandon(id: Id): void {
    this.#calls.get(id)?.stop()
    this.#calls.delete(id)
  }

  openStream(over?: Headers): void {
    if (this.#closing !== undefined || this.#stream !== undefined) return
    const { name: server, clock, log } = this.#options
    this.#stream = new StandaloneStream({
      server,
      clock,
      log,
      maxMessage: this.maxMessage,
      exchange: (outgoing, reply) => this.exchange(outgoing, reply),
      headers: (lastEventId) => this.streamHeaders(over, lastEventId),
      onData: (data) => this.#take(data),
      onOversize: () => this.listener.onFailed(undefined, { kind: 'too-large', bytes: this.maxMessage }),
    })
    this.#stream.start()
  }

  close(over?: Headers): Promise<void> {
    this.#closing ??= heldOpen(async () => {
      this.#stream?.stop()
      this.#sweeping?.cancel()
      for (const call of [...this.#calls.values(), ...this.#rest.keys()]) call.stop()
      this.#calls.clear()
      this.#rest.clear()
      if (this.#sessionId !== undefined) {
        await within(this.clock, this.#options.patience.sessionEnd, this.#endSession(this.#sessionId, over))
      }
      this.noise.end()
      this.listener.onClosed({ kind: 'closed' })
    })
    return this.#closing
  }

  exchange(outgoing: Outgoing, reply: Reply): Running {
    return this.#endpoint.exchange(outgoing, reply)
  }

  streamHeaders(over: Headers | undefined, lastEventId: string | undefined): Record<string, string> {
    const headers = { ...this.#plainHeaders(over), accept: 'text/event-stream' }
    return lastEventId === undefined ? headers : { ...headers, 'last-event-id': lastEventId }
  }

  adopt(sessionId: string): void {
    this.#sessionId = sessionId
  }

  moved(path: string): void {
    this.#endpoint.moved(path)
  }

  answered(call: HttpCall): void {
    this.#forget(call)
    this.#rest.set(call, this.#round)
    this.#sweeping ??= this.clock.after(LINGER_MS, () => this.#sweep())
  }

  over(call: HttpCall): void {
    if (!this.#rest.delete(call)) this.#forget(call)
  }

  /** Ends the streams that lingered for a whole round. One timer serves all, since most streams end at once. */
  #sweep(): void {
    let lingering = false
    for (const [call, round] of this.#rest) {
      if (round < this.#round) {
        this.#rest.delete(call)
        call.stop()
      } else lingering ||= round === this.#round
    }
    this.#round += 1
    this.#sweeping = lingering ? this.clock.after(LINGER_MS, () => this.#sweep()) : undefined
  }

  #forget(call: HttpCall): void {
    if (call.id !== undefined && this.#calls.get(call.id) === call) this.#calls.delete(call.id)
  }

  #take(data: string): void {
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      return this.noise.skip(data, 'not JSON')
    }
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const shape = shapeOf(item)
      if (shape.kind === 'invalid') this.noise.skip(data, shape.reason)
      else this.listener.onMessage(shape.message, undefined)
    }
  }

  #unsendable(id: Id | undefined): void {
    if (this.#closing !== undefined) return
    this.listener.onFailed(id, {
      kind: 'network',
      message: 'a header value has characters that HTTP cannot carry',
      sent: false,
    })
  }

  /** The headers of what is no message: without those that repeat a message's body. */
  #plainHeaders(over: Headers | undefined): Record<string, string> {
    const kept: Record<string, string> = {}
    for (const [name, value] of Object.entries(withHeaders({}, over) ?? {})) {
      if (!name.startsWith('mcp-') || name === 'mcp-protocol-version') kept[name] = value
    }
    const session = this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }
    return { ...this.#endpoint.headers, ...kept, ...session }
  }

  /** Resolves whatever the server says: many have no such thing as an end. */
  #endSession(sessionId: string, over: Headers | undefined): Promise<void> {
    return new Promise((resolve) => {
      const headers = { ...this.#plainHeaders(over), 'mcp-session-id': sessionId }
      const reply: Reply = { onHead: () => resolve(), onBytes() {}, onEnd: resolve, onError: () => resolve() }
      this.exchange({ method: 'DELETE', headers }, reply).start()
    })
  }
}
