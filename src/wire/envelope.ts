// What belongs to one hop and is set anew on the next: the envelope of a request, and the headers that repeat it.
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { HEADERS, META, methodIn, revision } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { encodeHeaderValue } from './header-codec.ts'
import type { Id } from './message.ts'

/** What a request says of the hop that it travels. */
export interface Envelope {
  readonly revision: RevisionId
  /** Carried in `_meta` on every request of a modern hop; a legacy hop said it in `initialize`. */
  readonly client: { readonly info: JsonObject; readonly capabilities: JsonObject } | undefined
  readonly progressToken: Id | undefined
  readonly logLevel: string | undefined
}

const HOP_KEYS: readonly string[] = [
  META.progressToken,
  META.protocolVersion,
  META.clientInfo,
  META.clientCapabilities,
  META.logLevel,
  META.subscriptionId,
  META.serverInfo,
]

/** The params for the next hop: the caller's own `_meta` keys stay, those of the hop are replaced. Never changes its input. */
export function enveloped(params: JsonObject | undefined, envelope: Envelope): JsonObject | undefined {
  const meta = withoutHopKeys(params?.['_meta'])
  if (envelope.client !== undefined) {
    meta[META.protocolVersion] = envelope.revision
    meta[META.clientInfo] = envelope.client.info
    meta[META.clientCapabilities] = envelope.client.capabilities
    if (envelope.logLevel !== undefined) meta[META.logLevel] = envelope.logLevel
  }
  if (envelope.progressToken !== undefined) meta[META.progressToken] = envelope.progressToken
  if (!isEmpty(meta)) return { ...params, _meta: meta }
  if (params?.['_meta'] === undefined) return params
  const { _meta: _, ...rest } = params
  return rest
}

/** A copy of a `_meta` without the keys of the hop it came by. */
function withoutHopKeys(meta: unknown): JsonObject {
  if (!isObject(meta)) return {}
  const copy = { ...meta }
  for (const key of HOP_KEYS) delete copy[key]
  return copy
}

/** The progress token that a request carries, its type kept. */
export function progressTokenOf(params: JsonObject | undefined): Id | undefined {
  const meta = params?.['_meta']
  const token = isObject(meta) ? meta[META.progressToken] : undefined
  return typeof token === 'string' || typeof token === 'number' ? token : undefined
}

/** The header that names the revision of a message, where the revision has it. */
export function versionHeader(id: RevisionId): Record<string, string> {
  return revision(id).http.versionHeader === 'absent' ? {} : { [HEADERS.protocolVersion]: id }
}

/** The HTTP headers that repeat a message's revision, method and name, as far as the revision has them. */
export function repeatingHeaders(
  id: RevisionId,
  method: string,
  params: JsonObject | undefined,
): Record<string, string> {
  const { http } = revision(id)
  const headers = versionHeader(id)
  if (!http.methodHeaders) return headers
  headers[HEADERS.method] = method
  const nameFrom = methodIn(id, method)?.nameFrom
  const name = nameFrom === undefined ? undefined : params?.[nameFrom]
  if (typeof name === 'string') headers[HEADERS.name] = encodeHeaderValue(name)
  return headers
}

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false
  return true
}
