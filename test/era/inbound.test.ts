import { expect, test } from 'vitest'
import { checkModern, classifyInbound, markerOf } from '../../src/era/index.ts'
import type { InboundHeaders } from '../../src/era/index.ts'
import type { RpcRequest } from '../../src/wire/index.ts'

const V = '2026-07-28'
const MARKER = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const LEVEL = 'io.modelcontextprotocol/logLevel'

/** Headers as node:http gives them: repeats joined by ", " and, beside it, as they were sent. */
function headers(...pairs: readonly [string, string][]): InboundHeaders {
  const joined: Record<string, string> = {}
  for (const [name, value] of pairs) {
    const before = joined[name.toLowerCase()]
    joined[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`
  }
  return { joined, raw: pairs.flat() }
}

const version = (value: string = V): [string, string] => ['MCP-Protocol-Version', value]
const method = (value: string): [string, string] => ['Mcp-Method', value]
const name = (value: string): [string, string] => ['Mcp-Name', value]

function request(
  verb: string,
  params: Record<string, unknown> = {},
  meta: Record<string, unknown> = {},
): RpcRequest {
  const _meta = { [MARKER]: V, [CAPABILITIES]: {}, ...meta }
  return { jsonrpc: '2.0', id: 1, method: verb, params: { ...params, _meta } }
}

const bare = (verb: string, params?: Record<string, unknown>): RpcRequest =>
  params === undefined
    ? { jsonrpc: '2.0', id: 1, method: verb }
    : { jsonrpc: '2.0', id: 1, method: verb, params }

test.each<[string, RpcRequest, InboundHeaders | undefined, string, string]>([
  ['the marker', request('tools/list'), undefined, 'modern', 'marker'],
  ['the marker on initialize', request('initialize'), headers(version('2025-06-18')), 'modern', 'marker'],
  ['the marker on ping', request('ping'), undefined, 'modern', 'marker'],
  [
    'a marker of any text',
    request('tools/list', {}, { [MARKER]: '1999-01-01' }),
    undefined,
    'modern',
    'marker',
  ],
  ['an empty marker', request('tools/list', {}, { [MARKER]: '' }), undefined, 'legacy', 'default'],
  ['a marker that is no string', request('tools/list', {}, { [MARKER]: 1 }), undefined, 'legacy', 'default'],
  ['_meta that is no object', bare('tools/list', { _meta: 'x' }), undefined, 'legacy', 'default'],
  ['initialize with a modern header', bare('initialize'), headers(version()), 'legacy', 'method'],
  ['a modern header', bare('tools/list'), headers(version()), 'modern', 'header'],
  ['the header of a later date', bare('tools/list'), headers(version('2031-01-01')), 'modern', 'header'],
  ['a legacy header', bare('tools/list'), headers(version('2025-11-25')), 'legacy', 'default'],
  ['a header that is no date', bare('tools/list'), headers(version('latest')), 'legacy', 'default'],
  ['a modern header twice', bare('tools/list'), headers(version(), version()), 'modern', 'header'],
  ['discover on a pipe', bare('server/discover'), undefined, 'modern', 'method'],
  [
    'discover with a legacy header',
    bare('server/discover'),
    headers(version('2025-06-18')),
    'modern',
    'method',
  ],
  ['anything else', bare('tools/list'), undefined, 'legacy', 'default'],
])('%s', (...[, message, sent, era, reason]) => {
  expect(classifyInbound(message, sent, false)).toEqual({ era, reason })
})

test('a live session without the marker is legacy, whatever the header says; the marker is stronger', () => {
  const session = { era: 'legacy', reason: 'session' }
  expect(classifyInbound(bare('tools/list'), headers(version()), true)).toEqual(session)
  expect(classifyInbound(bare('server/discover'), headers(version()), true)).toEqual(session)
  expect(classifyInbound(request('tools/list'), undefined, true)).toMatchObject({ era: 'modern' })
})

test('a notification is classified by the value of its header', () => {
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } } as const
  expect(classifyInbound(cancelled, headers(version()), false).era).toBe('modern')
  expect(classifyInbound(cancelled, headers(version('2025-06-18')), false).era).toBe('legacy')
})

const CALL = request('tools/call', { name: 'add' })
const READ = request('resources/read', { uri: 'file:///a,%20b, c' })
const ok = (verb: string, ...more: [string, string][]): InboundHeaders =>
  headers(version(), method(verb), ...more)

test.each<[string, RpcRequest, InboundHeaders | undefined]>([
  ['a list', request('tools/list'), ok('tools/list')],
  ['a call', CALL, ok('tools/call', name('add'))],
  ['a pipe', CALL, undefined],
  [
    'header names in any case',
    request('tools/list'),
    headers(['mcp-protocol-version', V], ['MCP-METHOD', 'tools/list']),
  ],
  [
    'a repeat of the same value',
    CALL,
    ok('tools/call', version(), method('tools/call'), name('add'), name('add')),
  ],
  ['a URI with commas', READ, ok('resources/read', name('file:///a,%20b, c'))],
  [
    'a URI with commas, twice',
    READ,
    ok('resources/read', name('file:///a,%20b, c'), name('file:///a,%20b, c')),
  ],
  ['a name that is no string: the handler answers', request('tools/call', { name: 7 }), ok('tools/call')],
  ['a name that is missing: the handler answers', request('prompts/get'), ok('prompts/get')],
  ['a log level', request('tools/list', {}, { [LEVEL]: 'debug' }), ok('tools/list')],
  ['base64 of what could be plain', CALL, ok('tools/call', name('=?base64?YWRk?='))],
  ['an empty name', request('tools/call', { name: '' }), ok('tools/call', name('=?base64??='))],
])('well formed: %s', (_, message, sent) => {
  expect(checkModern(message, sent, false)).toBeUndefined()
})

const LIST = request('tools/list')

test.each<[string, RpcRequest, InboundHeaders | undefined, number]>([
  ['no marker', bare('tools/list'), headers(version()), -32602],
  ['discover without the marker', bare('server/discover'), undefined, -32602],
  ['another version in the header', LIST, headers(version('2025-06-18'), method('tools/list')), -32020],
  ['two versions', LIST, headers(version(), version('2025-06-18'), method('tools/list')), -32020],
  ['an unknown version', request('tools/list', {}, { [MARKER]: '2031-01-01' }), undefined, -32022],
  ['a legacy version', request('tools/list', {}, { [MARKER]: '2025-11-25' }), undefined, -32022],
  ['no capabilities', request('tools/list', {}, { [CAPABILITIES]: undefined }), undefined, -32602],
  ['capabilities that are a list', request('tools/list', {}, { [CAPABILITIES]: [] }), undefined, -32602],
  ['a level that is none', request('tools/list', {}, { [LEVEL]: 'loud' }), undefined, -32602],
  ['no version header', LIST, headers(method('tools/list')), -32020],
  ['no method header', LIST, headers(version()), -32020],
  ['another method', LIST, ok('tools/call'), -32020],
  ['the method in another case', LIST, ok('Tools/List'), -32020],
  ['two methods', LIST, ok('tools/list', method('tools/call')), -32020],
  ['no name', CALL, ok('tools/call'), -32020],
  ['another name', CALL, ok('tools/call', name('sub')), -32020],
  ['two names', CALL, ok('tools/call', name('add'), name('sub')), -32020],
  [
    'two names that read like one with a comma',
    request('tools/call', { name: 'add, sub' }),
    ok('tools/call', name('add'), name('sub')),
    -32020,
  ],
  ['no URI', READ, ok('resources/read'), -32020],
  ['no prompt name', request('prompts/get', { name: 'p' }), ok('prompts/get'), -32020],
  ['an unknown method', request('tools/paint'), ok('tools/paint'), -32601],
  ['a removed method', request('ping'), ok('ping'), -32601],
  ['initialize', request('initialize'), ok('initialize'), -32601],
  ['a notification as a request', request('notifications/progress'), ok('notifications/progress'), -32601],
])('refused: %s', (...[, message, sent, code]) => {
  const refusal = checkModern(message, sent, false)
  expect(refusal).toMatchObject({ status: code === -32601 ? 404 : 400, error: { code } })
})

// Each request breaks one row and all that follow; the first one answers.
test('the first failure answers', () => {
  const codes = [
    checkModern(request('ping', {}, { [MARKER]: '2031-01-01' }), headers(version()), false),
    checkModern(request('ping', {}, { [MARKER]: '2031-01-01', [CAPABILITIES]: 1 }), headers(), false),
    checkModern(request('ping', {}, { [CAPABILITIES]: 1 }), headers(), false),
    checkModern(request('ping'), headers(), false),
    checkModern(request('ping'), ok('ping'), false),
  ].map((refusal) => refusal?.error.code)
  expect(codes).toEqual([-32020, -32022, -32602, -32020, -32601])
})

test('an unserved version is told what is served', () => {
  const refusal = checkModern(request('tools/list', {}, { [MARKER]: '2031-01-01' }), undefined, false)
  expect(refusal?.error.data).toEqual({ supported: [V], requested: '2031-01-01' })
})

test.each(['tools/paint', 'tasks/get'])(
  'an open endpoint lets through what no revision knows, or what an extension has kept: %s',
  (unknown) => {
    expect(checkModern(request(unknown), ok(unknown), true)).toBeUndefined()
  },
)

test.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'notifications/progress'])(
  'an open endpoint refuses what this revision has removed, or has as no request: %s',
  (unknown) => {
    const refusal = checkModern(request(unknown), ok(unknown), true)
    expect(refusal).toMatchObject({ status: 404, error: { code: -32601 } })
  },
)

const WEATHER = '天気 🌦'
const ENCODED = `=?base64?${Buffer.from(WEATHER).toString('base64')}?=`

test.each<[string, string, number | undefined]>([
  [WEATHER, ENCODED, undefined],
  [WEATHER, WEATHER, -32020],
  [WEATHER, Buffer.from(WEATHER).toString('latin1'), -32020],
  [WEATHER, '=?base64?5aSp5rCXIPCfjKY?=', -32020],
  [WEATHER, '=?base64?=', -32020],
  [WEATHER, '=?base64?/w==?=', -32020],
  ['é', 'é', -32020],
  ['=?base64?YWRk?=', '=?base64?YWRk?=', -32020],
  ['=?base64?YWRk?=', '=?base64?PT9iYXNlNjQ/WVdSaz89?=', undefined],
  ['=?add', '=?add', undefined],
])('the tool %j under Mcp-Name %j', (tool, header, code) => {
  const refusal = checkModern(request('tools/call', { name: tool }), ok('tools/call', name(header)), false)
  expect(refusal?.error.code).toBe(code)
})

test('a mismatch shows both values, and what a stranger sent is clipped', () => {
  const long = 'x'.repeat(500)
  const both = checkModern(CALL, ok('tools/call', name('first'), name('second')), false)
  expect(both?.error.message).toMatch(/'first'.*'second'/)
  const many = Array.from({ length: 50 }, (_, i) => name(`${i}${long}`))
  const texts = [
    checkModern(CALL, ok('tools/call', ...many), false)?.error.message,
    checkModern(request('tools/list', {}, { [MARKER]: long }), undefined, false)?.error.message,
    checkModern(request(long), undefined, false)?.error.message,
  ]
  for (const text of texts) expect(text).not.toMatch(/x{61}/)
  expect(texts[0]).toContain('and 30 more')
})

test.each([0, '0', 1, '1'])('a message with the id %j stays as it was', (id) => {
  const message = Object.freeze({ ...CALL, id })
  const before = JSON.stringify(message)
  classifyInbound(message, ok('tools/call', name('add')), false)
  expect(checkModern(message, ok('tools/call', name('add')), false)).toBeUndefined()
  expect(markerOf(message)).toBe(V)
  expect(JSON.stringify(message)).toBe(before)
  expect(message.id).toBe(id)
})
