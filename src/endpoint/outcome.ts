// What became of each request, for whoever watches eras. One object a request, filled in on the way; none where nobody watches.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clip, isObject } from '../base/index.ts'
import { classifyInbound, markerOf } from '../era/index.ts'
import type { Classification } from '../era/index.ts'
import { HEADERS, META, METHOD, REVISIONS } from '../spec/index.ts'
import type { Caller, RpcMessage, RpcNotification, RpcRequest } from '../wire/index.ts'
import type { EndpointOptions, Outcome } from './contract.ts'
import { LOCAL_USER } from './contract.ts'
import { namesModern } from './refusals.ts'

export interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Begins the record of a request on a pipe, or of one over HTTP. Undefined where nobody watches. */
export function beginOutcome(options: Owned, request?: IncomingMessage): Outcome | undefined {
  if (options.onOutcome === undefined) return undefined
  const agent = request?.headers['user-agent']
  return {
    id: 0,
    at: options.clock.now(),
    ms: 0,
    era: null,
    reason: null,
    asked: null,
    served: null,
    method: OTHER,
    transport: request === undefined ? 'stdio' : 'http',
    status: null,
    code: null,
    refused: false,
    client: UNNAMED,
    agent: agent === undefined ? null : clip(agent),
    principal: options.principal ?? LOCAL_USER,
    remote: request?.socket.remoteAddress ?? null,
  }
}

/** Hands the record of an HTTP request out, with what was sent. */
export function endHttpOutcome(
  outcome: Outcome,
  { request, response }: HttpExchange,
  options: Watched,
): void {
  const status = response.headersSent ? response.statusCode : null
  outcome.status = status
  outcome.refused = status !== null && status >= 400
  // A request that nobody read can be told by its header alone.
  if (outcome.era === null && namesModern(request)) outcome.era = 'modern'
  outcome.asked ??= versionHeader(request)
  deliver(outcome, options)
}

/** Hands the record of a request on a pipe out, with its answer, if it got one. */
export function endPipeOutcome(
  outcome: Outcome,
  answer: RpcMessage | readonly RpcMessage[] | undefined,
  options: Watched,
): void {
  if (answer !== undefined) noteAnswer(outcome, answer)
  if (outcome.era === null) outcome.refused = outcome.code !== null
  deliver(outcome, options)
}

/** Notes how a message was classified and what it says of its method, and in the modern era of its client. */
export function noteMessage(
  outcome: Outcome,
  message: RpcRequest | RpcNotification,
  { era, reason }: Classification,
): void {
  outcome.era = era
  outcome.reason = reason
  outcome.method = methodClass(message.method)
  if (message.method === METHOD.initialize && era === 'legacy') {
    outcome.asked = textOf(message.params?.['protocolVersion'])
    outcome.client = clientOf(message.params?.['clientInfo'])
    return
  }
  const marker = markerOf(message)
  if (marker !== undefined) outcome.asked = clip(marker)
  const meta = message.params?.['_meta']
  if (era === 'modern' && isObject(meta)) outcome.client = clientOf(meta[META.clientInfo])
}

/** Notes who is served, and in which revision. */
export function noteServed(outcome: Outcome, { revision, clientInfo, principal }: Served): void {
  outcome.served = revision
  outcome.principal = principal
  if (outcome.client === UNNAMED) outcome.client = clientOf(clientInfo)
}

/** Notes the error of an answer, where it is one. */
export function noteAnswer(outcome: Outcome, answer: RpcMessage | readonly RpcMessage[]): void {
  if ('error' in answer) outcome.code = answer.error.code
}

/** Notes a notification that came over HTTP. */
export function noteNotification(
  outcome: Outcome,
  message: RpcNotification,
  { request, session }: { readonly request: IncomingMessage; readonly session: Served | undefined },
): void {
  const headers = { joined: request.headers, raw: request.rawHeaders }
  noteMessage(outcome, message, classifyInbound(message, headers, session !== undefined))
  if (session !== undefined) noteServed(outcome, session)
}

/** Records a request that was refused before any endpoint read it. Call it when the answer has been written. */
export function tellRefused(exchange: HttpExchange, code: number, options: Owned): void {
  const outcome = beginOutcome(options, exchange.request)
  if (outcome === undefined) return
  outcome.code = code
  endHttpOutcome(outcome, exchange, options)
}

type Served = Pick<Caller, 'revision' | 'clientInfo' | 'principal'>

type Watched = Pick<EndpointOptions, 'onOutcome' | 'clock' | 'log'>

/** `principal`: whose the request is, where that is known already and not the local user. */
type Owned = Watched & { readonly principal?: string | undefined }

const OTHER = 'other'
const UNNAMED: Outcome['client'] = { name: null, version: null }
const METHODS: ReadonlySet<string> = new Set(REVISIONS.flatMap(({ methods }) => Object.keys(methods)))
const VERSION = HEADERS.protocolVersion.toLowerCase()
let lastId = 0

function deliver(outcome: Outcome, { onOutcome, clock, log }: Watched): void {
  outcome.id = ++lastId
  outcome.ms = Math.max(0, clock.now() - outcome.at)
  if (outcome.refused) outcome.served = null
  try {
    onOutcome?.(outcome)
  } catch (error) {
    // Whoever watches must not break what is watched.
    log.error('an outcome could not be recorded', {
      error: error instanceof Error ? error.stack : String(error),
    })
  }
}

function methodClass(method: string): string {
  return METHODS.has(method) ? method : OTHER
}

function clientOf(info: unknown): Outcome['client'] {
  return isObject(info) ? { name: textOf(info['name']), version: textOf(info['version']) } : UNNAMED
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? clip(value) : null
}

function versionHeader(request: IncomingMessage): string | null {
  return textOf(request.headers[VERSION])
}
