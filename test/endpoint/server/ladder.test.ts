// What the framing of a modern request has to be, in every adapter, and what is left to the old server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../../src/endpoint/server/index.ts'
import type { ModernEraOptions } from '../../../src/endpoint/server/index.ts'
import { ADAPTERS, adapters, legacy, modern } from './upgraded.ts'
import type { Upgraded } from './upgraded.ts'

const OPTIONS: ModernEraOptions = {
  serverInfo: { name: 'hand', version: '1.0.0' },
  capabilities: { tools: {} },
  instructions: 'Be kind.',
  methods: {
    'tools/list': () => ({
      tools: [
        { name: 'add', inputSchema: { type: 'object' } },
        {
          name: 'query',
          inputSchema: {
            type: 'object',
            properties: {
              region: { type: 'string', 'x-mcp-header': 'Region' },
              limit: { type: 'integer', 'x-mcp-header': 'Limit' },
            },
          },
        },
      ],
    }),
    'tools/call': ({ name }) => {
      if (name === 'ask') throw needs('elicitation.url')
      if (name === 'missing') throw Object.assign(new Error('Unknown tool'), { code: -32602, data: { name } })
      if (name === 'nothing') throw Object.assign(new Error('No such method'), { code: -32601 })
      if (name === 'crash') throw new Error('a secret')
      if (name === 'text') return 'no object' as unknown as object
      if (name === 'bigint') return { content: [1n] }
      return { content: [{ type: 'text', text: `called ${String(name)}` }] }
    },
    'resources/read': ({ uri }) => {
      throw Object.assign(new Error(`No ${String(uri)}`), { code: -32002 })
    },
    'acme/own': () => ({ own: true }),
    ping: () => ({}),
  },
  origin: { allowed: ['https://friend.example'], hosts: ['server.test'] },
  maxBody: 5000,
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const NOTIFICATION = JSON.stringify({
  jsonrpc: '2.0',
  method: 'x',
  params: { _meta: { [VERSION]: '2026-07-28' } },
})
const call = (name: unknown, headers: object = {}, args: object = {}) =>
  modern('tools/call', { name, arguments: args }, { headers })
const params = (headers: object, args: object) => call('query', headers, args)

interface Row {
  readonly what: string
  readonly send: RequestInit
  readonly status: number
  readonly code?: number
  readonly error?: object
  /** Undefined where the answer must have no id at all. */
  readonly id?: unknown
  readonly body?: unknown
}

const bare = (body: string): RequestInit => ({ ...modern('tools/list'), body })
const marked = `"params":{"_meta":{"${VERSION}":"2026-07-28"}}`

const ROWS: readonly Row[] = [
  { what: 'a call', send: call('add'), status: 200, id: 1 },
  { what: 'a string id', send: modern('tools/list', {}, { id: '1' }), status: 200, id: '1' },
  { what: 'id 0', send: modern('tools/list', {}, { id: 0 }), status: 200, id: 0 },
  { what: 'a method of the author', send: modern('acme/own'), status: 200, id: 1 },
  {
    what: 'an origin that is allowed',
    send: call('add', { origin: 'https://friend.example' }),
    status: 200,
    id: 1,
  },
  {
    what: 'an origin on this machine',
    send: call('add', { origin: 'http://localhost:6274' }),
    status: 200,
    id: 1,
  },
  {
    what: 'another origin',
    send: call('add', { origin: 'https://evil.example' }),
    status: 403,
    code: -32600,
  },
  { what: 'origin null', send: call('add', { origin: 'null' }), status: 403, code: -32600 },
  { what: 'JSON alone accepted', send: call('add', { accept: 'application/json' }), status: 200, id: 1 },
  { what: 'a stream alone accepted', send: call('add', { accept: 'text/event-stream' }), status: 200, id: 1 },
  { what: 'neither accepted', send: call('add', { accept: 'text/html' }), status: 406, code: -32600 },
  { what: 'a notification', send: { ...call('add'), body: NOTIFICATION }, status: 202, body: '' },
  {
    what: 'a batch',
    send: bare(`[{"jsonrpc":"2.0","id":1,"method":"x",${marked}}]`),
    status: 400,
    code: -32600,
  },
  {
    what: 'id null',
    send: bare(`{"jsonrpc":"2.0","id":null,"method":"x",${marked}}`),
    status: 400,
    code: -32600,
  },
  { what: 'no jsonrpc', send: bare(`{"id":5,"method":"x",${marked}}`), status: 400, code: -32600, id: 5 },
  {
    what: 'another version in the header',
    send: modern('tools/list', {}, { headers: { 'mcp-protocol-version': '2025-06-18' } }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    what: 'a version that is not served',
    send: modern(
      'tools/list',
      {},
      { meta: { protocolVersion: '2031-01-01' }, headers: { 'mcp-protocol-version': '2031-01-01' } },
    ),
    status: 400,
    error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2031-01-01' } },
    id: 1,
  },
  {
    what: 'no capabilities',
    send: modern('tools/list', {}, { meta: { clientCapabilities: undefined } }),
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    what: 'no level',
    send: modern('tools/list', {}, { meta: { logLevel: 'loud' } }),
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    what: 'no version header',
    send: modern('tools/list', {}, { headers: { 'mcp-protocol-version': undefined } }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    what: 'no method header',
    send: modern('tools/list', {}, { headers: { 'mcp-method': undefined } }),
    status: 400,
    code: -32020,
    id: 1,
  },
  { what: 'another name', send: call('add', { 'mcp-name': 'sub' }), status: 400, code: -32020, id: 1 },
  {
    what: 'a name in base64',
    send: call('größe', { 'mcp-name': '=?base64?Z3LDtsOfZQ==?=' }),
    status: 200,
    id: 1,
  },
  {
    what: 'bad base64',
    send: call('größe', { 'mcp-name': '=?base64?Z3LDtsOfZQ?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    what: 'parameters in headers',
    send: params({ 'mcp-param-region': 'eu', 'mcp-param-limit': '5.0' }, { region: 'eu', limit: 5 }),
    status: 200,
    id: 1,
  },
  { what: 'no parameters, no headers', send: params({}, {}), status: 200, id: 1 },
  {
    what: 'a parameter without its header',
    send: params({}, { region: 'eu' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    what: 'a parameter that differs',
    send: params({ 'mcp-param-region': 'us' }, { region: 'eu' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  { what: 'an unknown method', send: modern('acme/other'), status: 404, code: -32601, id: 1 },
  { what: 'a method without a function', send: modern('prompts/list'), status: 404, code: -32601, id: 1 },
  { what: 'a method of objects', send: modern('toString'), status: 404, code: -32601, id: 1 },
  { what: 'a modern initialize', send: modern('initialize'), status: 404, code: -32601, id: 1 },
  { what: 'a removed method that the author lists', send: modern('ping'), status: 404, code: -32601, id: 1 },
  { what: "a method's own -32601", send: call('nothing'), status: 404, code: -32601, id: 1 },
  {
    what: 'a capability that is missing',
    send: call('ask'),
    status: 400,
    error: { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } },
    id: 1,
  },
  {
    what: "a method's own error",
    send: call('missing'),
    status: 200,
    error: { code: -32602, message: 'Unknown tool', data: { name: 'missing' } },
    id: 1,
  },
  {
    what: 'an exception, of which nothing is told',
    send: call('crash'),
    status: 200,
    error: { code: -32603, message: 'Internal error' },
    id: 1,
  },
  { what: 'a result that is no object', send: call('text'), status: 200, code: -32603, id: 1 },
  { what: 'a result that is no JSON', send: call('bigint'), status: 200, code: -32603, id: 1 },
  {
    what: 'a resource that is not there, as legacy code says it',
    send: modern('resources/read', { uri: 'a:b' }),
    status: 200,
    error: { code: -32602, message: 'No a:b', data: { uri: 'a:b' } },
    id: 1,
  },
]

describe.each(adapters)('%s', (adapter) => {
  let server: Upgraded
  beforeAll(async () => {
    server = await ADAPTERS[adapter](OPTIONS)
  })
  afterAll(() => server.stop())

  test.each(ROWS)('$what: $status', async ({ send, status, code, error, id, body }) => {
    const response = await server.send(send)
    const text = await response.text()
    expect(response.headers.get('x-old'), text).toBeNull()
    expect(response.status, text).toBe(status)
    expect(response.headers.get('mcp-session-id')).toBeNull()
    if (body !== undefined) return expect(text).toBe(body)
    const message = JSON.parse(text) as Record<string, unknown>
    expect(message['id']).toEqual(id)
    expect('id' in message).toBe(id !== undefined)
    if (code === undefined && error === undefined) expect(message).toHaveProperty('result')
    else expect(message['error']).toMatchObject(error ?? { code })
  })

  test('discover is made from the options, with what the revision demands of results', async () => {
    const response = await server.send(modern('server/discover'))
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        instructions: 'Be kind.',
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hand', version: '1.0.0' } },
      },
    })
  })

  test('a page of an allowed origin may read the answer', async () => {
    const response = await server.send(call('add', { origin: 'https://friend.example' }))
    expect(response.headers.get('access-control-allow-origin')).toBe('https://friend.example')
    const other = await server.send(call('add', { origin: 'https://evil.example' }))
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
  })

  test.each([
    ['initialize', legacy('initialize', { protocolVersion: '2025-06-18' })],
    ['initialize with the modern header', legacy('initialize', {}, { 'mcp-protocol-version': '2026-07-28' })],
    ['a header without the marker', legacy('tools/list', {}, { 'mcp-protocol-version': '2026-07-28' })],
    ['server/discover without the marker', legacy('server/discover')],
    ['a call', legacy('tools/call', { name: 'add' })],
    ['a call from any origin', legacy('tools/call', { name: 'add' }, { origin: 'https://evil.example' })],
  ])('the old server gets %s', async (_, init) => {
    const response = await server.send(init)
    expect(response.status).toBe(299)
    const text = await response.text()
    expect(JSON.parse(text.slice('the old server: '.length))).toEqual(JSON.parse(init.body))
  })
})

test('with ambiguous: modern, a header without the marker is malformed', async () => {
  const server = await ADAPTERS.fetch({ ...OPTIONS, ambiguous: 'modern' })
  const header = { 'mcp-protocol-version': '2026-07-28' }
  for (const send of [legacy('tools/list', {}, header), legacy('server/discover')]) {
    const response = await server.send(send)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } })
  }
  const notJson = await server.send({ ...legacy('x', {}, header), body: '{' })
  expect([notJson.status, await notJson.json()]).toMatchObject([400, { error: { code: -32700 } }])
  const session = legacy('tools/list', {}, { ...header, 'mcp-session-id': 'abc' })
  expect((await server.send(session)).status).toBe(299)
  expect((await server.send(legacy('initialize', {}, header))).status).toBe(299)
})

test('a content type that is not JSON, before anything else is looked at', async () => {
  const server = await ADAPTERS.node(OPTIONS)
  const response = await server.send(call('add', { 'content-type': 'text/plain' }))
  expect([response.status, await response.json()]).toMatchObject([415, { error: { code: -32600 } }])
  await server.stop()
})

test('a host that is not listed, where hosts are listed at all', async () => {
  const server = await ADAPTERS.fetch(OPTIONS)
  expect((await server.send(call('add', { host: 'rebound.example' }))).status).toBe(403)
  expect((await server.send(call('add', { host: 'server.test:8080' }))).status).toBe(200)
  const open = await ADAPTERS.fetch({ ...OPTIONS, origin: {} })
  expect((await open.send(call('add', { host: 'rebound.example' }))).status).toBe(200)
})

test('origins of legacy requests are refused only where that is asked for', async () => {
  const server = await ADAPTERS.node({ ...OPTIONS, origin: { legacy: 'enforce', modern: 'observe' } })
  const origin = { origin: 'https://evil.example' }
  expect((await server.send(legacy('ping', {}, origin))).status).toBe(403)
  expect((await server.send({ method: 'GET', headers: origin })).status).toBe(403)
  expect((await server.send(call('add', origin))).status).toBe(200)
  await server.stop()
})
