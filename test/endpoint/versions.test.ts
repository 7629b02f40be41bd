// Every claim that a client can make of its version, in every place where a version can stand, and the answer to each.
// 2026-07-28 basic/versioning and basic/transports/streamable-http; 2025-11-25 basic/lifecycle and basic/transports.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveStdio } from '../../src/endpoint/index.ts'
import { post } from '../peers/exchange.ts'
import type { Headers } from '../peers/exchange.ts'
import { openTarget } from './fuzz/target.ts'
import type { Target } from './fuzz/target.ts'

const V = '2026-07-28'
const OLDER = '2025-11-25'
const MARKER = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** What is claimed, by the column that it stands in. */
const CLAIMS = {
  newest: [V],
  known: ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'],
  later: ['2027-01-01', '9999-12-31'],
  earlier: ['1999-01-01', '2025-11-26'],
  nonsense: ['banana', '2026-13-45', '2026-07-28T00:00:00Z', `${V}, ${V}`],
  empty: [''],
  wrongType: [5, null, true, {}, [V]],
  absent: [undefined],
} as const
type Column = keyof typeof CLAIMS

interface Want {
  /** HTTP only. */
  readonly status: number
  readonly code?: number
  readonly era?: 'legacy' | 'modern'
  /** What `initialize` is answered with; `same` is what was asked for. */
  readonly agreed?: string
  readonly namesSupported?: true
}

const legacy: Want = { status: 200, era: 'legacy' }
const modern: Want = { status: 200, era: 'modern' }
/** The version that mcpx would rather speak, never an error. */
const other: Want = { status: 200, era: 'legacy', agreed: OLDER }
const same: Want = { status: 200, era: 'legacy', agreed: 'same' }
const invalidHeader: Want = { status: 400, code: -32600 }
const malformed: Want = { status: 400, code: -32602 }
const mismatch: Want = { status: 400, code: -32020 }
const unsupported: Want = { status: 400, code: -32022, namesSupported: true }
/** A header is text, and not sent is no claim of another type. */
const none = undefined

interface Sent {
  readonly message: object
  /** Undefined: over stdio. */
  readonly headers: Headers | undefined
  readonly inSession?: true
}

interface Place {
  readonly place: string
  readonly sent: (claim: unknown) => Sent
  readonly answers: Readonly<Record<Column, Want | undefined>>
}

const list = (claim?: unknown, method = 'tools/list') => ({
  ...{ jsonrpc: '2.0', id: 7, method },
  ...(claim === undefined ? {} : { params: { _meta: { [MARKER]: claim, [CAPABILITIES]: {} } } }),
})
const initialize = (protocolVersion: unknown) => ({
  ...{ jsonrpc: '2.0', id: 7, method: 'initialize' },
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'table', version: '1' } },
})
const named = (version: unknown, method = 'tools/list'): Headers => ({
  'mcp-protocol-version': typeof version === 'string' ? version : undefined,
  'mcp-method': method,
})
const bare: Headers = {}

const OPENING = {
  newest: other,
  known: same,
  later: other,
  earlier: other,
  nonsense: other,
  empty: other,
  wrongType: other,
  absent: other,
}
const MARKED = {
  newest: modern,
  known: unsupported,
  later: unsupported,
  earlier: unsupported,
  nonsense: unsupported,
}

const PLACES: readonly Place[] = [
  {
    place: 'HTTP: params of initialize',
    sent: (claim) => ({ message: initialize(claim), headers: bare }),
    answers: OPENING,
  },
  {
    place: 'HTTP: params of initialize, beside a modern header',
    sent: (claim) => ({ message: initialize(claim), headers: named(V) }),
    answers: OPENING,
  },
  {
    place: 'HTTP: params of initialize, beside a header of no revision',
    sent: (claim) => ({ message: initialize(claim), headers: named('banana') }),
    answers: OPENING,
  },
  {
    place: 'HTTP: the header, without a session',
    sent: (claim) => ({ message: list(), headers: named(claim) }),
    answers: {
      newest: malformed,
      known: legacy,
      later: malformed,
      earlier: invalidHeader,
      nonsense: invalidHeader,
      empty: invalidHeader,
      wrongType: none,
      absent: legacy,
    },
  },
  {
    place: 'HTTP: the header, within a session',
    sent: (claim) => ({ message: list(), headers: named(claim), inSession: true }),
    answers: {
      newest: legacy,
      known: legacy,
      later: legacy,
      earlier: invalidHeader,
      nonsense: invalidHeader,
      empty: invalidHeader,
      wrongType: none,
      absent: legacy,
    },
  },
  {
    place: 'HTTP: the header of discover, without a marker',
    sent: (claim) => ({
      message: list(undefined, 'server/discover'),
      headers: named(claim, 'server/discover'),
    }),
    answers: {
      newest: malformed,
      known: malformed,
      later: malformed,
      earlier: malformed,
      nonsense: malformed,
      empty: malformed,
      wrongType: none,
      absent: malformed,
    },
  },
  {
    place: 'HTTP: marker and header alike',
    sent: (claim) => ({ message: list(claim), headers: named(claim) }),
    answers: { ...MARKED, empty: invalidHeader, wrongType: legacy, absent: legacy },
  },
  {
    place: 'HTTP: marker and header alike, within a session',
    sent: (claim) => ({ message: list(claim), headers: named(claim), inSession: true }),
    answers: { ...MARKED, empty: invalidHeader, wrongType: legacy, absent: legacy },
  },
  {
    place: 'HTTP: the marker alone',
    sent: (claim) => ({ message: list(claim), headers: bare }),
    answers: { ...MARKED, newest: mismatch, empty: legacy, wrongType: legacy, absent: legacy },
  },
  {
    place: 'HTTP: the marker, beside the newest version in the header',
    sent: (claim) => ({ message: list(claim), headers: named(V) }),
    answers: {
      newest: modern,
      known: mismatch,
      later: mismatch,
      earlier: mismatch,
      nonsense: mismatch,
      empty: malformed,
      wrongType: malformed,
      absent: malformed,
    },
  },
  {
    place: 'HTTP: the header, beside the newest version in the marker',
    sent: (claim) => ({ message: list(V), headers: named(claim) }),
    answers: {
      newest: modern,
      known: mismatch,
      later: mismatch,
      earlier: mismatch,
      nonsense: mismatch,
      empty: mismatch,
      wrongType: none,
      absent: mismatch,
    },
  },
  {
    place: 'HTTP: the marker of discover',
    sent: (claim) => ({ message: list(claim, 'server/discover'), headers: named(claim, 'server/discover') }),
    answers: { ...MARKED, empty: malformed, wrongType: malformed, absent: malformed },
  },
  {
    place: 'stdio: params of initialize',
    sent: (claim) => ({ message: initialize(claim), headers: undefined }),
    answers: OPENING,
  },
  {
    place: 'stdio: the marker',
    sent: (claim) => ({ message: list(claim), headers: undefined }),
    answers: { ...MARKED, empty: legacy, wrongType: legacy, absent: legacy },
  },
  {
    place: 'stdio: the marker of discover',
    sent: (claim) => ({ message: list(claim, 'server/discover'), headers: undefined }),
    answers: { ...MARKED, empty: malformed, wrongType: malformed, absent: malformed },
  },
]

const rows = PLACES.flatMap(({ place, sent, answers }) =>
  (Object.keys(CLAIMS) as Column[]).flatMap((column) => {
    const want = answers[column]
    if (want === undefined) return []
    return CLAIMS[column].map((claim: unknown) => ({
      place,
      claim,
      shown: JSON.stringify(claim) ?? 'nothing',
      sent,
      want,
    }))
  }),
)

let target: Target
let url: string
beforeAll(async () => {
  target = await openTarget()
  url = `http://127.0.0.1:${target.port}/mcp`
})
afterAll(() => target[Symbol.asyncDispose]())

interface Answer {
  readonly id: unknown
  readonly result?: { readonly protocolVersion?: string; readonly _meta?: object }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

test.each(rows)('$place: $shown', async ({ claim, sent, want }) => {
  const { message, headers, inSession } = sent(claim)
  const session = inSession === true ? await openSession() : undefined
  const { status, answer } =
    headers === undefined
      ? await overPipe(message)
      : await overHttp(message, { ...headers, 'mcp-session-id': session })
  const { code, era, agreed, namesSupported } = want
  expect({ status, id: answer.id, code: answer.error?.code }).toEqual({
    status: headers === undefined ? undefined : want.status,
    id: 7,
    code,
  })
  const signed = answer.result?._meta !== undefined
  if (era !== undefined) expect(signed).toBe(era === 'modern')
  expect(answer.result?.protocolVersion).toBe(agreed === 'same' ? claim : agreed)
  if (namesSupported) expect(answer.error?.data).toEqual({ supported: [V], requested: claim })
  else expect(answer.error?.data).toBeUndefined()
})

async function overHttp(
  message: object,
  headers: Headers,
): Promise<{ status: number | undefined; answer: Answer }> {
  const { status, body } = await post(url, message, { accept: 'application/json', ...headers })
  return { status, answer: JSON.parse(body) as Answer }
}

async function openSession(): Promise<string> {
  const { headers } = await post(url, initialize(OLDER))
  return String(headers['mcp-session-id'])
}

/** The stdio endpoint on both directions of one socket; the first line that comes back is the answer. */
async function overPipe(message: object): Promise<{ status: undefined; answer: Answer }> {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [serving] = (await once(server, 'connection')) as [Socket]
  const served = serveStdio(target.options, serving, serving)
  client.end(`${JSON.stringify(message)}\n`)
  const [line] = (await once(createInterface({ input: client }), 'line')) as [string]
  await served
  client.destroy()
  serving.destroy()
  server.close()
  return { status: undefined, answer: JSON.parse(line) as Answer }
}
