// What the framing of a modern request has to be, row by row: the status, the error, and the id of the answer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { post } from '../peers/exchange.ts'
import type { Headers } from '../peers/exchange.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { fixture } from '../peers/workspace.ts'

let daemon: Daemon
beforeAll(async () => {
  daemon = await startDaemon(
    { mcpServers: { one: fixture('legacy-stdio'), two: fixture('legacy-stdio') } },
    { MCPX_HTTP_MAX_BODY: '64KiB', MCPX_HTTP_ALLOWED_ORIGINS: 'https://friend.example' },
  )
})
afterAll(() => daemon.stop())

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'

interface Request {
  readonly id: unknown
  readonly method: unknown
  readonly params: JsonObject & { _meta: JsonObject }
}

/** A well-formed request, changed by `change`. */
function requestOf(change: (request: Request) => object = (request) => request): object {
  const _meta = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} }
  return { jsonrpc: '2.0', ...change({ id: 7, method: 'tools/list', params: { _meta } }) }
}

const withMeta = (meta: JsonObject) =>
  requestOf((request) => ({
    ...request,
    params: { ...request.params, _meta: { ...request.params._meta, ...meta } },
  }))
const call = (name: unknown, method = 'tools/call', key = 'name') =>
  requestOf((request) => ({ ...request, method, params: { ...request.params, [key]: name } }))

const HEADERS: Headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
const CALL: Headers = { ...HEADERS, 'mcp-method': 'tools/call' }

interface Row {
  readonly what: string
  readonly body?: unknown
  readonly headers?: Headers
  readonly path?: string
  readonly want: {
    readonly status: number
    readonly code?: number
    readonly data?: object
    /** Absent where the answer must have no id at all. */
    readonly id?: unknown
    readonly says?: RegExp
  }
}

const rows: readonly Row[] = [
  { what: 'well formed', want: { status: 200, id: 7 } },
  ...[0, '0', 1, '1', 'a/b', -5].map((id) => ({
    what: `the id ${JSON.stringify(id)}`,
    body: requestOf((request) => ({ ...request, id })),
    want: { status: 200, id },
  })),
  {
    what: 'an Origin that is not allowed',
    headers: { origin: 'https://evil.example' },
    want: { status: 403, says: /http\.allowedOrigins/ },
  },
  { what: 'an Origin that is', headers: { origin: 'https://friend.example' }, want: { status: 200, id: 7 } },
  {
    what: 'an Origin of this machine',
    headers: { origin: 'http://localhost:5173' },
    want: { status: 200, id: 7 },
  },
  { what: 'the Origin null', headers: { origin: 'null' }, want: { status: 403 } },
  {
    what: 'a Host that is not allowed',
    headers: { host: 'evil.example:80' },
    want: { status: 403, says: /http\.allowedHosts/ },
  },
  {
    what: 'a Host that is not allowed, for a server that does not exist',
    headers: { host: 'evil.example' },
    path: '/three',
    want: { status: 403, says: /http\.allowedHosts/ },
  },
  {
    what: 'a body over the limit',
    body: `"${'x'.repeat(65536)}"`,
    want: { status: 413, code: -32600, says: /http\.maxBody/ },
  },
  { what: 'no JSON', body: '{"jsonrpc":', want: { status: 400, code: -32700 } },
  { what: 'an empty body', body: '', want: { status: 400, code: -32700 } },
  { what: 'a batch', body: [requestOf()], want: { status: 400, code: -32600 } },
  { what: 'an empty batch', body: [], want: { status: 400, code: -32600 } },
  { what: 'a string', body: '"hello"', want: { status: 400, code: -32600 } },
  { what: 'null', body: 'null', want: { status: 400, code: -32600 } },
  {
    what: 'another protocol',
    body: { ...requestOf(), jsonrpc: '1.0' },
    want: { status: 400, code: -32600, id: 7 },
  },
  { what: 'no method', body: requestOf(({ id }) => ({ id })), want: { status: 400, code: -32600, id: 7 } },
  {
    what: 'a method that is a number',
    body: requestOf((request) => ({ ...request, method: 5 })),
    want: { status: 400, code: -32600, id: 7 },
  },
  {
    what: 'an id that is null',
    body: requestOf((request) => ({ ...request, id: null })),
    want: { status: 400, code: -32600 },
  },
  {
    what: 'an id that is an object',
    body: requestOf((request) => ({ ...request, id: {} })),
    want: { status: 400, code: -32600 },
  },
  { what: 'a response', body: { jsonrpc: '2.0', id: 7, result: {} }, want: { status: 400, code: -32600 } },
  {
    what: 'a notification',
    body: requestOf(({ params }) => ({ method: 'notifications/cancelled', params })),
    want: { status: 202 },
  },
  {
    what: 'a request without an id',
    body: requestOf(({ method, params }) => ({ method, params })),
    want: { status: 202 },
  },
  {
    what: 'another version in the header',
    headers: { 'mcp-protocol-version': '2025-11-25' },
    want: { status: 400, code: -32020, id: 7, says: /2025-11-25.*2026-07-28/ },
  },
  {
    what: 'another version in the header, which nobody serves',
    body: withMeta({ [VERSION]: '2099-01-01' }),
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'a version that is not served',
    body: withMeta({ [VERSION]: '2099-01-01' }),
    headers: { 'mcp-protocol-version': '2099-01-01' },
    want: { status: 400, code: -32022, id: 7, data: { supported: ['2026-07-28'], requested: '2099-01-01' } },
  },
  {
    what: 'a legacy version',
    body: withMeta({ [VERSION]: '2025-11-25' }),
    headers: { 'mcp-protocol-version': '2025-11-25' },
    want: { status: 400, code: -32022, id: 7, data: { supported: ['2026-07-28'], requested: '2025-11-25' } },
  },
  {
    what: 'a version that is not served, and no capabilities',
    body: withMeta({ [VERSION]: '2099-01-01', [CAPABILITIES]: 1 }),
    headers: { 'mcp-protocol-version': undefined },
    want: { status: 400, code: -32022, id: 7 },
  },
  {
    what: 'no version in the body',
    body: requestOf((request) => ({ ...request, params: {} })),
    want: { status: 400, code: -32602, id: 7, says: /protocolVersion/ },
  },
  {
    what: 'no params',
    body: requestOf(({ id, method }) => ({ id, method })),
    want: { status: 400, code: -32602, id: 7 },
  },
  {
    what: 'discover without a version anywhere',
    body: requestOf(({ id }) => ({ id, method: 'server/discover' })),
    headers: { 'mcp-protocol-version': undefined, 'mcp-method': undefined },
    want: { status: 400, code: -32602, id: 7 },
  },
  {
    what: 'no capabilities',
    body: withMeta({ [CAPABILITIES]: undefined }),
    want: { status: 400, code: -32602, id: 7, says: /clientCapabilities/ },
  },
  {
    what: 'capabilities that are a list',
    body: withMeta({ [CAPABILITIES]: [] }),
    want: { status: 400, code: -32602, id: 7 },
  },
  {
    what: 'a log level that is none',
    body: withMeta({ [LOG_LEVEL]: 'loud' }),
    want: { status: 400, code: -32602, id: 7, says: /logLevel/ },
  },
  { what: 'a log level', body: withMeta({ [LOG_LEVEL]: 'warning' }), want: { status: 200, id: 7 } },
  {
    what: 'no version header',
    headers: { 'mcp-protocol-version': undefined },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'no method header',
    headers: { 'mcp-method': undefined },
    want: { status: 400, code: -32020, id: 7, says: /Mcp-Method is missing/ },
  },
  {
    what: 'another method in the header',
    headers: { 'mcp-method': 'tools/call' },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'the method header twice, alike',
    headers: { 'mcp-method': ['tools/list', 'tools/list'] },
    want: { status: 200, id: 7 },
  },
  {
    what: 'the method header twice, unlike',
    headers: { 'mcp-method': ['tools/list', 'tools/call'] },
    want: { status: 400, code: -32020, id: 7, says: /tools\/list.*tools\/call/ },
  },
  {
    what: 'the version header twice, unlike',
    headers: { 'mcp-protocol-version': ['2026-07-28', '2025-11-25'] },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'a call without its name in the header',
    body: call('one__echo'),
    headers: CALL,
    want: { status: 400, code: -32020, id: 7, says: /Mcp-Name is missing/ },
  },
  {
    what: 'a call with another name in the header',
    body: call('one__echo'),
    headers: { ...CALL, 'mcp-name': 'one__fail' },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'a call with its name in the header',
    body: call('one__echo'),
    headers: { ...CALL, 'mcp-name': 'one__echo' },
    want: { status: 200, id: 7 },
  },
  {
    what: 'a call with its name in base64',
    body: call('one__echo'),
    headers: { ...CALL, 'mcp-name': '=?base64?b25lX19lY2hv?=' },
    want: { status: 200, id: 7 },
  },
  {
    what: 'a call with a broken base64',
    body: call('one__echo'),
    headers: { ...CALL, 'mcp-name': '=?base64?b25lX19lY2h?=' },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'a call with the name twice, unlike',
    body: call('one__echo'),
    headers: { ...CALL, 'mcp-name': ['one__echo', 'x'] },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'a call whose name is no text',
    body: call(5),
    headers: CALL,
    want: { status: 200, code: -32602, id: 7 },
  },
  {
    what: 'a prompt without its name in the header',
    body: call('p', 'prompts/get'),
    headers: { ...HEADERS, 'mcp-method': 'prompts/get' },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'a read with another URI in the header',
    body: call('file:///a,b', 'resources/read', 'uri'),
    headers: { ...HEADERS, 'mcp-method': 'resources/read', 'mcp-name': 'file:///a' },
    want: { status: 400, code: -32020, id: 7 },
  },
  {
    what: 'a read of a URI with a comma',
    body: call('file:///a, b', 'resources/read', 'uri'),
    headers: { ...HEADERS, 'mcp-method': 'resources/read', 'mcp-name': 'file:///a, b' },
    want: { status: 200, code: -32602, id: 7, says: /file:\/\/\/a, b/ },
  },
  ...['ping', 'initialize', 'logging/setLevel', 'resources/subscribe', 'no/such/method'].map((method) => ({
    what: `the method ${method}`,
    body: requestOf((request) => ({ ...request, method })),
    headers: { ...HEADERS, 'mcp-method': method },
    want: { status: 404, code: -32601, id: 7 },
  })),
  {
    what: 'a method that its one server does not know',
    path: '/one',
    body: requestOf((request) => ({ ...request, method: 'no/such/method' })),
    headers: { ...HEADERS, 'mcp-method': 'no/such/method' },
    want: { status: 404, code: -32601, id: 7 },
  },
  {
    what: 'a tool that nobody has',
    body: call('nobody__has'),
    headers: { ...CALL, 'mcp-name': 'nobody__has' },
    want: { status: 200, code: -32602, id: 7 },
  },
  { what: 'an Accept that allows neither', headers: { accept: 'text/html' }, want: { status: 406 } },
  { what: 'an Accept of JSON only', headers: { accept: 'application/json' }, want: { status: 200, id: 7 } },
  { what: 'an Accept of anything', headers: { accept: '*/*' }, want: { status: 200, id: 7 } },
  { what: 'no Accept', headers: { accept: undefined }, want: { status: 200, id: 7 } },
  {
    what: 'a body that is no JSON by its type',
    headers: { 'content-type': 'text/plain' },
    want: { status: 415 },
  },
  {
    what: 'a charset',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    want: { status: 200, id: 7 },
  },
  {
    what: 'a session that does not exist',
    headers: { 'mcp-session-id': 'nobody' },
    want: { status: 200, id: 7 },
  },
]

test.each(rows)('$what', async ({ body = requestOf(), headers, path = '', want }) => {
  const answer = await post(`${daemon.url}${path}`, body, { ...HEADERS, ...headers })
  const { status, code, data, says } = want
  const message = answer.body === '' ? {} : (JSON.parse(answer.body) as JsonObject)
  const error = message['error'] as { code: number; message: string; data?: unknown } | undefined
  expect({ status: answer.status, code: error?.code }).toEqual({ status, code: code ?? error?.code })
  expect(error === undefined).toBe(status < 300 && code === undefined)
  expect('id' in message ? [message['id']] : []).toEqual('id' in want ? [want.id] : [])
  if (data !== undefined) expect(error?.data).toEqual(data)
  if (says !== undefined) expect(error?.message).toMatch(says)
  expect(answer.headers['mcp-session-id']).toBeUndefined()
})

test('a result is complete, signed, and says how long it may be kept', async () => {
  const { body } = await post(daemon.url, requestOf(), HEADERS)
  expect(JSON.parse(body).result).toMatchObject({
    resultType: 'complete',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'mcpx' } },
    ttlMs: expect.any(Number),
    cacheScope: 'private',
  })
})

test('what a caller sent is clipped where it is repeated', async () => {
  const method = 'x'.repeat(5000)
  const { body } = await post(
    daemon.url,
    requestOf((request) => ({ ...request, method })),
    { ...HEADERS, 'mcp-method': method },
  )
  expect(body.length).toBeLessThan(300)
})
