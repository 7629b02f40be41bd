// What legacy clients send, as bytes: what follows is compared between a server and the same server upgraded.
import { raw } from './raw-exchange.ts'

const message = (body: object): string => JSON.stringify({ jsonrpc: '2.0', ...body })
const VERSION = 'io.modelcontextprotocol/protocolVersion'

const initialize = message({
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
})
const call = message({ id: 'two', method: 'tools/call', params: { name: 'größe', arguments: {} } })
const odd = `  {"jsonrpc" : "2.0", "id": 12345678901234567890, "method":"tools/call","params":{"name":"a","name":"b"}}\r\n`
const large = message({ id: 3, method: 'tools/call', params: { name: 'x'.repeat(200_000) } })

/** Over the limit that the tests set. */
export const LIMIT = 300_000
const huge = message({ id: 4, method: 'tools/call', params: { name: 'y'.repeat(LIMIT * 2) } })

export const LEGACY: Readonly<Record<string, string>> = {
  initialize: raw({ body: initialize }),
  'initialize of a client that leaves the modern header set': raw({
    body: initialize,
    headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'initialize' },
  }),
  'tools/call': raw({
    body: call,
    headers: { 'Mcp-Session-Id': 'abc', 'mcp-protocol-version': '2025-06-18' },
  }),
  'a call that is streamed': raw({
    body: message({ id: 5, method: 'tools/call', params: { name: 'slow' } }),
  }),
  'headers twice, in their own spelling': raw({
    body: call,
    headers: { 'x-oDD': '1', 'X-Odd': '2', Cookie: 'a=1; b=2' },
  }),
  'an unknown method': raw({ body: message({ id: 0, method: 'nope' }) }),
  'a method without its params': raw({ body: message({ id: 6, method: 'tools/call' }) }),
  'a notification': raw({ body: message({ method: 'notifications/initialized' }) }),
  'a notification with the modern header': raw({
    body: message({ method: 'notifications/initialized' }),
    headers: { 'MCP-Protocol-Version': '2026-07-28' },
  }),
  'a response': raw({ body: message({ id: 9, result: {} }) }),
  'a batch': raw({ body: `[${initialize},${call}]` }),
  'bad JSON': raw({ body: '{"jsonrpc":' }),
  'bad JSON with the modern header': raw({ body: '{', headers: { 'MCP-Protocol-Version': '2026-07-28' } }),
  'no JSON type': raw({ body: call, headers: { 'Content-Type': 'text/plain' } }),
  'a type with a charset': raw({
    body: call,
    headers: { 'Content-Type': 'application/json; charset=utf-8' },
  }),
  'nothing accepted': raw({ body: call, headers: { Accept: 'image/png' } }),
  'server/discover without the marker': raw({ body: message({ id: 7, method: 'server/discover' }) }),
  'a header without the marker': raw({
    body: message({ id: 8, method: 'tools/list' }),
    headers: { 'MCP-Protocol-Version': '2026-07-28' },
  }),
  'an origin': raw({ body: call, headers: { Origin: 'https://elsewhere.example' } }),
  'JSON that parsing would change': raw({ body: odd }),
  'a chunked body': raw({ body: call, chunk: 5 }),
  'a chunked body of one chunk': raw({ body: call, chunk: 10_000 }),
  'an empty chunked body': raw({ body: '', chunk: 1 }),
  'an empty body': raw({ body: '' }),
  'no body at all': raw({}),
  'a large body': raw({ body: large }),
  'a large chunked body': raw({ body: large, chunk: 60_000 }),
  'a body over the limit': raw({ body: huge }),
  'a chunked body over the limit': raw({ body: huge, chunk: 50_000 }),
  'bytes that are not UTF-8': raw({ body: call }).replace('\u00c3\u00b6', '\u00f6\u0000'),
  'a body that waits for leave': raw({ body: call, headers: { Expect: '100-continue' } }),
  'no leave to come in': raw({ body: call, headers: { Authorization: 'none' } }),
  'an expectation that nobody knows': raw({ body: call, headers: { Expect: 'miracles' } }),
  'a broken chunk': raw({ body: call, chunk: 5 }).replace(/\r\n0\r\n\r\n$/, '\r\nzzz\r\n\r\n'),
  'HTTP/1.0': raw({ body: call }).replace('HTTP/1.1', 'HTTP/1.0'),
  GET: raw({ verb: 'GET', headers: { Accept: 'text/event-stream', 'Last-Event-ID': '1' } }),
  DELETE: raw({ verb: 'DELETE', headers: { 'Mcp-Session-Id': 'abc' } }),
  OPTIONS: raw({ verb: 'OPTIONS', headers: { Origin: 'https://elsewhere.example' } }),
  HEAD: raw({ verb: 'HEAD' }),
  PUT: raw({ verb: 'PUT', body: call }),
  pipelined:
    raw({ body: initialize, keepOpen: true }) +
    raw({ body: call, keepOpen: true, chunk: 7 }) +
    raw({ body: '{', keepOpen: true }) +
    raw({ verb: 'GET', keepOpen: true }) +
    raw({ body: large, keepOpen: true }) +
    raw({ body: call }),
}

const _meta = { [VERSION]: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }

/** What modern clients send: served as the legacy handler serves it wherever the modern era is not let in. */
export const MODERN: Readonly<Record<string, string>> = {
  'server/discover': raw({
    body: message({ id: 1, method: 'server/discover', params: { _meta } }),
    headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'server/discover' },
  }),
  'tools/call': raw({
    body: message({ id: 2, method: 'tools/call', params: { name: 'add', arguments: {}, _meta } }),
    headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'add' },
  }),
  'a version of the future': raw({
    body: message({ id: 3, method: 'tools/list', params: { _meta: { ..._meta, [VERSION]: '2031-01-01' } } }),
  }),
}
