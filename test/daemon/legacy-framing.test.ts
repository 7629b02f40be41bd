// What legacy clients meet at /mcp beyond single requests: batches, verbs, ids, sessions.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exchange, post } from '../peers/exchange.ts'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { fixture } from '../peers/workspace.ts'

const FRIEND = 'https://friend.example'

let gate: Gate
let daemon: Daemon
beforeAll(async () => {
  gate = await openGate()
  const env = { MCPX_HTTP_ALLOWED_ORIGINS: FRIEND }
  daemon = await startDaemon(
    { mcpServers: { one: fixture('legacy-stdio'), two: fixture('legacy-stdio') } },
    env,
  )
})
afterAll(async () => {
  await daemon.stop()
  await gate[Symbol.asyncDispose]()
})

const request = (id: unknown, method: string, params?: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})
const hold = (id: unknown, label: string) =>
  request(id, 'tools/call', { name: 'one__hold', arguments: { gate: gate.url(label) } })
/** The answer, from a JSON body or from the last event of a stream. */
const parsed = ({ body }: { body: string }): JsonObject =>
  JSON.parse(body.startsWith('{') ? body : (/^data: (\{.*)$/m.exec(body)?.[1] ?? ''))
const textOf = (answer: JsonObject) =>
  (answer as { result: { content: { text: string }[] } }).result.content[0]?.text

async function openSession(revision: string): Promise<{ 'mcp-session-id': string }> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  const opened = await post(daemon.url, request(0, 'initialize', params))
  const id = String(opened.headers['mcp-session-id'])
  expect(
    await post(daemon.url, { jsonrpc: '2.0', method: 'notifications/initialized' }, { 'mcp-session-id': id }),
  ).toMatchObject({
    status: 202,
    body: '',
  })
  return { 'mcp-session-id': id }
}

test('case C23: two sessions may use one id at a time, and each gets its own answer', async () => {
  const [first, second] = [await openSession('2025-11-25'), await openSession('2025-11-25')]
  const answers = [post(daemon.url, hold(1, 'first'), first), post(daemon.url, hold(1, 'second'), second)]
  await gate.reached('first')
  await gate.reached('second')
  gate.open('second', 'for the second')
  gate.open('first', 'for the first')
  const [one, two] = (await Promise.all(answers)).map(parsed)
  expect([one, two]).toMatchObject([{ id: 1 }, { id: 1 }])
  expect([textOf(one ?? {}), textOf(two ?? {})]).toEqual(['for the first', 'for the second'])
})

test('case C23: an id that is in flight in the session is refused, and the first request goes on', async () => {
  const session = await openSession('2025-11-25')
  const first = post(daemon.url, hold(1, 'duplicate'), session)
  await gate.reached('duplicate')
  const second = await post(daemon.url, request(1, 'tools/list'), session)
  expect(parsed(second)).toMatchObject({
    id: 1,
    error: { code: -32600, message: expect.stringContaining('in flight') },
  })
  gate.open('duplicate', 'done')
  expect(textOf(parsed(await first))).toBe('done')
  // Answered, the id is free again.
  expect(parsed(await post(daemon.url, request(1, 'tools/list'), session))).toMatchObject({
    id: 1,
    result: {},
  })
})

test('case C24: 1, "1" and 0 are three ids', async () => {
  const session = await openSession('2025-11-25')
  const ids = [1, '1', 0]
  const answers = ids.map((id) => post(daemon.url, hold(id, `id ${JSON.stringify(id)}`), session))
  for (const id of ids) await gate.reached(`id ${JSON.stringify(id)}`)
  for (const id of ids.toReversed()) gate.open(`id ${JSON.stringify(id)}`, `for ${JSON.stringify(id)}`)
  const given = (await Promise.all(answers)).map(parsed)
  expect(given.map((answer) => [answer['id'], textOf(answer)])).toEqual([
    [1, 'for 1'],
    ['1', 'for "1"'],
    [0, 'for 0'],
  ])
})

test('a cancelled request is answered with nothing, and the next one is answered', async () => {
  const session = await openSession('2025-06-18')
  const first = post(daemon.url, hold('x', 'cancelled'), session)
  await gate.reached('cancelled')
  const params = { requestId: 'x', reason: 'changed my mind' }
  await post(daemon.url, { jsonrpc: '2.0', method: 'notifications/cancelled', params }, session)
  expect(await first).toMatchObject({ status: 202, body: '' })
  expect(parsed(await post(daemon.url, request('x', 'ping'), session))).toEqual({
    jsonrpc: '2.0',
    id: 'x',
    result: {},
  })
})

const batches = [
  {
    what: 'requests and a notification, in 2025-03-26',
    revision: '2025-03-26',
    batch: [
      request(1, 'ping'),
      { jsonrpc: '2.0', method: 'notifications/cancelled' },
      request('b', 'tools/list'),
      { id: 3 },
    ],
    status: 200,
    want: [
      { id: 1, result: {} },
      { id: 'b', result: { tools: expect.any(Array) } },
      { id: 3, error: { code: -32600 } },
    ],
  },
  {
    what: 'requests without a session',
    batch: [request(1, 'ping'), request(2, 'ping')],
    status: 200,
    want: [{ id: 1 }, { id: 2 }],
  },
  {
    what: 'notifications',
    revision: '2025-03-26',
    batch: [{ jsonrpc: '2.0', method: 'notifications/x' }],
    status: 202,
  },
  {
    what: 'one id twice',
    revision: '2025-03-26',
    batch: [request(1, 'tools/list'), request(1, 'tools/list')],
    status: 200,
    want: [
      { id: 1, result: {} },
      { id: 1, error: { code: -32600 } },
    ],
  },
  {
    what: 'nothing',
    revision: '2025-03-26',
    batch: [],
    status: 400,
    want: { id: null, error: { code: -32600 } },
  },
  ...['2024-11-05', '2025-06-18', '2025-11-25'].map((revision) => ({
    what: `requests, in ${revision}`,
    revision,
    batch: [request(1, 'ping')],
    status: 400,
    want: { id: null, error: { code: -32600 } },
  })),
  {
    what: 'modern requests',
    batch: [request(1, 'tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } })],
    status: 400,
    want: { error: { code: -32600 } },
  },
]

test.each(batches)('case C36: a batch of $what', async ({ revision, batch, status, want }) => {
  const session = revision === undefined ? {} : await openSession(revision)
  const answer = await post(daemon.url, batch, session)
  expect(answer.status).toBe(status)
  if (want === undefined) expect(answer.body).toBe('')
  else expect(JSON.parse(answer.body)).toMatchObject(want)
})

test.each(['GET', 'DELETE'])('case C44: %s without a session is not allowed', async (verb) => {
  const answer = await exchange(daemon.url, { verb, headers: { accept: 'text/event-stream' } })
  expect(answer.status).toBe(405)
  expect(answer.headers['allow']).toContain('POST')
})

test.each(['PUT', 'PATCH', 'HEAD', 'TRACE'])('case C44: %s is not allowed', async (verb) => {
  const answer = await exchange(daemon.url, { verb })
  expect(answer.status).toBe(405)
  expect(answer.headers['allow']).toContain('POST')
})

test('case C44: a browser of an allowed origin may send what it asks for, and another one nothing', async () => {
  const asked = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'mcp-method,mcp-param-region',
  }
  const allowed = await exchange(daemon.url, { verb: 'OPTIONS', headers: { ...asked, origin: FRIEND } })
  expect(allowed).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': FRIEND,
      'access-control-allow-headers': 'mcp-method,mcp-param-region',
      'access-control-allow-methods': expect.stringContaining('POST'),
    },
  })
  const other = await exchange(daemon.url, {
    verb: 'OPTIONS',
    headers: { ...asked, origin: 'https://evil.example' },
  })
  expect(other.status).toBe(403)
  expect(other.headers['access-control-allow-origin']).toBeUndefined()
})

test('a browser of an allowed origin can read its session and errors', async () => {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  }
  const opened = await post(daemon.url, request(0, 'initialize', params), { origin: FRIEND })
  expect(opened.headers).toMatchObject({
    'access-control-allow-origin': FRIEND,
    'access-control-expose-headers': expect.stringMatching(/Mcp-Session-Id/i),
  })
  expect((await post(daemon.url, '{', { origin: FRIEND })).headers['access-control-allow-origin']).toBe(
    FRIEND,
  )
})

test('a session lives until it is deleted, and only initialize opens one', async () => {
  const session = await openSession('2025-06-18')
  const listed = await post(daemon.url, request(1, 'tools/list'), session)
  expect(listed).toMatchObject({ status: 200 })
  expect((await post(daemon.url, request(1, 'tools/list'))).headers['mcp-session-id']).toBeUndefined()
  expect(await exchange(daemon.url, { verb: 'DELETE', headers: session })).toMatchObject({
    status: expect.toBeOneOf([200, 204]),
  })
  expect(await exchange(daemon.url, { verb: 'DELETE', headers: session })).toMatchObject({ status: 404 })
  const after = await post(daemon.url, request(1, 'tools/list'), session)
  expect(after.status).toBe(404)
  expect(parsed(after)).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining('Session not found') },
  })
})

test('a session of one path is none of another', async () => {
  const session = await openSession('2025-11-25')
  expect(await post(`${daemon.url}/one`, request(1, 'tools/list'), session)).toMatchObject({ status: 404 })
})

const versions = [
  { asked: '2024-11-05', answered: '2024-11-05' },
  { asked: '2025-03-26', answered: '2025-03-26' },
  { asked: '2025-06-18', answered: '2025-06-18' },
  { asked: '2025-11-25', answered: '2025-11-25' },
  { asked: '2026-07-28', answered: '2025-11-25' },
  { asked: '1999-01-01', answered: '2025-11-25' },
  { asked: undefined, answered: '2025-11-25' },
]

test.each(versions)(
  'initialize with $asked is answered with $answered, whatever the header says',
  async ({ asked, answered }) => {
    const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    for (const header of [undefined, '2026-07-28']) {
      const opened = await post(daemon.url, request(1, 'initialize', params), {
        'mcp-protocol-version': header,
      })
      expect(opened).toMatchObject({
        status: 200,
        headers: { 'mcp-session-id': expect.stringMatching(/^[\x21-\x7e]{22,}$/) },
      })
      expect(parsed(opened)).toMatchObject({
        id: 1,
        result: { protocolVersion: answered, serverInfo: { name: 'mcpx' } },
      })
    }
  },
)

test('a version header that names no revision at all is refused', async () => {
  const session = await openSession('2025-11-25')
  const answer = await post(daemon.url, request(1, 'tools/list'), {
    ...session,
    'mcp-protocol-version': 'banana',
  })
  expect(answer.status).toBe(400)
  expect(parsed(answer)).toMatchObject({ id: 1, error: { code: -32600 } })
})

test('what is no JSON, or no request, is answered with a null id', async () => {
  expect(parsed(await post(daemon.url, '{'))).toMatchObject({ id: null, error: { code: -32700 } })
  expect(parsed(await post(daemon.url, '5'))).toMatchObject({ id: null, error: { code: -32600 } })
})

test('a server that does not exist is named', async () => {
  const answer = await post(`${daemon.url}/onne`, request(1, 'ping'))
  expect(answer.status).toBe(404)
  expect(parsed(answer)).toMatchObject({ error: { message: expect.stringContaining('Did you mean "one"?') } })
})
