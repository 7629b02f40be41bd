// What adapters hand to the core of a request, whatever they got it from.
import { isObject } from '../../base/index.ts'
import { classifyInbound, markerOf } from '../../era/index.ts'
import type { Classification, InboundHeaders } from '../../era/index.ts'
import { HEADERS } from '../../spec/index.ts'
import { shapeOf } from '../../wire/index.ts'
import type { RpcNotification, Shape } from '../../wire/index.ts'

export interface Inbound {
  readonly verb: string
  readonly headers: InboundHeaders
}

/** A body as an adapter found it. `unread`: over the limit, taken by somebody else, or broken off; nothing is known of it. */
export type Body =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'unread' }

export type Parsed =
  | { readonly kind: 'message'; readonly shape: Shape; readonly value: unknown }
  | { readonly kind: 'batch'; readonly values: readonly unknown[] }
  | { readonly kind: 'not-json' }

export function parse(body: Exclude<Body, { kind: 'unread' }>): Parsed {
  if (body.kind === 'value') return parsed(body.value)
  try {
    return parsed(JSON.parse(body.text))
  } catch {
    return { kind: 'not-json' }
  }
}

/** The era of a body, message or not. What is no message at all has only the header to say so. */
export function classify(body: Parsed, headers: InboundHeaders): Classification {
  // Whether the session lives is known to the legacy handler alone; that there is one is enough to let that one say it.
  const inSession = headers.joined[HEADERS.sessionId.toLowerCase()] !== undefined
  if (body.kind === 'message') {
    const { shape } = body
    if (shape.kind === 'request' || shape.kind === 'notification')
      return classifyInbound(shape.message, headers, inSession)
  }
  const marked = body.kind === 'batch' ? body.values.some(isMarked) : 'value' in body && isMarked(body.value)
  return marked ? { era: 'modern', reason: 'marker' } : classifyInbound(NO_MESSAGE, headers, inSession)
}

/** One header's value as text. */
export function headerOf({ headers }: Inbound, name: string): string | undefined {
  const value = headers.joined[name]
  return Array.isArray(value) ? value.join(', ') : value
}

const NO_MESSAGE: RpcNotification = { jsonrpc: '2.0', method: '' }

function parsed(value: unknown): Parsed {
  return Array.isArray(value)
    ? { kind: 'batch', values: value }
    : { kind: 'message', shape: shapeOf(value), value }
}

/** Whether a value has the mark of a modern request, however wrong the rest of it is. */
function isMarked(value: unknown): boolean {
  return (
    isObject(value) &&
    isObject(value['params']) &&
    markerOf({ ...NO_MESSAGE, params: value['params'] }) !== undefined
  )
}
