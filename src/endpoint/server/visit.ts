// One HTTP request from its arrival to its event: who serves it, and what the modern era says to it. Every adapter walks
// through here, and what an adapter does besides is moving bytes.
import { clip, isObject } from '../../base/index.ts'
import { markerOf } from '../../era/index.ts'
import { ERRORS, HEADERS, META, METHOD, newest } from '../../spec/index.ts'
import type { Era } from '../../spec/index.ts'
import { blockedBy, corsHeaders, preflightHeaders } from './access.ts'
import { clippedInfo } from './event.ts'
import type { Reason, ServerEvent, Verdict } from './event.ts'
import { classify, headerOf, parse } from './inbound.ts'
import type { Body, Inbound, Parsed } from './inbound.ts'
import { accepts, checkBody, checkHead, refused } from './ladder.ts'
import type { Framing } from './ladder.ts'
import type { Mode } from './mode.ts'
import { Responder } from './responder.ts'
import type { Target } from './responder.ts'
import { checkToolHeaders, run } from './run.ts'
import type { Settings } from './settings.ts'

/** What an adapter does next: hands the request to the legacy handler, reads its body, or answers with `framing`. */
export type Decision =
  | { readonly kind: 'legacy' }
  | { readonly kind: 'read' }
  | { readonly kind: 'answer'; readonly framing: Framing }

/** A decision that no body can change any more. */
export type Final = Exclude<Decision, { kind: 'read' }>

const LEGACY: Final = { kind: 'legacy' }
const READ: Decision = { kind: 'read' }
const NOBODY = new AbortController().signal

/** Undefined in mode `off`, in which nothing is looked at. */
export function beginVisit(inbound: Inbound, settings: Settings, request: unknown): Visit | undefined {
  const mode = settings.mode()
  return mode === 'off' ? undefined : new Visit(inbound, { settings, mode, request })
}

interface VisitOptions {
  readonly settings: Settings
  readonly mode: Exclude<Mode, 'off'>
  readonly request: unknown
}

export class Visit {
  readonly #inbound: Inbound
  readonly #settings: Settings
  readonly #mode: Exclude<Mode, 'off'>
  readonly #request: unknown
  readonly #startedAt: number
  readonly #blocked: string | undefined
  #era: Era = 'legacy'
  #reason: Reason = 'verb'
  #servedBy: Era = 'legacy'
  #parsed: Parsed | undefined
  #verdict: Promise<Verdict> | undefined

  constructor(inbound: Inbound, { settings, mode, request }: VisitOptions) {
    this.#inbound = inbound
    this.#settings = settings
    this.#mode = mode
    this.#request = request
    this.#startedAt = settings.clock.now()
    this.#blocked = blockedBy(inbound, settings.origin)
  }

  /** Whether anybody is told of the outcome. */
  get watched(): boolean {
    return this.#settings.report !== undefined
  }

  /** Decides before the body is read. */
  arrive(): Decision {
    const { origin } = this.#settings
    if (this.#mode === 'sunset') return this.#arriveAtSunset()
    if (this.#inbound.verb !== 'POST') return this.#toLegacy()
    if (this.#blocked !== undefined && origin.legacy === 'enforce' && origin.modern !== 'observe')
      return this.#refuseBlocked(this.#blocked)
    return READ
  }

  /** Decides by the body. */
  judge(body: Body): Final {
    if (body.kind === 'unread') {
      this.#reason = 'unread'
      return this.#mode === 'sunset' ? this.#tooLarge() : this.#toLegacy()
    }
    const parsed = parse(body)
    const { era, reason } = classify(parsed, this.#inbound.headers)
    this.#parsed = parsed
    this.#era = era
    this.#reason = reason
    if (this.#mode === 'sunset') return this.#answer(checkBody(parsed, this.#inbound, this.#settings))
    const looksModern = era === 'modern' && (reason === 'marker' || this.#settings.ambiguous === 'modern')
    if (!looksModern || this.#mode === 'observe') return this.#toLegacy()
    const framing =
      checkHead(this.#inbound, this.#settings) ?? checkBody(parsed, this.#inbound, this.#settings)
    if (this.#mode === 'serve') return this.#answer(framing)
    if (this.watched) this.#verdict = this.#foresee(framing)
    return this.#toLegacy()
  }

  /** Answers in the modern era. Never rejects; done when the answer is handed out or the client is gone. */
  async answer(framing: Framing, target: Target): Promise<void> {
    const settings = this.#settings
    const responder = new Responder(target, {
      headers: corsHeaders(this.#inbound, settings.origin),
      mayStream: accepts(this.#inbound, 'text/event-stream'),
      keepAlive: settings.keepAlive,
      clock: settings.clock,
    })
    let code: number | undefined
    let thrown: unknown
    if (framing.kind === 'empty') responder.endEmpty(framing.status, framing.headers)
    else if (framing.kind === 'refused') {
      code = framing.error.code
      // An id that could not be read is left out: modern clients refuse null.
      const { id, error, status, headers } = framing
      responder.end({ jsonrpc: '2.0', ...(id !== undefined && { id }), error }, status, headers)
    } else {
      const { message } = framing
      const abort = new AbortController()
      responder.onGone(() => abort.abort(new Error('the client closed the connection')))
      responder.keepAlive()
      const outcome = await run(
        {
          message,
          inbound: this.#inbound,
          request: this.#request,
          signal: abort.signal,
          send: (notification) => responder.send(notification),
        },
        settings,
      )
      if ('error' in outcome.answer) code = outcome.answer.error.code
      thrown = outcome.thrown
      responder.end({ jsonrpc: '2.0', id: message.id, ...outcome.answer }, outcome.status)
    }
    this.#report({ status: responder.status, code, ...(thrown !== undefined && { thrown }) })
  }

  /** Reports what the legacy handler did; `status` is undefined where the client was gone before there was one. */
  async endLegacy(status: number | undefined): Promise<void> {
    if (!this.watched) return
    const ms = this.#settings.clock.now() - this.#startedAt
    this.#report({ status, verdict: await this.#verdict, ms })
  }

  /** Reports a request whose client was gone before its body had come. */
  breakOff(): void {
    this.#reason = 'unread'
    this.#report({ status: undefined })
  }

  #arriveAtSunset(): Decision {
    this.#era = 'modern'
    const preflight = preflightHeaders(this.#inbound, this.#settings.origin)
    if (preflight !== undefined) return this.#answer({ kind: 'empty', status: 204, headers: preflight })
    if (this.#inbound.verb !== 'POST') {
      const text = `Method not allowed: ${clip(this.#inbound.verb)}. This server speaks protocol version ${newest('modern')}.`
      const refusal = refused(405, ERRORS.invalidRequest, text)
      return this.#answer({ ...refusal, headers: { Allow: 'POST' } })
    }
    const refusal = checkHead(this.#inbound, this.#settings)
    if (refusal === undefined) return READ
    this.#reason = 'unread'
    return this.#answer(refusal)
  }

  #tooLarge(): Final {
    const text = `The body is larger than ${this.#settings.maxBody} bytes, or cannot be read`
    return this.#answer(refused(413, ERRORS.invalidRequest, text))
  }

  #toLegacy(): Final {
    if (this.#blocked !== undefined && this.#settings.origin.legacy === 'enforce')
      return this.#refuseBlocked(this.#blocked)
    return LEGACY
  }

  #refuseBlocked(text: string): Final {
    if (this.#reason === 'verb' && this.#inbound.verb === 'POST') this.#reason = 'unread'
    return { kind: 'answer', framing: refused(403, ERRORS.invalidRequest, text) }
  }

  #answer(framing: Framing): Final {
    this.#servedBy = 'modern'
    return { kind: 'answer', framing }
  }

  /** What `answer` would come to, without running the method: that would do a second time what the legacy handler does. */
  async #foresee(framing: Framing): Promise<Verdict> {
    if (framing.kind === 'empty') return { status: framing.status }
    if (framing.kind === 'refused') {
      const { code, message } = framing.error
      return { status: framing.status, code, message }
    }
    const { message } = framing
    const request = {
      message,
      inbound: this.#inbound,
      request: this.#request,
      signal: NOBODY,
      send: () => {},
    }
    const refusal = await checkToolHeaders(request, this.#settings)
    if (refusal === undefined || !('error' in refusal.answer)) return { status: 200 }
    const { error } = refusal.answer
    return { status: refusal.status, code: error.code, message: error.message }
  }

  #report(outcome: Partial<ServerEvent> & { readonly status: number | undefined }): void {
    const { report, clock } = this.#settings
    if (report === undefined) return
    const message = this.#message()
    const meta = message?.params?.['_meta']
    const opening = message?.method === METHOD.initialize && markerOf(message) === undefined
    const named = headerOf(this.#inbound, HEADERS.protocolVersion.toLowerCase())
    const revision = opening ? message.params?.['protocolVersion'] : ((message && markerOf(message)) ?? named)
    try {
      report({
        era: this.#era,
        reason: this.#reason,
        servedBy: this.#servedBy,
        mode: this.#mode,
        verb: clip(this.#inbound.verb),
        method: message && clip(message.method),
        revision: typeof revision === 'string' ? clip(revision) : undefined,
        code: undefined,
        verdict: undefined,
        originWouldBlock: this.#blocked !== undefined,
        clientInfo: clippedInfo(
          opening ? message.params?.['clientInfo'] : isObject(meta) ? meta[META.clientInfo] : undefined,
        ),
        ms: clock.now() - this.#startedAt,
        ...outcome,
      })
    } catch {
      // Whoever watches must not break what is watched.
    }
  }

  #message() {
    if (this.#parsed?.kind !== 'message') return undefined
    const { shape } = this.#parsed
    return shape.kind === 'request' || shape.kind === 'notification' ? shape.message : undefined
  }
}
