// Frames by hand, from the text of the five revisions alone:
// no SDK and nothing of mcpx, so that neither can agree with itself.
import { AnsweredError, everyPage } from './peer.ts'
import type { JsonObject, Peer } from './peer.ts'

export const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const
export type Revision = (typeof REVISIONS)[number]

export interface Frame {
  readonly direction: 'out' | 'in'
  readonly message: JsonObject
  /** Of the HTTP exchange; absent on stdio. */
  readonly http?: { readonly status?: number; readonly headers: Record<string, unknown> }
}

export interface Response extends JsonObject {
  readonly id?: string | number | null
  readonly result?: JsonObject
  readonly error?: { code: number; message: string; data?: unknown }
}

export interface RawOptions {
  readonly revision: Revision
  readonly capabilities?: JsonObject
  /** Answers what a legacy server asks; what it returns nothing for is refused with -32601. */
  readonly answer?: (method: string, params: JsonObject) => JsonObject | undefined
}

export interface RawClient extends AsyncDisposable {
  readonly revision: Revision
  /** The result of `initialize`, or of `server/discover` in 2026-07-28. */
  readonly opened: JsonObject
  /** Everything sent and received, in order. */
  readonly frames: readonly Frame[]
  /** Resolves with the whole JSON-RPC response, errors included. */
  request(method: string, params?: JsonObject): Promise<Response>
  notify(method: string, params?: JsonObject): Promise<void>
}

const CLIENT_INFO = { name: 'raw-client', version: '1.0.0' }
const HOP = 'io.modelcontextprotocol/'

export function isModern(revision: Revision): boolean {
  return revision === '2026-07-28'
}

/** Params as the revision wants them: 2026-07-28 says in every request what the others say once. */
export function paramsFor(options: RawOptions, params: JsonObject | undefined): JsonObject | undefined {
  if (!isModern(options.revision)) return params
  const meta = {
    [`${HOP}protocolVersion`]: options.revision,
    [`${HOP}clientInfo`]: CLIENT_INFO,
    [`${HOP}clientCapabilities`]: options.capabilities ?? {},
    ...(params?.['_meta'] as JsonObject | undefined),
  }
  return { ...params, _meta: meta }
}

/** The request that a client of the revision opens with. */
export function openingOf(options: RawOptions): { method: string; params?: JsonObject } {
  if (isModern(options.revision)) return { method: 'server/discover' }
  const { revision, capabilities = {} } = options
  return {
    method: 'initialize',
    params: { protocolVersion: revision, capabilities, clientInfo: CLIENT_INFO },
  }
}

/** The response to what a server asked of its client. */
export function replyTo(options: RawOptions, request: JsonObject): JsonObject {
  const method = String(request['method'])
  const params = (request['params'] ?? {}) as JsonObject
  const result = method === 'ping' ? {} : options.answer?.(method, params)
  const error = { code: -32601, message: `${method} is not answered here` }
  return { jsonrpc: '2.0', id: request['id'], ...(result ? { result } : { error }) }
}

/** A raw client behind the interface that all clients share. */
export function rawPeer(client: RawClient): Peer {
  const ask = async (method: string, params: JsonObject = {}): Promise<JsonObject> => {
    const { result, error } = await client.request(method, params)
    if (error) throw new AnsweredError(error)
    if (!result) throw new Error(`${method} was answered with neither a result nor an error`)
    return result
  }
  const list = (method: string, member: string) =>
    everyPage(member, (cursor) => ask(method, cursor === undefined ? {} : { cursor }))
  const close = async () => client[Symbol.asyncDispose]()
  return {
    revision: client.revision,
    listTools: () => list('tools/list', 'tools'),
    callTool: (name, args) => ask('tools/call', { name, arguments: args }),
    listPrompts: () => list('prompts/list', 'prompts'),
    getPrompt: (name, args) => ask('prompts/get', { name, arguments: args }),
    listResources: () => list('resources/list', 'resources'),
    readResource: (uri) => ask('resources/read', { uri }),
    listResourceTemplates: () => list('resources/templates/list', 'resourceTemplates'),
    complete: (ref, argument) => ask('completion/complete', { ref, argument }),
    close,
    [Symbol.asyncDispose]: close,
  }
}
