// `mcpx/server`: the modern era beside a legacy server that stays as it is, on node:http, in Express and in Fastify.
// `mcpx/server/fetch` is the same for handlers from a Request to a Response, and loads nothing of Node.
export { modernEraHook } from './fastify.ts'
export type { FastifyPayload, FastifyReplyLike, FastifyRequestLike, PreParsingHook } from './fastify.ts'
export { needs } from './needs.ts'
export type { MethodError } from './needs.ts'
export { withModernEra } from './node.ts'
export type { NodeHandler } from './node.ts'
export type { ServerEvent, Verdict } from './event.ts'
export type { Mode } from './mode.ts'
export type { Hint, Method, MethodContext, ModernEraOptions, OriginOptions, Policy } from './options.ts'
