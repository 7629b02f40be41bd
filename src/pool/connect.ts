// Carries out what the verdict machine asks for: opens channels, sends the two questions, keeps time, and hands the channel
// that it settled on to a Connection.
import { asMcpxError, isObject, McpxError } from '../base/index.ts'
import type { Clock, Log, Timer } from '../base/index.ts'
import { advance, createProbe, describeAnswer, describeClose, stderrTail } from '../era/index.ts'
import type {
  ProbeEffect,
  ProbeEvent,
  ProbePlan,
  ProbeState,
  ProbeTimer,
  Question,
  Verdict,
} from '../era/index.ts'
import { META, METHOD } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { answerOf, enveloped, repeatingHeaders } from '../wire/index.ts'
import type {
  Channel,
  ChannelListener,
  CloseReason,
  Dialer,
  Id,
  RpcMessage,
  RpcNotification,
  RpcResponse,
  SendFailure,
  Target,
} from '../wire/index.ts'
import { Connection } from './connection.ts'
import type { ConnectionOptions, Identity } from './connection.ts'
import { isAuthStatus } from './send-failure.ts'

/** One frame of a probe, for people: what went which way, and when, in ms since the start. */
export interface ProbeFrame {
  readonly dir: 'sent' | 'received'
  readonly method: string
  readonly ms: number
  readonly summary: string
}

export interface ConnectOptions {
  readonly plan: ProbePlan
  readonly target: Target
  readonly dialer: Dialer
  readonly clock: Clock
  readonly log: Log
  readonly identity: Identity
  readonly nextId: () => number
  readonly callTimeout: number
  readonly callTimeoutMax: number
  /** Both may come as soon as the start is over, before whoever waits for it can go on. */
  readonly onClosed: (reason: CloseReason, connection: Connection) => void
  readonly onNotification: (notification: RpcNotification, connection: Connection) => void
  /** What is remembered of this server is wrong: it was modern after all. Comes after the verdict has been learned. */
  readonly onCorrected: (revision: RevisionId) => void
  readonly onStrayInquiry: ConnectionOptions['onStrayInquiry']
  readonly taskAsker?: ConnectionOptions['taskAsker']
  readonly onSighting: ConnectionOptions['onSighting']
  readonly asksAside: ConnectionOptions['asksAside']
}

export interface Connecting {
  /** Resolves with the open connection; rejects with the McpxError of the start. */
  readonly connected: Promise<Connection>
  /** The frames so far; it grows until the start is over. */
  readonly frames: readonly ProbeFrame[]
  /** Ends the start and what it opened; `connected` rejects with `CANCELLED`. Does nothing once it is over. */
  giveUp(reason: string): void
}

/** Messages of a server that come before its verdict and are kept for the connection. */
const MAX_EARLY = 100

/** Starts one server: opens it, finds out its era, and resolves with a connection that speaks it. */
export function connect(options: ConnectOptions): Connecting {
  const start = new Start(options)
  return {
    connected: start.connected,
    frames: start.frames,
    giveUp: (reason) => start.take({ kind: 'given-up', reason }),
  }
}

class Start {
  readonly connected: Promise<Connection>
  readonly frames: ProbeFrame[] = []
  readonly #options: ConnectOptions
  readonly #began: number
  readonly #timers = new Map<ProbeTimer, Timer>()
  readonly #questions = new Map<Id, Question>()
  readonly #early: [RpcMessage, Id | undefined][] = []
  #resolve!: (connection: Connection) => void
  #reject!: (error: McpxError) => void
  #state: ProbeState
  #channel: Channel | undefined
  /** Counts channels, so that what a replaced one still says is not heard. */
  #generation = 0
  #ending: Promise<void> = Promise.resolve()
  #connection: Connection | undefined

  constructor(options: ConnectOptions) {
    this.#options = options
    this.#began = options.clock.now()
    this.#state = createProbe(options.plan)
    this.connected = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.take({ kind: 'begin' })
  }

  take(event: ProbeEvent): void {
    const { state, effects } = advance(this.#state, event)
    this.#state = state
    for (const effect of effects) this.#carryOut(effect)
  }

  #carryOut(effect: ProbeEffect): void {
    switch (effect.kind) {
      case 'open':
        void this.#open(effect.transport)
        return
      case 'send':
        return this.#send(effect.question, effect.version)
      case 'start-timer':
        this.#timers.get(effect.timer)?.cancel()
        this.#timers.set(
          effect.timer,
          this.#options.clock.after(effect.ms, () => this.take({ kind: 'timer', timer: effect.timer })),
        )
        return
      case 'settle':
        return this.#settle(effect.verdict)
      case 'correct':
        // The answer may stand in the same chunk as the one that settled the start, and those who wait have not seen that yet.
        void this.connected.then(() => this.#options.onCorrected(effect.revision))
        return
      case 'fail':
        return this.#fail(effect.error)
    }
  }

  async #open(transport: ProbePlan['transport']): Promise<void> {
    const generation = ++this.#generation
    this.#cancelTimer('silence')
    this.#cancelTimer('confirm')
    this.#questions.clear()
    this.#early.length = 0
    this.#end()
    await this.#ending
    if (generation !== this.#generation) return
    try {
      const channel = await this.#options.dialer.dial(
        this.#options.target,
        transport,
        this.#listener(generation),
      )
      if (generation !== this.#generation) {
        await channel.close()
        return
      }
      this.#channel = channel
      this.take({ kind: 'opened' })
    } catch (error) {
      if (generation === this.#generation) this.take({ kind: 'open-failed', error: asMcpxError(error) })
    }
  }

  #listener(generation: number): ChannelListener {
    const current = (): boolean => generation === this.#generation
    return {
      onMessage: (message, via) => {
        if (current()) this.#onMessage(message, via)
      },
      onInterrupted: (id) => {
        if (current()) this.#connection?.onInterrupted(id)
      },
      onFailed: (id, failure) => {
        if (current()) this.#onFailed(id, failure)
      },
      onClosed: (reason) => {
        if (current()) this.#onClosed(reason)
      },
    }
  }

  #onMessage(message: RpcMessage, via: Id | undefined): void {
    if (this.#connection !== undefined) return this.#connection.onMessage(message, via)
    if (!('method' in message)) return this.#onResponse(message, via)
    if ('id' in message && message.method === METHOD.ping) {
      this.#channel?.send({ jsonrpc: '2.0', id: message.id, result: {} })
    } else if (this.#early.length < MAX_EARLY) {
      this.#early.push([message, via])
    }
  }

  #onResponse(response: RpcResponse, via: Id | undefined): void {
    const question = this.#questionOf(response, via)
    if (question === undefined) return
    const answer = answerOf(response)
    this.#record('received', question, describeAnswer(answer))
    this.take({ kind: 'answered', question, answer })
  }

  /** A server that could not read the id answers with none; only one question can be meant where only one is out. */
  #questionOf(response: RpcResponse, via: Id | undefined): Question | undefined {
    const [only, ...others] = this.#questions.keys()
    const id = response.id ?? via ?? (others.length === 0 ? only : undefined)
    return id === undefined ? undefined : this.#answered(id)
  }

  /** The question of that id, which is out no more. */
  #answered(id: Id): Question | undefined {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    return question
  }

  #onFailed(id: Id | undefined, failure: SendFailure): void {
    if (this.#connection !== undefined) return this.#connection.onFailed(id, failure)
    const question = id === undefined ? undefined : this.#answered(id)
    if (id === undefined || question === undefined) return
    this.#record('received', question, describeFailure(failure))
    this.take({ kind: 'failed', question, id, failure })
  }

  #onClosed(reason: CloseReason): void {
    if (this.#connection !== undefined) return this.#connection.onClosed(reason)
    this.#channel = undefined
    this.frames.push({
      dir: 'received',
      method: 'close',
      ms: this.#elapsed(),
      summary: describeClose(reason),
    })
    this.take({ kind: 'closed', reason })
  }

  #send(question: Question, version: RevisionId): void {
    const { identity } = this.#options
    const id = this.#options.nextId()
    const method = question === 'discover' ? METHOD.discover : METHOD.initialize
    const params =
      question === 'discover'
        ? enveloped(undefined, {
            revision: version,
            client: identity,
            progressToken: undefined,
            logLevel: undefined,
          })
        : { protocolVersion: version, capabilities: identity.capabilities, clientInfo: identity.info }
    this.#questions.set(id, question)
    this.#record('sent', question, `revision ${version}`)
    // `initialize` negotiates the revision, so no header may name one before its answer.
    const headers = question === 'discover' ? repeatingHeaders(version, method, params) : {}
    this.#channel?.send({ jsonrpc: '2.0', id, method, params: params ?? {} }, headers)
  }

  #settle(verdict: Verdict): void {
    const channel = this.#channel
    this.#stopTimers()
    if (channel === undefined) throw new Error('a verdict needs an open channel')
    const { plan, onClosed, onNotification, ...rest } = this.#options
    const connection: Connection = new Connection({
      ...rest,
      ...{ server: plan.server, channel, verdict },
      onClosed: (reason) => onClosed(reason, connection),
      onNotification: (notification) => onNotification(notification, connection),
      onStray: (response) => this.#onResponse(response, undefined),
    })
    this.#connection = connection
    connection.begin()
    for (const [message, via] of this.#early.splice(0)) connection.onMessage(message, via)
    this.#resolve(connection)
  }

  #fail(error: McpxError): void {
    // A silent server often says on stderr what it waits for.
    const said = error.code === 'UPSTREAM_START_TIMEOUT' ? stderrTail(this.#channel?.stderr?.() ?? []) : ''
    const failure =
      said === '' ? error : new McpxError(error.code, `${error.message}${said}`, { cause: error })
    this.#generation++
    this.#stopTimers()
    this.#end()
    void this.#ending.then(() => this.#reject(failure))
  }

  #end(): void {
    const channel = this.#channel
    this.#channel = undefined
    if (channel !== undefined) this.#ending = channel.close()
  }

  #record(dir: ProbeFrame['dir'], question: Question, summary: string): void {
    if (this.#connection !== undefined) return
    const method = question === 'discover' ? METHOD.discover : METHOD.initialize
    this.frames.push({ dir, method, ms: this.#elapsed(), summary })
  }

  #elapsed(): number {
    return Math.max(0, this.#options.clock.now() - this.#began)
  }

  #cancelTimer(name: ProbeTimer): void {
    this.#timers.get(name)?.cancel()
    this.#timers.delete(name)
  }

  #stopTimers(): void {
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
  }
}

/** What a server calls itself: in its answer to `initialize`, or in the `_meta` of a modern one. */
export function serverInfoOf(verdict: Verdict): Record<string, unknown> | undefined {
  const meta = verdict.opening['_meta']
  const info = (isObject(meta) ? meta[META.serverInfo] : undefined) ?? verdict.opening['serverInfo']
  return isObject(info) ? info : undefined
}

function describeFailure(failure: SendFailure): string {
  switch (failure.kind) {
    case 'status': {
      if (isAuthStatus(failure.status)) return `HTTP ${failure.status}`
      const error =
        failure.response !== undefined && 'error' in failure.response ? failure.response.error : undefined
      return error === undefined
        ? `HTTP ${failure.status}`
        : `HTTP ${failure.status}, error ${error.code}: ${error.message}`
    }
    case 'not-json-rpc':
      return `HTTP ${failure.status}, ${failure.contentType || 'no content'}`
    case 'network':
      return failure.message
    case 'too-large':
      return `larger than ${failure.bytes} bytes`
  }
}
