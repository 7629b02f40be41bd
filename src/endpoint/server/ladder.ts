// The checks that a modern request passes before anything runs; the first that fails answers.
import { clip, isObject } from '../../base/index.ts'
import { checkModern, markerOf } from '../../era/index.ts'
import { ERRORS, HEADERS, METHOD, revisionsOf } from '../../spec/index.ts'
import type { Id, RpcError, RpcRequest } from '../../wire/index.ts'
import { blockedBy } from './access.ts'
import { headerOf } from './inbound.ts'
import type { Inbound, Parsed } from './inbound.ts'
import type { Settings } from './settings.ts'

export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  readonly error: RpcError
  /** Undefined where it could not be read. */
  readonly id: Id | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** What is to be said to a request: a refusal, a status alone, or what its method answers. */
export type Framing =
  | Refused
  | { readonly kind: 'empty'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: 'request'; readonly message: RpcRequest }

export function refused(status: number, code: number, message: string): Refused {
  return { kind: 'refused', status, error: { code, message }, id: undefined }
}

/** What can be said before the body is read. */
export function checkHead(inbound: Inbound, settings: Settings): Refused | undefined {
  const blocked = settings.origin.modern === 'observe' ? undefined : blockedBy(inbound, settings.origin)
  if (blocked !== undefined) return refused(403, ERRORS.invalidRequest, blocked)
  if (!accepts(inbound, 'application/json') && !accepts(inbound, 'text/event-stream')) {
    const text = 'Accept must allow application/json or text/event-stream'
    return refused(406, ERRORS.invalidRequest, text)
  }
  if (!/^application\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(headerOf(inbound, 'content-type') ?? '')) {
    return refused(415, ERRORS.invalidRequest, 'Content-Type must be application/json')
  }
  return undefined
}

/** What can be said of a body without running anything. */
export function checkBody(body: Parsed, inbound: Inbound, settings: Settings): Framing {
  if (body.kind === 'not-json') return refused(400, ERRORS.parse, 'Parse error: the body is not JSON')
  if (body.kind === 'batch')
    return refused(400, ERRORS.invalidRequest, 'Invalid request: a batch is not a message')
  const { shape } = body
  switch (shape.kind) {
    case 'invalid':
      return withId(refused(400, ERRORS.invalidRequest, `Invalid request: ${shape.reason}`), shape.id)
    case 'response':
      return refused(400, ERRORS.invalidRequest, 'Invalid request: nobody waits for a response')
    case 'notification':
      return { kind: 'empty', status: 202 }
    case 'request':
    default:
      return checkRequest(shape.message, inbound, settings)
  }
}

/** Whether the client takes a media type. No Accept header takes everything. */
export function accepts(inbound: Inbound, type: 'application/json' | 'text/event-stream'): boolean {
  const accept = headerOf(inbound, 'accept')
  if (accept === undefined) return true
  const major = type.slice(0, type.indexOf('/'))
  return accept.includes(type) || accept.includes('*/*') || accept.includes(`${major}/*`)
}

function checkRequest(message: RpcRequest, inbound: Inbound, settings: Settings): Framing {
  if (message.method === METHOD.initialize && markerOf(message) === undefined) return tooOld(message)
  const { methods } = settings.options
  const served = message.method === METHOD.discover || Object.hasOwn(methods, message.method)
  const refusal = checkModern(message, inbound.headers, served)
  if (refusal !== undefined) return { kind: 'refused', ...refusal, id: message.id }
  if (served) return { kind: 'request', message }
  const text = `Method not found: ${clip(message.method)}`
  return withId(refused(404, ERRORS.methodNotFound, text), message.id)
}

/** A client that knows no way forward shows its user this message, so that it says which versions would do. */
function tooOld(message: RpcRequest): Refused {
  const supported = [...revisionsOf('modern')]
  const requested = isObject(message.params) ? message.params['protocolVersion'] : undefined
  const asked = typeof requested === 'string' ? clip(requested) : 'an older version'
  const text =
    `This server speaks protocol version ${supported.join(', ')} only, and no ${METHOD.initialize}; ` +
    `the client asked for ${asked}. Update the client, or name the version in ${HEADERS.protocolVersion} and _meta.`
  return {
    kind: 'refused',
    status: 400,
    error: {
      code: ERRORS.unsupportedProtocolVersion,
      message: text,
      data: { supported, ...(typeof requested === 'string' && { requested: clip(requested) }) },
    },
    id: message.id,
  }
}

function withId(refusal: Refused, id: Id | undefined): Refused {
  return { ...refusal, id }
}
