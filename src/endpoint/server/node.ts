// The library on node:http and in Express.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyAtHand, takeBody } from './take-body.ts'
import type { ModernEraOptions } from './options.ts'
import { nodeTarget, watchResponse } from './node-target.ts'
import { settingsOf } from './settings.ts'
import { beginVisit } from './visit.ts'
import type { Final } from './visit.ts'

/** A handler as node:http and Express call it; `Rest` is what the framework passes besides: Express's `next`. */
export type NodeHandler<
  Req extends IncomingMessage,
  Res extends ServerResponse,
  Rest extends readonly unknown[],
> = (request: Req, response: Res, ...rest: Rest) => unknown

/**
 * A handler that answers modern requests itself and hands every other one to the legacy handler as it came: the same request
 * object, with its bytes unread. Throws USAGE for options that cannot be served.
 */
export function withModernEra<
  Req extends IncomingMessage,
  Res extends ServerResponse,
  Rest extends readonly unknown[],
>(legacy: NodeHandler<Req, Res, Rest>, options: ModernEraOptions): NodeHandler<Req, Res, Rest> {
  const settings = settingsOf(options)
  return (request, response, ...rest) => {
    const inbound = {
      verb: request.method ?? '',
      headers: { joined: request.headers, raw: request.rawHeaders },
    }
    const visit = beginVisit(inbound, settings, request)
    if (visit === undefined) return legacy(request, response, ...rest)
    const act = (decision: Final): unknown => {
      if (decision.kind === 'answer') return visit.answer(decision.framing, nodeTarget(request, response))
      watchResponse(response, visit)
      return legacy(request, response, ...rest)
    }
    const first = visit.arrive()
    if (first.kind !== 'read') return act(first)
    const body = bodyAtHand(request, settings.maxBody)
    if (body !== undefined) return act(visit.judge(body))
    return new Promise((resolve, reject) => {
      takeBody(request, settings.maxBody, {
        done(taken) {
          try {
            resolve(act(visit.judge(taken)))
          } catch (error) {
            fail(error, rest, reject)
          }
        },
        gone() {
          visit.breakOff()
          resolve(undefined)
        },
      })
    })
  }
}

/** What a legacy handler throws goes where it would have gone: to Express's `next`, or up. */
function fail(error: unknown, [next]: readonly unknown[], reject: (error: unknown) => void): void {
  if (typeof next === 'function') next(error)
  else reject(error)
}
