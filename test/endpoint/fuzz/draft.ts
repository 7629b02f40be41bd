// Requests as they are before anything is done to them: well formed, in either era.
import type { Random } from './random.ts'

export type Json = Record<string, unknown>
export type HeaderList = [name: string, value: string][]

/** What is known of the endpoint that the requests go to. */
export interface World {
  readonly host: string
  /** The ids of live sessions, by revision. */
  readonly sessions: Readonly<Record<string, string>>
  readonly maxBody: number
}

/** A request under way to what is sent: the message is spelled at the end, unless `bytes` stand already. */
export interface Draft {
  verb: string
  headers: HeaderList
  message: unknown
  bytes?: Buffer
}

export const V = '2026-07-28'
export const MARKER = 'io.modelcontextprotocol/protocolVersion'
export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const LEVEL = 'io.modelcontextprotocol/logLevel'

export const NAMES = [
  'echo',
  'nobody',
  'grüße',
  ' padded ',
  '=?base64?ZWNobw==?=',
  'a,b',
  '日本',
  '',
] as const
const URIS = ['file:///a', 'file:///a, b', 'urn:é', 'https://x.example/?q=1&r=2'] as const
export const IDS: readonly unknown[] = [
  ...[0, 1, -1, 1.5, 9007199254740991, 1e300, '', '0', '1', 'a/b', 'ü', '\u0000', 'x'.repeat(900)],
]
export const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

/** A draft of a kind that chance decides; about two in three are modern. */
export function draftOf(random: Random, world: World): Draft {
  const roll = random.next()
  if (roll < 0.62) return modern(random, world)
  if (roll < 0.74) return legacy(random, world, false)
  if (roll < 0.84) return legacy(random, world, true)
  if (roll < 0.87) return initialize(random, world)
  if (roll < 0.91) return notification(random, world)
  if (roll < 0.93) return response(random, world)
  if (roll < 0.97) return batch(random, world)
  return verb(random, world)
}

/** A header value that carries any text. */
function carried(text: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?')
  return plain ? text : sentinel(text)
}

export function sentinel(text: string): string {
  return `=?base64?${Buffer.from(text).toString('base64')}?=`
}

function common({ host }: World): HeaderList {
  return [
    ['Host', host],
    ['Content-Type', 'application/json'],
    ['Accept', 'application/json, text/event-stream'],
  ]
}

function meta(random: Random): Json {
  return {
    [MARKER]: V,
    [CAPABILITIES]: random.chance(0.3) ? { elicitation: {} } : {},
    ...(random.chance(0.7) ? { [CLIENT_INFO]: { name: 'fuzz', version: '1' } } : {}),
    ...(random.chance(0.1) ? { [LEVEL]: 'warning' } : {}),
  }
}

function modern(random: Random, world: World): Draft {
  const [method, own] = modernCall(random)
  const name = method === 'resources/read' ? own['uri'] : own['name']
  const headers: HeaderList = [
    ...common(world),
    ['MCP-Protocol-Version', V],
    ['Mcp-Method', method],
    ...(typeof name === 'string' ? [['Mcp-Name', carried(name)] as [string, string]] : []),
  ]
  const args = own['arguments'] as Json | undefined
  if (typeof args?.['region'] === 'string') headers.push(['Mcp-Param-Region', carried(args['region'])])
  if (typeof args?.['count'] === 'number') headers.push(['Mcp-Param-Count', `${args['count']}`])
  const message = { jsonrpc: '2.0', id: random.pick(IDS), method, params: { ...own, _meta: meta(random) } }
  return { verb: 'POST', headers, message }
}

function modernCall(random: Random): [method: string, params: Json] {
  switch (random.below(9)) {
    case 0:
      return ['server/discover', {}]
    case 1:
      return [random.pick(['prompts/list', 'resources/list', 'resources/templates/list']), { cursor: 'c' }]
    case 2:
      return ['tools/call', { name: random.pick(NAMES), arguments: { message: 'hi' } }]
    case 3:
      return ['tools/call', { name: 'annotated', arguments: random.pick(ANNOTATED) }]
    case 4:
      return ['tools/call', { name: 'asks', arguments: {} }]
    case 5:
      return ['prompts/get', { name: random.pick(NAMES) }]
    case 6:
      return ['resources/read', { uri: random.pick(URIS) }]
    case 7:
      return [random.pick(['completion/complete', 'subscriptions/listen']), { argument: { name: 'a' } }]
    default:
      return ['tools/list', {}]
  }
}

const ANNOTATED: readonly Json[] = [
  { region: 'north', count: 42 },
  { region: 'Hafen–City' },
  { count: -7 },
  { count: 9007199254740991 },
  {},
]

function legacy(random: Random, world: World, within: boolean): Draft {
  const revision = random.pick(LEGACY)
  const method = random.pick([
    ...['ping', 'tools/list', 'tools/call', 'resources/read', 'prompts/get', 'logging/setLevel'],
    ...['resources/subscribe', 'completion/complete', 'tasks/list', 'no/such'],
  ])
  const params: Json =
    method === 'logging/setLevel'
      ? { level: random.pick(['info', 'error', 'loud', 5]) }
      : { name: random.pick(NAMES), uri: random.pick(URIS) }
  const headers = common(world)
  const session = world.sessions[revision]
  if (within && session !== undefined) headers.push(['Mcp-Session-Id', session])
  if (random.chance(0.6)) headers.push(['MCP-Protocol-Version', revision])
  const message: Json = { jsonrpc: '2.0', id: random.pick(IDS), method }
  if (method.includes('/') || random.chance(0.5)) message['params'] = params
  return { verb: 'POST', headers, message }
}

function initialize(random: Random, world: World): Draft {
  const protocolVersion = random.pick([...LEGACY, V, '2027-01-01', '1999-01-01', 'banana', 5, undefined])
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } }
  const headers = common(world)
  if (random.chance(0.2)) headers.push(['MCP-Protocol-Version', V])
  return {
    verb: 'POST',
    headers,
    message: { jsonrpc: '2.0', id: random.pick(IDS), method: 'initialize', params },
  }
}

function notification(random: Random, world: World): Draft {
  const { headers, message } = random.chance(0.6)
    ? modern(random, world)
    : legacy(random, world, random.chance(0.5))
  const { id: _, ...rest } = message as Json
  const method = random.pick([rest['method'], 'notifications/cancelled', 'notifications/initialized'])
  return { verb: 'POST', headers, message: { ...rest, method } }
}

function response(random: Random, world: World): Draft {
  const { headers } = random.chance(0.5) ? modern(random, world) : legacy(random, world, random.chance(0.5))
  const outcome = random.pick<Json>([
    { result: {} },
    { error: { code: -1, message: 'no' } },
    { error: { code: 1.5, message: 'no' } },
    { result: 5 },
  ])
  return { verb: 'POST', headers, message: { jsonrpc: '2.0', id: random.pick(IDS), ...outcome } }
}

function batch(random: Random, world: World): Draft {
  const { headers, message } = legacy(random, world, random.chance(0.5))
  const others = Array.from({ length: random.below(4) }, (): unknown => {
    const { message: other } = draftOf(random, world)
    return random.chance(0.7) ? legacy(random, world, false).message : other
  })
  // One id twice in a batch is refused; what is tested there is something else.
  const messages = (random.chance(0.1) ? others : [message, ...others]).map((one, index) =>
    typeof one === 'object' && one !== null && 'id' in one ? { ...one, id: `b${index}` } : one,
  )
  return { verb: 'POST', headers, message: messages }
}

function verb(random: Random, world: World): Draft {
  const headers: HeaderList = [...common(world), ['MCP-Protocol-Version', random.pick([V, ...LEGACY])]]
  if (random.chance(0.4)) headers.push(['Mcp-Session-Id', 'nobody'])
  const verbs = ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE']
  return { verb: random.pick(verbs), headers, message: undefined }
}
