// The one stream on which a modern server tells what changes: opened with each connection, reopened when it breaks.
import { Cancellation, isObject, McpxError } from '../base/index.ts'
import type { Clock, JsonObject, Log, Timer } from '../base/index.ts'
import type { Connection } from '../pool/index.ts'
import { METHOD } from '../spec/index.ts'
import { CHANGED_LISTS, SUBSCRIBABLE } from './changes.ts'
import type { ChangedList } from './changes.ts'

export interface HearingOptions {
  readonly server: string
  readonly clock: Clock
  readonly log: Log
  readonly onChanged: (kind: ChangedList) => void
  readonly onUpdated: (params: JsonObject) => void
  /** The stream is open again after a break, in which anything may have changed. */
  readonly onReopened: () => void
}

interface Stream {
  readonly cancellation: Cancellation
  state: 'open' | 'ended'
  /** Goes on until this one hears, so that nothing falls between the two. */
  before: Stream | undefined
  /** What the server acknowledged; rejects where it refuses. */
  readonly acknowledged: Promise<JsonObject>
}

/** Pauses before a broken stream is opened again, in ms; after the last one it stays closed until the next connection. */
const BACKOFF = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000] as const
/** A stream that lived so long starts the pauses from the beginning, in ms. */
const LIVED = 60_000

export class Hearing {
  readonly #connection: Connection
  readonly #options: HearingOptions
  readonly #lists: readonly ChangedList[]
  #uris: ReadonlySet<string> = new Set()
  #stream: Stream | undefined
  #heard: JsonObject = {}
  #tries = 0
  #timer: Timer | undefined
  #stopped = false
  /** Resolves when the server has said what it will tell of, or that it will not. */
  readonly ready: Promise<void>

  /** Opens the stream at once where the server declares that its lists change. */
  constructor(connection: Connection, options: HearingOptions) {
    this.#connection = connection
    this.#options = options
    this.#lists = CHANGED_LISTS.filter((kind) => {
      const declared = connection.capabilities[kind]
      return isObject(declared) && declared['listChanged'] === true
    })
    const first = this.#lists.length > 0 ? this.#open().acknowledged : Promise.resolve()
    this.ready = first.then(
      () => {},
      () => {},
    )
  }

  /** Whether the server agreed to tell of changes of a list. */
  hears(kind: ChangedList): boolean {
    return this.#heard[SUBSCRIBABLE[kind].filter] === true
  }

  /** Listens for updates of these resources from now on. Resolves with those that the server agreed to; rejects with an McpxError. */
  async want(uris: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const before = this.#stream
    // Many are wanted at once where one caller names many: what the server tells of already needs no other stream.
    if (before?.state === 'open' && sameMembers(uris, this.#uris)) {
      const told = agreedIn(await before.acknowledged)
      if (told.size === uris.size) return told
    }
    this.#uris = uris
    if (uris.size === 0 && this.#lists.length === 0) {
      this.#stream = undefined
      this.#timer?.cancel()
      giveUp(before, 'nothing is listened for')
      return uris
    }
    return agreedIn(await this.#open().acknowledged)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    giveUp(this.#stream, 'it is not needed any more')
  }

  #open(): Stream {
    const { clock } = this.#options
    // A pause that ends after this would open the stream a second time.
    this.#timer?.cancel()
    const cancellation = new Cancellation()
    const began = clock.now()
    let acknowledge: (filter: JsonObject) => void = () => {}
    let refuse: (error: unknown) => void = () => {}
    const acknowledged = new Promise<JsonObject>((resolve, reject) => {
      acknowledge = resolve
      refuse = reject
    })
    const stream: Stream = { cancellation, acknowledged, state: 'open', before: this.#stream }
    this.#stream = stream
    const ended = this.#connection.request({
      ...{ method: METHOD.listen, params: { notifications: this.#filter() }, cancellation },
      lasting: true,
      onNotification: (method, params) => {
        if (method !== METHOD.acknowledged) return this.#take(method, params)
        this.#heard = isObject(params['notifications']) ? params['notifications'] : {}
        giveUp(stream.before, 'another stream takes its place')
        stream.before = undefined
        acknowledge(this.#heard)
      },
    })
    ended.then(
      (answer) => {
        const wasLast = this.#ended(stream)
        const text = 'error' in answer ? answer.error.message : 'the stream ended before it was acknowledged'
        refuse(
          new McpxError('UPSTREAM_PROTOCOL', `Server "${this.#options.server}" tells of no changes: ${text}`),
        )
        // A server that has no such stream says so by an error; any other end may be mended.
        if (wasLast && !('error' in answer)) this.#again(began)
      },
      (error: unknown) => {
        const wasLast = this.#ended(stream)
        refuse(error)
        if (wasLast) this.#again(began)
      },
    )
    return stream
  }

  #filter(): JsonObject {
    const lists = Object.fromEntries(this.#lists.map((kind) => [SUBSCRIBABLE[kind].filter, true]))
    return this.#uris.size === 0 ? lists : { ...lists, resourceSubscriptions: [...this.#uris] }
  }

  #take(method: string, params: JsonObject): void {
    if (method === METHOD.resourceUpdated) return this.#options.onUpdated(params)
    const kind = this.#lists.find((list) => SUBSCRIBABLE[list].method === method)
    if (kind !== undefined) this.#options.onChanged(kind)
  }

  /** Whether it was the latest one; what was heard before it goes on being heard. */
  #ended(stream: Stream): boolean {
    stream.state = 'ended'
    if (this.#stream !== stream) return false
    let { before } = stream
    while (before !== undefined && before.state === 'ended') before = before.before
    this.#stream = before
    if (before === undefined) this.#heard = {}
    return true
  }

  #again(began: number): void {
    const { clock, log, server } = this.#options
    if (this.#stopped || !this.#connection.isOpen) return
    if (clock.now() - began >= LIVED) this.#tries = 0
    const pause = BACKOFF[this.#tries++]
    if (pause === undefined) {
      log.warn('a server ends its stream of changes again and again; it is not opened any more', { server })
      return
    }
    this.#timer = clock.after(pause, () => {
      this.#open().acknowledged.then(
        () => this.#options.onReopened(),
        () => {},
      )
    })
  }
}

/** Gives up a stream and those that it was to take the place of. */
function giveUp(last: Stream | undefined, reason: string): void {
  for (let stream = last; stream !== undefined; stream = stream.before) stream.cancellation.cancel(reason)
}

/** The resources that a server has agreed to tell of. */
function agreedIn(filter: JsonObject): ReadonlySet<string> {
  const { resourceSubscriptions: uris } = filter
  return new Set(Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [])
}

function sameMembers(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((member) => other.has(member))
}
