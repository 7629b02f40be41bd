// The tables that say how a request is answered, as rows in their order: the first that is met gives the answer.
import { CAPABILITIES, LEVEL, V } from './draft.ts'
import type { Json } from './draft.ts'
import { ABSENT, isObject, readMessage } from './facts.ts'
import type { Facts } from './facts.ts'
import {
  batchIsModern,
  bodyName,
  handlerRefuses,
  headerName,
  LEGACY_METHODS,
  legacyHas,
  paramsDiffer,
  refusesLegacy,
} from './rules.ts'

export interface Answer {
  readonly status: number
  /** What the body holds. */
  readonly holds: 'nothing' | 'anything' | 'error' | 'result' | 'batch'
  readonly code?: number
  /** ABSENT: no such member. A batch has a list of them. */
  readonly id?: unknown
  readonly data?: unknown
  readonly opensSession?: true
}

export interface Row {
  readonly row: string
  readonly met: (facts: Facts) => boolean
  readonly answer: (facts: Facts) => Answer
}

const fails =
  (status: number, code: number, data?: unknown) =>
  (facts: Facts): Answer => ({
    status,
    holds: 'error',
    code,
    id: facts.id,
    ...(data === undefined ? {} : { data }),
  })
/** The same before the body is read: the header alone tells whether there is an id. */
const failsUnread =
  (status: number, code: number) =>
  ({ modernHeader }: Facts): Answer => ({ status, holds: 'error', code, id: modernHeader ? ABSENT : null })
const empty = (status: number) => (): Answer => ({ status, holds: 'nothing' })
const answers = ({ id }: Facts): Answer => ({ status: 200, holds: 'result', id })

/** Both eras, before the era of the message is known. */
const FRONT: readonly Row[] = [
  {
    row: 'no HTTP: a missing Host, a byte that no header may have',
    met: ({ header, sent }) =>
      header('host') === undefined || sent.headers.some(([, value]) => value.includes('\x01')),
    answer: () => ({ status: 400, holds: 'anything' }),
  },
  {
    row: 'Origin present and not allowed',
    met: ({ header }) =>
      ![undefined, 'https://friend.example', 'http://localhost:5173'].includes(header('origin')),
    answer: failsUnread(403, -32600),
  },
  {
    row: 'Host not allowed',
    met: ({ header }) => !/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(header('host') ?? ''),
    answer: failsUnread(403, -32600),
  },
  { row: 'a preflight', met: ({ sent }) => sent.verb === 'OPTIONS', answer: empty(204) },
  {
    row: 'a credential that is not good',
    met: ({ header }) => header('authorization') === 'Bearer wrong',
    answer: failsUnread(401, -32600),
  },
  {
    row: 'GET, DELETE of a session that is over',
    met: ({ sent, header }) =>
      ['GET', 'DELETE'].includes(sent.verb) && header('mcp-session-id') !== undefined,
    answer: failsUnread(404, -32600),
  },
  { row: 'another verb', met: ({ sent }) => sent.verb !== 'POST', answer: failsUnread(405, -32600) },
  {
    row: 'Accept that allows neither',
    met: ({ header }) =>
      !/application\/(json|\*)|text\/(event-stream|\*)|\*\/\*/i.test(header('accept') ?? '*/*'),
    answer: failsUnread(406, -32600),
  },
  {
    row: 'Content-Type other than JSON',
    met: ({ header }) => !/^application\/json\s*(;|$)/i.test(header('content-type') ?? ''),
    answer: failsUnread(415, -32600),
  },
  {
    row: 'body over the limit',
    met: ({ sent, world }) => sent.body.length > world.maxBody,
    answer: failsUnread(413, -32600),
  },
  { row: 'not JSON', met: ({ json }) => json === ABSENT, answer: failsUnread(400, -32700) },
  {
    row: 'a batch with anything modern in it',
    met: (facts) => Array.isArray(facts.json) && batchIsModern(facts),
    answer: failsUnread(400, -32600),
  },
  {
    row: 'a batch that is empty, or in a revision without them',
    met: ({ json, revision }) => Array.isArray(json) && (json.length === 0 || revision !== '2025-03-26'),
    answer: failsUnread(400, -32600),
  },
  {
    row: 'a batch that names no revision, or a session that is over',
    met: (facts) => Array.isArray(facts.json) && refusesLegacy(facts) !== undefined,
    answer: (facts) => ({ ...failsUnread(400, -32600)(facts), status: refusesLegacy(facts) ?? 0 }),
  },
  { row: 'a batch', met: ({ json }) => Array.isArray(json), answer: batchAnswer },
  { row: 'not a message', met: ({ shape }) => shape === 'invalid', answer: fails(400, -32600) },
  {
    row: 'a response, in the modern era',
    met: ({ shape, modernHeader, session }) => shape === 'response' && modernHeader && session === undefined,
    answer: failsUnread(400, -32600),
  },
  { row: 'a response, in the legacy era', met: ({ shape }) => shape === 'response', answer: empty(202) },
  { row: 'notification', met: ({ shape }) => shape === 'notification', answer: empty(202) },
]

const MODERN_METHODS: readonly string[] = [
  ...['server/discover', 'subscriptions/listen', 'tools/list', 'tools/call', 'prompts/list', 'prompts/get'],
  ...['resources/list', 'resources/templates/list', 'resources/read', 'completion/complete'],
]

/** The framing of a modern request. */
const MODERN: readonly Row[] = [
  { row: 'no marker', met: ({ marker }) => marker === undefined, answer: fails(400, -32602) },
  {
    row: 'MCP-Protocol-Version present and not equal to the body’s',
    met: ({ values, marker }) => values('mcp-protocol-version')?.some((value) => value !== marker) === true,
    answer: fails(400, -32020),
  },
  {
    row: 'version not served',
    met: ({ marker }) => marker !== V,
    answer: (facts) => fails(400, -32022, { supported: [V], requested: facts.marker })(facts),
  },
  {
    row: 'clientCapabilities missing or not an object',
    met: ({ meta }) => !isObject(meta[CAPABILITIES]),
    answer: fails(400, -32602),
  },
  {
    row: 'a logLevel that is no level',
    met: ({ meta }) => ![undefined, 'debug', 'warning'].includes(meta[LEVEL] as undefined),
    answer: fails(400, -32602),
  },
  {
    row: 'MCP-Protocol-Version missing',
    met: ({ values }) => values('mcp-protocol-version') === undefined,
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Method missing',
    met: ({ values }) => values('mcp-method') === undefined,
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Method repeated with different values',
    met: ({ values }) => values('mcp-method')?.length !== 1,
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Method of illegal bytes',
    met: ({ values }) => /[^\t\x20-\x7e]/.test(values('mcp-method')?.[0] ?? ''),
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Method not equal to the body',
    met: ({ values, method }) => values('mcp-method')?.[0] !== method,
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Name missing',
    met: (facts) => bodyName(facts) !== undefined && facts.values('mcp-name') === undefined,
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Name repeated with different values',
    met: (facts) => bodyName(facts) !== undefined && facts.values('mcp-name')?.length !== 1,
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Name of illegal bytes or base64',
    met: (facts) => bodyName(facts) !== undefined && headerName(facts) === undefined,
    answer: fails(400, -32020),
  },
  {
    row: 'Mcp-Name not equal to the body',
    met: (facts) => bodyName(facts) !== undefined && headerName(facts) !== bodyName(facts),
    answer: fails(400, -32020),
  },
  {
    row: 'method unknown to the modern revision',
    met: ({ method }) =>
      !MODERN_METHODS.includes(method) && !LEGACY_METHODS.has(method) && method !== 'initialize',
    answer: fails(404, -32601),
  },
  {
    row: 'method removed by the modern revision',
    met: ({ method }) => !MODERN_METHODS.includes(method),
    answer: fails(404, -32601),
  },
  { row: 'Mcp-Param-* against the annotations', met: paramsDiffer, answer: fails(400, -32020) },
  {
    row: 'needs a capability that the request did not declare',
    met: ({ method, params, meta }) =>
      method === 'tools/call' &&
      params['name'] === 'asks' &&
      !isObject((meta[CAPABILITIES] as Json)['elicitation']),
    answer: fails(400, -32021, { requiredCapabilities: { elicitation: {} } }),
  },
  { row: 'a handler’s own error', met: handlerRefuses, answer: fails(200, -32602) },
  { row: 'handler', met: () => true, answer: answers },
]

/** A legacy request. */
const LEGACY: readonly Row[] = [
  {
    row: 'initialize',
    met: ({ method }) => method === 'initialize',
    answer: (facts) => ({ ...answers(facts), opensSession: true }),
  },
  {
    row: 'a version header that names no revision',
    met: (facts) => refusesLegacy(facts) === 400,
    answer: fails(400, -32600),
  },
  { row: 'a session that is over', met: (facts) => refusesLegacy(facts) === 404, answer: fails(404, -32600) },
  { row: 'ping', met: ({ method }) => method === 'ping', answer: answers },
  {
    row: 'a level that is none',
    met: ({ method, params }) =>
      method === 'logging/setLevel' && !['info', 'error'].includes(params['level'] as string),
    answer: fails(200, -32602),
  },
  { row: 'a level', met: ({ method }) => method === 'logging/setLevel', answer: answers },
  {
    row: 'a method that the legacy revision does not have',
    met: (facts) => !legacyHas(facts, facts.method),
    answer: fails(200, -32601),
  },
  { row: 'a legacy handler’s own error', met: handlerRefuses, answer: fails(200, -32602) },
  { row: 'a legacy handler', met: () => true, answer: answers },
]

export const ROWS: readonly string[] = [...FRONT, ...MODERN, ...LEGACY].map(({ row }) => row)

/** The row that a request meets. */
export function rowOf(facts: Facts): Row {
  const own = facts.era === 'modern' ? MODERN : LEGACY
  const found = FRONT.find(({ met }) => met(facts)) ?? own.find(({ met }) => met(facts))
  if (found === undefined) throw new Error('the tables have no row for this')
  return found
}

function batchAnswer({ json }: Facts): Answer {
  const ids = (json as unknown[]).flatMap((element) => {
    const { shape, message } = readMessage(element)
    const { id } = message
    if (shape === 'invalid') return [typeof id === 'string' || typeof id === 'number' ? id : null]
    return shape === 'request' ? [id] : []
  })
  return ids.length === 0 ? { status: 202, holds: 'nothing' } : { status: 200, holds: 'batch', id: ids }
}
