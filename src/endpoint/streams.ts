// The event streams of one legacy session: what was sent is kept for a while, so that a client whose connection broke can go
// on with Last-Event-ID where it stopped.
import type { Clock, Timer } from '../base/index.ts'
import type { RpcMessage } from '../wire/index.ts'
import type { Reply } from './reply.ts'

/** What is kept of a session's events; the oldest go first. */
const MAX_EVENTS = 512
const MAX_BYTES = 1024 * 1024
/** How long an event is kept that was written to a connection, in ms: one that broke on the way is missed by then. */
export const KEPT_FOR = 60_000
/** How long a client should wait before it comes back, in ms. */
const RETRY = 1000

interface Kept {
  readonly stream: string
  readonly number: number
  readonly data: string
  /** When it was written to a connection; undefined while the client is away. */
  writtenAt: number | undefined
}

/** When a client that waits for an answer is let go, in ms: it comes back for it, and is kept then. */
export interface Patience {
  readonly clock: Clock
  readonly ms: number
}

/** The streams of one session. Made with the first of them: a session without streams costs nothing here. */
export class Streams {
  readonly #clock: Clock
  readonly #open = new Map<string, Stream>()
  #kept: Kept[] = []
  #bytes = 0
  #made = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A stream for the answer of one POST. */
  forRequest(): Stream {
    return this.#add(new Stream(`p${++this.#made}`, this))
  }

  /** The one stream for what belongs to no request; the one before it ends. */
  standalone(reply: Reply): Stream {
    this.standing?.close()
    const stream = this.#add(new Stream(`g${++this.#made}`, this))
    stream.attach(reply, { prime: false })
    return stream
  }

  get standing(): Stream | undefined {
    return [...this.#open.values()].find(({ name }) => name.startsWith('g'))
  }

  /** Streams whose client is there. */
  get connected(): number {
    return [...this.#open.values()].filter((stream) => stream.connected).length
  }

  /**
   * Goes on after an event. False where nothing is known of its stream: it ended long ago, or before a restart. A standalone
   * stream can always begin anew.
   */
  resume(lastEventId: string, reply: Reply): boolean {
    const [name = '', text = ''] = lastEventId.split('-')
    const after = Number(text)
    const missed = this.#kept.filter(({ stream, number }) => stream === name && number > after)
    const stream = this.#open.get(name)
    if (stream === undefined && missed.length === 0) {
      if (!name.startsWith('g')) return false
      this.standalone(reply)
      return true
    }
    reply.begin()
    for (const event of missed) {
      reply.event({ id: `${name}-${event.number}`, data: event.data })
      event.writtenAt = this.#clock.now()
    }
    if (stream === undefined) reply.finish()
    else stream.attach(reply, { prime: false })
    return true
  }

  closeAll(): void {
    for (const stream of this.#open.values()) stream.close()
  }

  keep(event: Pick<Kept, 'stream' | 'number' | 'data'>, written: boolean): void {
    this.#kept.push({ ...event, writtenAt: written ? this.#clock.now() : undefined })
    const { data } = event
    this.#bytes += data.length
    while (this.#kept.length > MAX_EVENTS || (this.#bytes > MAX_BYTES && this.#kept.length > 1)) {
      this.#bytes -= this.#kept.shift()?.data.length ?? 0
    }
  }

  /** Lets go of what nobody will come back for. Whether there will be more of that, without another request. */
  prune(): boolean {
    const since = this.#clock.now() - KEPT_FOR
    const wanted = this.#kept.filter(({ writtenAt = since }) => writtenAt >= since)
    if (wanted.length < this.#kept.length) {
      this.#kept = wanted
      this.#bytes = wanted.reduce((sum, { data }) => sum + data.length, 0)
    }
    return (
      wanted.some(({ writtenAt }) => writtenAt !== undefined) ||
      [...this.#open.values()].some(({ connected }) => connected)
    )
  }

  drop(stream: Stream): void {
    this.#open.delete(stream.name)
  }

  #add(stream: Stream): Stream {
    this.#open.set(stream.name, stream)
    return stream
  }
}

interface Attaching {
  readonly prime: boolean
  readonly patience?: Patience | undefined
}

export class Stream {
  readonly name: string
  readonly #streams: Streams
  #reply: Reply | undefined
  #timer: Timer | undefined
  #number = 0

  constructor(name: string, streams: Streams) {
    this.name = name
    this.#streams = streams
  }

  /** Whether a client reads it now. */
  get connected(): boolean {
    return this.#reply !== undefined
  }

  /** Sends to this reply from now on. `prime` begins with an empty event, so that the client has an id to come back with. */
  attach(reply: Reply, { prime, patience }: Attaching): void {
    const before = this.#release()
    this.#reply = reply
    if (patience !== undefined) this.#timer = patience.clock.after(patience.ms, () => this.pause())
    if (before?.open === true) before.finish()
    if (prime) reply.event({ id: `${this.name}-${this.#number}`, data: '', retry: RETRY })
    else reply.begin()
    reply.onClose(() => {
      if (this.#reply === reply) this.#release()
    })
  }

  send(message: RpcMessage | readonly RpcMessage[]): void {
    const data = JSON.stringify(message)
    const number = ++this.#number
    this.#streams.keep({ stream: this.name, number, data }, this.#reply !== undefined)
    this.#reply?.event({ id: `${this.name}-${number}`, data })
  }

  /** Sends the last message, which a client that is away can still fetch. */
  end(message: RpcMessage | readonly RpcMessage[]): void {
    this.send(message)
    this.close()
  }

  /** Lets the client go, which comes back for what follows. */
  pause(): void {
    this.#release()?.finish()
  }

  close(): void {
    this.#streams.drop(this)
    this.#release()?.finish()
  }

  #release(): Reply | undefined {
    this.#timer?.cancel()
    this.#timer = undefined
    const reply = this.#reply
    this.#reply = undefined
    return reply
  }
}
