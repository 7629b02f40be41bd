// Reads the body of a Node request in such a way that whoever comes next reads the same bytes from the same object.
import type { IncomingMessage } from 'node:http'
import { isObject } from '../../base/index.ts'
import type { Body } from './inbound.ts'

const UNREAD: Body = { kind: 'unread' }
const EMPTY: Body = { kind: 'text', text: '' }

/** A body that is there before anything is read: parsed by others, absent, too large, or not to be had. */
export function bodyAtHand(request: IncomingMessage, limit: number): Body | undefined {
  const { body } = request as { readonly body?: unknown }
  if (body !== undefined && !isPlaceholder(request, body)) return bodyOf(body)
  const { headers } = request
  if (Number(headers['content-length'] ?? 0) > limit) return UNREAD
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return EMPTY
  // A stream that has been read, or is being read, cannot be read once more.
  const taken = request.readableEnded || request.destroyed || request.readableEncoding !== null
  if (taken || request.readableFlowing === true || request.listenerCount('data') > 0) return UNREAD
  return request.complete && request.readableLength === 0 ? EMPTY : undefined
}

/**
 * Reads the body and puts it back. The request does not end before somebody reads it anew. `gone` is called instead where the
 * client breaks off.
 */
export function takeBody(
  request: IncomingMessage,
  limit: number,
  take: { done(body: Body): void; gone(): void },
): void {
  const chunks: Buffer[] = []
  let size = 0
  // Reading an ended stream once more would make it emit `end` before anybody else listens: hence never beyond what is there.
  const onReadable = (): void => {
    while (request.readableLength > 0) {
      const chunk = request.read() as Buffer
      chunks.push(chunk)
      size += chunk.length
    }
    if (!request.complete && size <= limit) return
    release()
    if (size === 0) {
      tellLateListeners(request)
      return take.done(EMPTY)
    }
    const bytes = Buffer.concat(chunks, size)
    request.unshift(bytes)
    // Until the next tick the stream takes itself for listened to, and would not tell a new listener what it holds.
    process.nextTick(() => take.done(size > limit ? UNREAD : { kind: 'text', text: bytes.toString('utf8') }))
  }
  const onGone = (): void => {
    release()
    take.gone()
  }
  const release = (): void => {
    request.off('readable', onReadable)
    request.off('error', onGone)
    request.off('close', onGone)
  }
  request.on('readable', onReadable)
  request.on('error', onGone)
  request.on('close', onGone)
}

/** A body as middleware leaves it: parsed, text, or bytes. */
export function bodyOf(body: unknown): Body {
  if (typeof body === 'string') return { kind: 'text', text: body }
  return body instanceof Uint8Array
    ? { kind: 'text', text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(body) }
    : { kind: 'value', value: body }
}

/** An empty chunked body ends by itself as soon as anybody waits for it: who listens after that hears of the end all the same. */
function tellLateListeners(request: IncomingMessage): void {
  request.on('newListener', (event: unknown, listener: () => void) => {
    if (event === 'end' && request.readableEnded) process.nextTick(() => listener.call(request))
  })
}

/** Express 4 puts an empty object there for a body that no parser has read. */
function isPlaceholder(request: IncomingMessage, body: unknown): boolean {
  return isObject(body) && Object.keys(body).length === 0 && !request.readableDidRead
}
