// One open connection to one upstream: it numbers requests, speaks the agreed revision, and knows who waits for what.
import { Cancellation, clip, McpxError } from '../base/index.ts'
import type { Clock, JsonObject, Log } from '../base/index.ts'
import type { Verdict } from '../era/index.ts'
import { METHOD, revision } from '../spec/index.ts'
import type { LogLevel, RevisionFacts } from '../spec/index.ts'
import { answerOf, enveloped, repeatingHeaders, versionHeader } from '../wire/index.ts'
import type {
  Answer,
  Channel,
  ChannelListener,
  CloseReason,
  Id,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcResponse,
  SendFailure,
} from '../wire/index.ts'
import type { StrayInquiry } from './asker.ts'
import { Deadlines } from './deadlines.ts'
import { Inquiries } from './inquiries.ts'
import type { InquiriesOptions } from './inquiries.ts'
import { ToldLevel, whoseLog } from './logs.ts'
import { CHANGES, resumed, subscriptionOf } from './params.ts'
import type { UpstreamRequest } from './request.ts'
import { cancelled, closedError, failureOf, isAuthStatus, isSessionGone } from './send-failure.ts'

/** What mcpx calls itself on its upstream hops, and what it can be asked there where a request does not say otherwise. */
export interface Identity {
  readonly info: JsonObject
  readonly capabilities: JsonObject
}

export interface ConnectionOptions {
  readonly server: string
  readonly channel: Channel
  readonly verdict: Verdict
  readonly identity: Identity
  readonly clock: Clock
  readonly log: Log
  /** Ids that no other request of this process has. */
  readonly nextId: () => number
  /** How long a call may be silent, and how long it may last at all, in ms. */
  readonly callTimeout: number
  readonly callTimeoutMax: number
  /** Called once, when the channel is gone. */
  readonly onClosed: (reason: CloseReason) => void
  /** What belongs to no request of mcpx. */
  readonly onNotification: (notification: RpcNotification) => void
  /** A response that nobody waits for: a late answer to the probe, or a server's mistake. */
  readonly onStray: (response: RpcResponse) => void
  /** Answers what the server asks and no call can be named for. Never rejects. */
  readonly onStrayInquiry: (inquiry: StrayInquiry) => Promise<Answer>
  readonly onSighting: InquiriesOptions['onSighting']
  readonly taskAsker?: InquiriesOptions['taskAsker']
  /** Whether the server was seen to ask on another stream than that of the call. */
  readonly asksAside: () => boolean
}

interface Pending {
  readonly request: UpstreamRequest
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: McpxError) => void
  forget: (() => void) | undefined
}

export class Connection implements ChannelListener {
  readonly verdict: Verdict
  /** Requests sent so far. */
  asked = 0
  readonly #options: ConnectionOptions
  readonly #pending = new Map<Id, Pending>()
  readonly #deadlines: Deadlines
  readonly #inquiries: Inquiries
  readonly #toldLevel: ToldLevel
  #closed: CloseReason | undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.verdict = options.verdict
    this.#deadlines = new Deadlines(
      options.clock,
      { idle: options.callTimeout, longest: options.callTimeoutMax },
      (id, limit) => this.#expire(id, limit),
    )
    this.#toldLevel = new ToldLevel(options.verdict.revision, this.capabilities)
    const { verdict, channel, clock, onStrayInquiry, onSighting, asksAside, taskAsker } = options
    this.#inquiries = new Inquiries({
      ...{ clock, onSighting, asksAside, taskAsker, revision: verdict.revision, onStray: onStrayInquiry },
      byStream: channel.transport === 'streamable-http',
      reply: (id, answer) => this.#reply({ jsonrpc: '2.0', id, ...answer }),
      pause: (id) => this.#deadlines.pause(id),
      resume: (id) => this.#deadlines.resume(id),
    })
  }

  /** The capabilities that the server declared when it was opened. */
  get capabilities(): JsonObject {
    const { capabilities } = this.verdict.opening
    return typeof capabilities === 'object' && capabilities !== null ? (capabilities as JsonObject) : {}
  }

  /** How the server asks for what it needs on the way to an answer. */
  get asks(): RevisionFacts['asks'] {
    return revision(this.verdict.revision).asks
  }

  get isOpen(): boolean {
    return this.#closed === undefined
  }

  get inFlight(): number {
    return this.#pending.size
  }

  /** Whether what the server asks may belong to a call of another principal, which was given up. */
  isHauntedFor(principal: string): boolean {
    return this.#inquiries.ghosts.haunts(principal)
  }

  /** Completes a legacy opening, and hears what the server says outside of calls. A modern connection needs neither. */
  begin(): void {
    const { revision: spoken } = this.verdict
    if (revision(spoken).opening !== METHOD.initialize) return
    this.notify(METHOD.initialized, undefined)
    if (revision(spoken).http.getStream) this.#options.channel.openStream?.(versionHeader(spoken))
  }

  /**
   * Sends a request under an id of this hop and resolves with the server's answer, its own errors included. Rejects with an
   * McpxError when there is none: `UPSTREAM_CLOSED`, `UPSTREAM_TIMEOUT`, `CANCELLED`, `AUTH_REQUIRED`, `HTTP_STATUS` and others.
   */
  request(request: UpstreamRequest): Promise<Answer> {
    const waits = request.asks === true && this.verdict.era === 'legacy' && this.#inquiries.needsSlot
    return waits ? this.#inTurn(request) : this.#begin(request, undefined)
  }

  /** Waits for the running slot, as long as the call might have taken. */
  async #inTurn(request: UpstreamRequest): Promise<Answer> {
    const { clock, server, callTimeout } = this.#options
    const waiting = new Cancellation()
    const forget = request.cancellation?.onCancel((reason) => waiting.cancel(reason))
    const timer = clock.after(callTimeout, () => waiting.cancel('it took too long'))
    let leave: () => void
    try {
      leave = await this.#inquiries.enter(waiting)
    } catch {
      if (this.#closed !== undefined) throw closedError(server, this.#closed)
      const given = request.cancellation?.reason
      if (given !== undefined) throw cancelled(server, request.method, given)
      const message = `Server "${server}" was busy for ${callTimeout / 1000} s with other calls that may ask their caller something. Raise "callTimeout", or "max" if the server may run more than once.`
      throw new McpxError('UPSTREAM_TIMEOUT', message)
    } finally {
      timer.cancel()
      forget?.()
    }
    return this.#begin(request, leave)
  }

  #begin(request: UpstreamRequest, leave: (() => void) | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusalOf(request)
      if (refusal !== undefined) {
        leave?.()
        return reject(refusal)
      }
      this.#tellLevel(request.logLevel)
      if (request.lasting === undefined) this.asked++
      const id = this.#options.nextId()
      const pending: Pending = { request, resolve, reject, forget: undefined }
      this.#pending.set(id, pending)
      if (request.lasting === undefined) this.#deadlines.start(id)
      if (request.asker !== undefined) this.#inquiries.begin(id, request.asker, leave)
      pending.forget = request.cancellation?.onCancel((reason) => this.#cancel(id, reason))
      this.#send(id, request)
    })
  }

  /** Why a request is not sent at all: what was never sent needs no cancelling on the wire. */
  #refusalOf(request: UpstreamRequest): McpxError | undefined {
    const { server } = this.#options
    if (this.#closed !== undefined) return closedError(server, this.#closed)
    const given = request.cancellation?.reason
    if (given !== undefined) return cancelled(server, request.method, given)
    // To a server that keeps no states a retry would be a call of its own, and would run twice.
    if (request.resume?.state === undefined || this.asks === 'by-result') return undefined
    const text = `Server "${this.#options.server}" asked in a revision that it does not speak any more. Make the call anew.`
    return new McpxError('STATE_INVALID', text)
  }

  notify(method: string, params: JsonObject | undefined): void {
    const message: RpcMessage =
      params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params }
    this.#options.channel.send(message, repeatingHeaders(this.verdict.revision, method, params))
  }

  /** Ends the connection and what it owns; requests in flight are rejected. */
  close(): Promise<void> {
    return this.#options.channel.close(versionHeader(this.verdict.revision))
  }

  onMessage(message: RpcMessage, via: Id | undefined): void {
    if (!('method' in message)) this.#onResponse(message, via)
    else if ('id' in message) this.#onRequest(message, via)
    else this.#onNotification(message, via)
  }

  onInterrupted(id: Id): void {
    this.#pending.get(id)?.request.onInterrupted?.()
  }

  onFailed(id: Id | undefined, failure: SendFailure): void {
    const pending = id === undefined ? undefined : this.#pending.get(id)
    if (id === undefined || pending === undefined) {
      this.#options.log.debug('a message to a server was lost', {
        server: this.#options.server,
        failure: failure.kind,
      })
      return
    }
    // A refusal of credentials, or a session that is gone, is one, whatever JSON-RPC its body holds.
    const refused =
      failure.kind === 'status' && (isAuthStatus(failure.status) || isSessionGone(failure, this.verdict.era))
    if (failure.kind === 'status' && failure.response?.id === id && !refused) {
      return this.#settle(id, answerOf(failure.response))
    }
    this.#reject(id, failureOf(failure, this.#options.server, pending.request.method))
  }

  onClosed(reason: CloseReason): void {
    this.#closed = reason
    this.#inquiries.close()
    for (const [id, { request }] of this.#pending)
      this.#reject(id, closedError(this.#options.server, reason, request.method))
    this.#deadlines.stop()
    this.#options.onClosed(reason)
  }

  #send(id: number, request: UpstreamRequest): void {
    const { era, revision: spoken } = this.verdict
    const { identity, channel } = this.#options
    const params = enveloped(
      this.asks === 'by-result' ? resumed(request.params, request.resume) : request.params,
      {
        revision: spoken,
        client:
          era === 'modern'
            ? { info: identity.info, capabilities: request.answers ?? identity.capabilities }
            : undefined,
        progressToken: request.wantsProgress === true ? id : undefined,
        logLevel: request.logLevel,
      },
    )
    const { method } = request
    const message: RpcRequest =
      params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params }
    if (channel.transport === 'stdio') return channel.send(message)
    channel.send(message, { ...repeatingHeaders(spoken, method, params), ...request.headers })
  }

  #onResponse(response: RpcResponse, via: Id | undefined): void {
    // An error whose request could not be read has no id; the stream that brought it says which request it was.
    const id = response.id ?? via
    if (id !== undefined) {
      if (this.#pending.has(id)) return this.#settle(id, answerOf(response))
      this.#inquiries.ghosts.forget(id)
    }
    this.#options.onStray(response)
  }

  #onRequest(request: RpcRequest, via: Id | undefined): void {
    if (request.method === METHOD.ping) this.#reply({ jsonrpc: '2.0', id: request.id, result: {} })
    else this.#inquiries.onRequest(request, via)
  }

  #reply(response: RpcResponse): void {
    this.#options.channel.send(response, versionHeader(this.verdict.revision))
  }

  #onNotification(notification: RpcNotification, via: Id | undefined): void {
    const { method, params = {} } = notification
    if (method === METHOD.cancelled) {
      const { requestId: given } = params
      // A server may give up one request of ours: a subscription, whose result need not follow.
      if (typeof given !== 'string' && typeof given !== 'number') return
      return this.#pending.get(given)?.request.lasting
        ? this.#settle(given, { result: {} })
        : this.#inquiries.onCancelled(given)
    }
    const owner = this.#ownerOf(method, params, via)
    const request = owner === undefined ? undefined : this.#pending.get(owner)?.request
    if (method === METHOD.progress && request?.wantsProgress !== true) return
    if (request === undefined || (CHANGES.has(method) && request.lasting === undefined)) {
      const { server, log, onNotification } = this.#options
      if (method === METHOD.message) log.debug('a log line of a server belongs to no one call', { server })
      return onNotification(notification)
    }
    // On a shared way a log line is a sign of life of some call, but which one's is not sure.
    if (owner !== undefined && (via !== undefined || method !== METHOD.message)) this.#deadlines.extend(owner)
    request.onNotification?.(method, params)
  }

  /** The request that a notification belongs to: by its token, by the stream that brought it, or as far as that can be told. */
  #ownerOf(method: string, params: JsonObject, via: Id | undefined): Id | undefined {
    if (method === METHOD.progress) {
      const token = params['progressToken']
      return typeof token === 'number' ? token : undefined
    }
    if (via !== undefined || method !== METHOD.message) return via ?? subscriptionOf(params)
    return whoseLog(params['level'], this.#pending, {
      onlyWanted: this.verdict.era === 'modern',
      isParked: (id) => this.#inquiries.isParked(id),
    })
  }

  /** A legacy server is told once what to log; the answer changes nothing, and nobody waits for it. */
  #tellLevel(level: LogLevel | undefined): void {
    if (this.#toldLevel.raise(level))
      this.request({ method: METHOD.setLevel, params: { level } }).catch(() => {})
  }

  #cancel(id: Id, reason: string): void {
    const method = this.#pending.get(id)?.request.method ?? 'a request'
    this.#reject(id, cancelled(this.#options.server, method, reason))
    this.#tellGivenUp(id, reason)
  }

  #expire(id: Id, limit: 'callTimeout' | 'callTimeoutMax'): void {
    const method = this.#pending.get(id)?.request.method
    const { server, [limit]: ms } = this.#options
    const message = `Server "${server}" did not answer ${method} within ${ms / 1000} s. Raise "${limit}" if it may take longer.`
    this.#reject(id, new McpxError('UPSTREAM_TIMEOUT', message))
    this.#tellGivenUp(id, 'timed out')
  }

  #tellGivenUp(id: Id, reason: string): void {
    const { channel } = this.#options
    const byStream =
      channel.transport !== 'stdio' && revision(this.verdict.revision).http.cancelBy === 'closing-the-stream'
    if (!byStream) this.notify(METHOD.cancelled, { requestId: id, reason: clip(reason, 200) })
    channel.abandon(id)
  }

  #settle(id: Id, answer: Answer): void {
    this.#take(id, 'answered')?.resolve(answer)
  }

  #reject(id: Id, error: McpxError): void {
    this.#take(id, 'given up')?.reject(error)
  }

  #take(id: Id, how: 'answered' | 'given up'): Pending | undefined {
    const pending = this.#pending.get(id)
    if (pending === undefined) return undefined
    this.#pending.delete(id)
    this.#deadlines.end(id)
    this.#inquiries.end(id, how)
    pending.forget?.()
    return pending
  }
}
