// The official SDK's own classifier as a second opinion on the era of each kind of request. Where it disagrees, decision 005
// says which side the specification takes.
import { classifyInboundRequest } from '@modelcontextprotocol/server'
import type { InboundHttpRequest } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { classifyInbound } from '../../src/era/index.ts'
import { shapeOf } from '../../src/wire/index.ts'
import { MARKER, V } from './fuzz/draft.ts'
import type { World } from './fuzz/draft.ts'
import { ABSENT, factsOf, isObject } from './fuzz/facts.ts'
import type { Facts } from './fuzz/facts.ts'
import { requestOf } from './fuzz/mutations.ts'

const SEED = 20260728
const COUNT = 40_000

/** `refused`: not a message of either era, or not one that may be sent in its own. */
type Opinion = 'legacy' | 'modern' | 'refused'

interface Disagreement {
  readonly what: string
  readonly mcpx: readonly Opinion[]
  readonly sdk: readonly Opinion[]
  readonly met: (facts: Facts) => boolean
}

/** The table of decision 005, in its order. The first that is met explains a disagreement. */
const DISAGREEMENTS: readonly Disagreement[] = [
  {
    what: 'an id that is no safe integer',
    mcpx: ['legacy', 'modern'],
    sdk: ['refused'],
    met: ({ message: { id } }) => typeof id === 'number' && !Number.isSafeInteger(id),
  },
  {
    what: 'a member that JSON-RPC does not have',
    mcpx: ['legacy', 'modern', 'refused'],
    sdk: ['refused'],
    met: ({ message, shape }) =>
      shape !== 'invalid' && Object.keys(message).some((key) => !MEMBERS[shape].has(key)),
  },
  {
    what: 'a _meta, or a progress token in it, of a type that the schema does not have',
    mcpx: ['legacy', 'modern'],
    sdk: ['refused'],
    met: ({ params, meta }) =>
      (params['_meta'] !== undefined && !isObject(params['_meta'])) ||
      !['undefined', 'string', 'number'].includes(typeof meta['progressToken']),
  },
  {
    what: 'a modern header on a session',
    mcpx: ['legacy'],
    sdk: ['modern', 'refused'],
    met: ({ session, modernHeader }) => session !== undefined && modernHeader,
  },
  {
    what: 'initialize with a modern header',
    mcpx: ['legacy'],
    sdk: ['modern', 'refused'],
    met: ({ method, modernHeader, meta }) => method === 'initialize' && modernHeader && !(MARKER in meta),
  },
  {
    what: 'initialize with a marker of a legacy version, or in a _meta that is not complete',
    mcpx: ['modern'],
    sdk: ['legacy', 'refused'],
    met: ({ method, marker }) => method === 'initialize' && marker !== undefined,
  },
  {
    what: 'a marker that is empty, or no text',
    mcpx: ['legacy'],
    sdk: ['modern', 'refused'],
    met: ({ marker, meta }) => MARKER in meta && marker === undefined,
  },
  {
    what: 'a version header that is no date, and behind the modern dates in the alphabet',
    mcpx: ['legacy'],
    sdk: ['modern', 'refused'],
    met: ({ header, modernHeader }) => !modernHeader && (header('mcp-protocol-version') ?? '') > V,
  },
  {
    what: 'server/discover without a marker',
    mcpx: ['modern'],
    sdk: ['legacy'],
    met: ({ method, marker }) => method === 'server/discover' && marker === undefined,
  },
  {
    what: 'a notification that its headers or its _meta contradict',
    mcpx: ['modern'],
    sdk: ['refused'],
    met: ({ shape }) => shape === 'notification',
  },
  {
    what: 'a response with a modern header',
    mcpx: ['refused'],
    sdk: ['legacy'],
    met: ({ shape, modernHeader }) => shape === 'response' && modernHeader,
  },
  {
    what: 'a batch with a modern header, or with server/discover in it',
    mcpx: ['refused'],
    sdk: ['legacy'],
    met: ({ json, modernHeader }) =>
      Array.isArray(json) &&
      (modernHeader || json.some((one) => isObject(one) && one['method'] === 'server/discover')),
  },
  {
    what: 'a batch with an element that is no message',
    mcpx: ['legacy'],
    sdk: ['refused'],
    met: ({ json }) => Array.isArray(json) && json.length > 0,
  },
]

const MEMBERS: Readonly<Record<'request' | 'notification' | 'response', ReadonlySet<string>>> = {
  request: new Set(['jsonrpc', 'id', 'method', 'params']),
  notification: new Set(['jsonrpc', 'method', 'params']),
  response: new Set(['jsonrpc', 'id', 'result', 'error']),
}

test('the SDK and mcpx agree on the era, but for what decision 005 lists', () => {
  const world: World = {
    host: '127.0.0.1:1',
    sessions: { '2025-06-18': 'older', '2025-11-25': 'newer' },
    maxBody: 6000,
  }
  const found = new Map<string, number>(DISAGREEMENTS.map(({ what }) => [what, 0]))
  const unexplained: string[] = []
  let agreed = 0
  for (let index = 0; index < COUNT; index++) {
    const facts = factsOf(requestOf(SEED, index, world), world)
    if (facts.sent.verb !== 'POST' || facts.json === ABSENT) continue
    const [mcpx, sdk] = [ownOpinion(facts), sdkOpinion(facts)]
    if (mcpx === sdk) {
      agreed++
      continue
    }
    const known = DISAGREEMENTS.find(
      (one) => one.mcpx.includes(mcpx) && one.sdk.includes(sdk) && one.met(facts),
    )
    if (known !== undefined) found.set(known.what, (found.get(known.what) ?? 0) + 1)
    else unexplained.push(`seed ${SEED}, request ${index}: mcpx ${mcpx}, SDK ${sdk}: ${shown(facts)}`)
  }
  expect(unexplained.slice(0, 5)).toEqual([])
  expect([...found].filter(([, count]) => count === 0)).toEqual([])
  expect(agreed).toBeGreaterThan(COUNT / 2)
})

function ownOpinion(facts: Facts): Opinion {
  const { json, session, modernHeader } = facts
  const shape = shapeOf(json)
  const isNamed = modernHeader && session === undefined
  if (shape.kind === 'request' || shape.kind === 'notification') return eraOf(facts, shape.message)
  if (shape.kind === 'response') return isNamed ? 'refused' : 'legacy'
  if (!Array.isArray(json) || json.length === 0 || isNamed) return 'refused'
  const isModern = json.map(shapeOf).some((one) => {
    return (one.kind === 'request' || one.kind === 'notification') && eraOf(facts, one.message) === 'modern'
  })
  return isModern ? 'refused' : 'legacy'
}

function eraOf(facts: Facts, message: Parameters<typeof classifyInbound>[0]): Opinion {
  const raw = facts.sent.headers.flatMap(([name, value]) => [name, value.trim()])
  const joined = { 'mcp-protocol-version': facts.header('mcp-protocol-version') }
  return classifyInbound(message, { joined, raw }, facts.session !== undefined).era
}

function sdkOpinion({ header, json, shape }: Facts): Opinion {
  const request: InboundHttpRequest = { httpMethod: 'POST', body: json }
  const [version, method] = [header('mcp-protocol-version'), header('mcp-method')]
  if (version !== undefined) request.protocolVersionHeader = version
  if (method !== undefined) request.mcpMethodHeader = method
  const outcome = classifyInboundRequest(request)
  if (outcome.kind !== 'reject') return outcome.kind
  // The SDK checks part of the framing of a modern request here; mcpx does so after the era is known.
  const isFraming = shape === 'request' && outcome.rung !== 'jsonrpc-shape'
  return isFraming && outcome.cell !== 'initialize-with-modern-header' ? 'modern' : 'refused'
}

function shown({ sent: { headers, body } }: Facts): string {
  return `${JSON.stringify(headers)} ${body.toString().trim().slice(0, 600)}`
}
