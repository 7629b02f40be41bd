// What single rows of the tables ask of a request.
import { V } from './draft.ts'
import { decoded, eraOf, isObject, KNOWN_LEGACY, readMessage } from './facts.ts'
import type { Facts } from './facts.ts'

export const LEGACY_METHODS: ReadonlySet<string> = new Set([
  ...['tools/list', 'tools/call', 'prompts/list', 'prompts/get', 'resources/list', 'resources/read', 'ping'],
  ...[
    'resources/templates/list',
    'resources/subscribe',
    'resources/unsubscribe',
    'completion/complete',
    'logging/setLevel',
  ],
])

export function legacyHas({ revision }: Facts, method: string): boolean {
  return LEGACY_METHODS.has(method) || (method === 'tasks/list' && revision === '2025-11-25')
}

/** What the version header and the session of a legacy message are answered with, undefined where they are right. */
export function refusesLegacy({ header, session, modernHeader }: Facts): 400 | 404 | undefined {
  const version = header('mcp-protocol-version')
  const tolerated =
    session !== undefined && modernHeader && header('mcp-protocol-version')?.length === V.length
  if (version !== undefined && !KNOWN_LEGACY.has(version) && !tolerated) return 400
  return session === undefined && header('mcp-session-id') !== undefined ? 404 : undefined
}

export function bodyName({ method, params }: Facts): string | undefined {
  const name =
    method === 'resources/read'
      ? params['uri']
      : ['tools/call', 'prompts/get'].includes(method)
        ? params['name']
        : undefined
  return typeof name === 'string' ? name : undefined
}

export function headerName({ values }: Facts): string | undefined {
  return decoded(values('mcp-name')?.[0] ?? '')
}

/** The tool `annotated` repeats two of its arguments in headers, one of them an integer. */
export function paramsDiffer({ method, params, values }: Facts): boolean {
  if (method !== 'tools/call' || params['name'] !== 'annotated') return false
  const args = isObject(params['arguments']) ? params['arguments'] : {}
  return (['region', 'count'] as const).some((name) => {
    const [sent, ...others] = values(`mcp-param-${name}`) ?? []
    const value = args[name]
    if (sent === undefined || value === undefined) return sent !== value
    const text = decoded(sent)
    if (others.length > 0 || text === undefined) return true
    return name === 'count' ? !/^-?\d+(\.\d+)?$/.test(text) || Number(text) !== value : text !== value
  })
}

/** The handler of the endpoint knows its tools, and wants names and URIs that are text. */
export function handlerRefuses({ method, params }: Facts): boolean {
  if (method === 'tools/call') return !['echo', 'annotated', 'asks'].includes(params['name'] as string)
  if (method === 'prompts/get') return typeof params['name'] !== 'string'
  return method === 'resources/read' && typeof params['uri'] !== 'string'
}

export function batchIsModern({ json, session, modernHeader }: Facts): boolean {
  if (modernHeader && session === undefined) return true
  return (json as unknown[]).some((element) => {
    const { shape, marker, method } = readMessage(element)
    if (shape !== 'request' && shape !== 'notification') return false
    return eraOf({ marker, method, inSession: session !== undefined, modernHeader }) === 'modern'
  })
}
