// The library for handlers from a Request to a Response: Hono, Deno, Bun, Cloudflare Workers. Nothing here needs Node.
import type { InboundHeaders } from '../../era/index.ts'
import { HEADERS } from '../../spec/index.ts'
import { fetchTarget } from './fetch-target.ts'
import type { Body } from './inbound.ts'
import type { ModernEraOptions } from './options.ts'
import { settingsOf } from './settings.ts'
import { beginVisit } from './visit.ts'
import type { Final } from './visit.ts'

export { needs } from './needs.ts'
export type { MethodError } from './needs.ts'
export type { ServerEvent, Verdict } from './event.ts'
export type { Mode } from './mode.ts'
export type { Hint, Method, MethodContext, ModernEraOptions, OriginOptions, Policy } from './options.ts'

/** A handler; `Rest` is what the platform or the author passes besides: Hono's context, a Worker's `env`. */
export type FetchHandler<Rest extends readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>

/**
 * A handler that answers modern requests itself and hands every other one to the legacy handler: the same Request, its body
 * unread. Throws USAGE for options that cannot be served.
 */
export function withModernEra<Rest extends readonly unknown[]>(
  legacy: FetchHandler<Rest>,
  options: ModernEraOptions,
): (request: Request, ...rest: Rest) => Promise<Response> {
  const settings = settingsOf(options)
  return async (request, ...rest) => {
    const inbound = { verb: request.method, headers: headersOf(request) }
    const visit = beginVisit(inbound, settings, request)
    if (visit === undefined) return legacy(request, ...rest)
    const act = async (decision: Final): Promise<Response> => {
      if (decision.kind === 'answer') {
        const { target, response } = fetchTarget(request)
        void visit.answer(decision.framing, target)
        return response
      }
      try {
        const response = await legacy(request, ...rest)
        void visit.endLegacy(response.status)
        return response
      } catch (error) {
        void visit.endLegacy(undefined)
        throw error
      }
    }
    const first = visit.arrive()
    return act(first.kind === 'read' ? visit.judge(await bodyOf(request, settings.maxBody)) : first)
  }
}

/**
 * Reads a copy of the body, so that the request's own stays whole. Of a body over the limit the copy is let go; what was read
 * of it waits in the request's own.
 */
async function bodyOf(request: Request, limit: number): Promise<Body> {
  if (request.bodyUsed) return { kind: 'unread' }
  if (Number(request.headers.get('content-length') ?? 0) > limit) return { kind: 'unread' }
  try {
    const reader = request.clone().body?.getReader()
    if (reader === undefined) return { kind: 'text', text: '' }
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    let text = ''
    let size = 0
    for (;;) {
      const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array }
      if (done || value === undefined) return { kind: 'text', text: text + decoder.decode() }
      size += value.length
      if (size > limit) {
        // Settles only when the request's own body is done with too.
        void reader.cancel().catch(() => {})
        return { kind: 'unread' }
      }
      text += decoder.decode(value, { stream: true })
    }
  } catch {
    // Locked by somebody else, or broken off: whoever reads the request's own body learns the same.
    return { kind: 'unread' }
  }
}

/** Platforms join repeats with a comma, which no version and no method holds. A name may, so its repeats stay joined. */
const NEVER_WITH_COMMA = [HEADERS.protocolVersion.toLowerCase(), HEADERS.method.toLowerCase()]

function headersOf(request: Request): InboundHeaders {
  const joined: Record<string, string> = {}
  const raw: string[] = []
  for (const [name, value] of request.headers) {
    joined[name] = value
    const values = NEVER_WITH_COMMA.includes(name) ? value.split(',').map((part) => part.trim()) : [value]
    for (const one of values) raw.push(name, one)
  }
  // Platforms that keep Host to themselves have made the URL of it.
  joined['host'] ??= new URL(request.url).host
  return { joined, raw }
}
