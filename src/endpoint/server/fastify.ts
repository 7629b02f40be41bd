// The library in Fastify: a `preParsing` hook of the route that the legacy handler serves.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Body } from './inbound.ts'
import { nodeTarget, watchResponse } from './node-target.ts'
import type { ModernEraOptions } from './options.ts'
import { settingsOf } from './settings.ts'
import { bodyAtHand, bodyOf, takeBody } from './take-body.ts'
import { beginVisit } from './visit.ts'
import type { Final } from './visit.ts'

/** What the hook uses of Fastify's request, reply and payload. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage
}

export interface FastifyReplyLike {
  readonly raw: ServerResponse
  hijack(): unknown
}

export type FastifyPayload = Readable & { receivedEncodedLength?: number }

export type PreParsingHook = (
  ...args: [
    request: FastifyRequestLike,
    reply: FastifyReplyLike,
    payload: FastifyPayload,
    done: (error?: Error | null, payload?: FastifyPayload) => void,
  ]
) => void

/**
 * The hook: `app.post('/mcp', { preParsing: modernEraHook(options) }, legacyHandler)`. Modern requests are answered past
 * Fastify's reply; for every other one Fastify goes on with a payload of the same bytes.
 */
export function modernEraHook(options: ModernEraOptions): PreParsingHook {
  const settings = settingsOf(options)
  return (...[request, reply, payload, done]) => {
    const { raw } = request
    const inbound = { verb: raw.method ?? '', headers: { joined: raw.headers, raw: raw.rawHeaders } }
    const visit = beginVisit(inbound, settings, request)
    if (visit === undefined) return done(null, payload)
    const act = (decision: Final, same: FastifyPayload): void => {
      if (decision.kind === 'answer') {
        reply.hijack()
        void visit.answer(decision.framing, nodeTarget(raw, reply.raw))
        return
      }
      watchResponse(reply.raw, visit)
      done(null, same)
    }
    const first = visit.arrive()
    if (first.kind !== 'read') return act(first, payload)
    const body = bodyAtHand(raw, settings.maxBody)
    if (body !== undefined) return act(visit.judge(body), payload)
    const gone = (): void => visit.breakOff()
    if (payload === raw) {
      takeBody(raw, settings.maxBody, { done: (taken) => act(visit.judge(taken), emptied(payload)), gone })
    } else {
      collect(payload, settings.maxBody, { done: (taken, same) => act(visit.judge(taken), same), gone })
    }
  }
}

/** The payload; another one where it has nothing: it may end before Fastify listens to it. */
function emptied(payload: FastifyPayload): FastifyPayload {
  return payload.readableLength === 0 && payload.readableDidRead ? Readable.from([]) : payload
}

/** Reads what another hook made of the body, and hands it on as a stream of the same bytes. */
function collect(
  payload: FastifyPayload,
  limit: number,
  take: { done(body: Body, same: FastifyPayload): void; gone(): void },
): void {
  const chunks: Buffer[] = []
  let size = 0
  const release = (): void => {
    payload.off('data', onData)
    payload.off('end', onEnd)
    payload.off('error', onError)
  }
  const onData = (chunk: Buffer | string): void => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    chunks.push(bytes)
    size += bytes.length
    if (size <= limit) return
    release()
    payload.pause()
    payload.unshift(Buffer.concat(chunks, size))
    take.done({ kind: 'unread' }, payload)
  }
  const onEnd = (): void => {
    release()
    const bytes = Buffer.concat(chunks, size)
    const same: FastifyPayload = Readable.from(size === 0 ? [] : [bytes])
    if (payload.receivedEncodedLength !== undefined)
      same.receivedEncodedLength = payload.receivedEncodedLength
    take.done(bodyOf(bytes), same)
  }
  const onError = (): void => {
    release()
    take.gone()
  }
  payload.on('data', onData)
  payload.on('end', onEnd)
  payload.on('error', onError)
}
