// Reads the body of a Node request in such a way that whoever comes next reads the same bytes from the same object.
import type { IncomingMessage } from 'node:http'
import { isObject } from '../../base/index.ts'
import type { Body } from './inbound.ts'

const UNREAD: Body = { kind: 'unread' }

/** A body that is there before anything is read: parsed by others, absent, too large, or not to be had. */
export function bodyAtHand(request: IncomingMessage, limit: number): Body | undefined {
  const { body } = request as { readonly body?: unknown }
  if (body !== undefined && !isPlaceholder(request, body)) return bodyOf(body)
  const { headers } = request
  if (Number(headers['content-length'] ?? 0) > limit) return UNREAD
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    return { kind: 'text', text: '' }
  // A stream that has been read, or is being read, cannot be read once more.
  const taken = request.readableEnded || request.destroyed || request.readableEncoding !== null
  if (taken || request.readableFlowing === true || request.listenerCount('data') > 0) return UNREAD
  return request.complete && request.readableLength === 0 ? { kind: 'text', text: '' } : undefined
}

/**
 * Reads the body and puts it back. Calls back in the same tick, before the stream can end, so what listens then to the
 * request misses nothing. `gone` is called instead where the client breaks off.
 */
export function takeBody(
  request: IncomingMessage,
  limit: number,
  take: { done(body: Body): void; gone(): void },
): void {
  const chunks: Buffer[] = []
  let size = 0
  // Reading an ended stream once more would make it emit `end`, before anybody else listens; hence never beyond what is there.
  const onReadable = (): void => {
    while (request.readableLength > 0) {
      const chunk = request.read() as Buffer
      chunks.push(chunk)
      size += chunk.length
    }
    if (!request.complete && size <= limit) return
    release()
    const bytes = Buffer.concat(chunks, size)
    if (size > 0) request.unshift(bytes)
    take.done(size > limit ? UNREAD : { kind: 'text', text: bytes.toString('utf8') })
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

/** Express 4 puts an empty object there for a body that no parser has read. */
function isPlaceholder(request: IncomingMessage, body: unknown): boolean {
  return isObject(body) && Object.keys(body).length === 0 && !request.readableDidRead
}
