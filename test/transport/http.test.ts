import { once } from 'node:events'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { SILENT } from '../../src/base/index.ts'
import { createDialer, systemClock } from '../../src/transport/index.ts'
import type { DialerOptions, OwningDialer } from '../../src/transport/index.ts'
import type { RpcRequest } from '../../src/wire/index.ts'
import { event, json, result, serve, stream } from './http-server.ts'
import type { Handler } from './http-server.ts'
import { createManualClock } from './manual-clock.ts'
import { createRecorder, isClosed, isFailed, isMessage } from './recorder.ts'
import type { Heard } from './recorder.ts'

const opened: OwningDialer[] = []

afterEach(async () => {
  for (const dialer of opened.splice(0)) await dialer.close()
})

async function open(
  url: string,
  options: Partial<DialerOptions> & { headers?: Record<string, string> } = {},
) {
  const dialer = createDialer({ clock: systemClock, log: SILENT, environment: {}, ...options })
  opened.push(dialer)
  const recorder = createRecorder()
  const channel = await dialer.dial(
    { kind: 'http', url, headers: options.headers ?? {} },
    'streamable-http',
    recorder,
  )
  return { channel, recorder }
}

function ask(id: string | number, params: Record<string, unknown> = {}): RpcRequest {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'any', ...params } }
}

const isHeard = (one: Heard): one is Heard => one.kind !== 'closed'

/** What one request to such a server comes to. */
async function outcome(handler: Handler, options: Parameters<typeof open>[1] = {}) {
  await using server = await serve(handler)
  const { channel, recorder } = await open(server.url, options)
  channel.send(ask(1))
  const [heard] = await recorder.until(isHeard)
  await channel.close()
  expect(recorder.heard).toHaveLength(2)
  return heard
}

test('a message is a POST with the headers of the target and of the send, on a connection that is kept', async () => {
  await using server = await serve(({ body }, response) =>
    json(response, result((JSON.parse(body) as RpcRequest).id)),
  )
  const { channel, recorder } = await open(server.url, {
    headers: { Authorization: 'Bearer t', 'X-Own': 'a' },
  })
  for (const id of [1, '1', 0, 2, 3, 4, 5, 6]) {
    channel.send(ask(id, { text: '天気\u2028' }), { 'MCP-Protocol-Version': '2025-06-18', 'x-own': 'b' })
    await recorder.until(isMessage, server.seen.length + 1)
  }
  const answered = recorder.heard
    .filter(isMessage)
    .map(({ message, via }) => ['id' in message && message.id, via])
  expect(answered.slice(0, 3)).toEqual([
    [1, 1],
    ['1', '1'],
    [0, 0],
  ])
  expect(server.seen[0]).toMatchObject({ method: 'POST', url: '/mcp' })
  expect(server.seen[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: 'Bearer t',
    'mcp-protocol-version': '2025-06-18',
    'x-own': 'b',
  })
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual(ask(1, { text: '天気\u2028' }))
  // What is sent in the very turn of an answer finds its connection not yet free, so two are used in turns.
  expect(new Set(server.seen.map(({ port }) => port)).size).toBeLessThanOrEqual(2)
})

test('a stream brings its messages one by one, via its request', async () => {
  const progress = {
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 1, progress: 1 },
  }
  await using server = await serve((_, response) => {
    stream(response, ':\n\n', event(progress), 'event: ping\ndata: {}\n\n', 'id: 1\ndata:\n\n')
    server.server.once('finish-it', () => response.end(event(result(1))))
  })
  const { channel, recorder } = await open(server.url)
  channel.send(ask(1))
  const [first] = await recorder.until(isMessage)
  expect(first).toEqual({ kind: 'message', message: progress, via: 1 })
  server.server.emit('finish-it')
  const [, second] = await recorder.until(isMessage, 2)
  expect(second).toEqual({ kind: 'message', message: result(1), via: 1 })
})

test('a batch is unpacked, in JSON and in a stream', async () => {
  const log = { jsonrpc: '2.0', method: 'notifications/message', params: {} }
  for (const asStream of [false, true]) {
    await using server = await serve((_, response) => {
      if (asStream) return stream(response, event([log, result(1)]))
      json(response, [log, result(1)])
    })
    const { channel, recorder } = await open(server.url)
    channel.send(ask(1))
    expect((await recorder.until(isMessage, 2)).map(({ message }) => message)).toEqual([log, result(1)])
  }
})

test('the session id of a result is sent back until its end; that of a refusal is not', async () => {
  await using server = await serve(({ method, body }, response) => {
    if (method === 'DELETE') return response.writeHead(405).end()
    const { id } = JSON.parse(body) as RpcRequest
    if (id === 1)
      return json(
        response,
        { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } },
        { 'Mcp-Session-Id': 'not-this' },
      )
    return json(response, result(id), { 'Mcp-Session-Id': `s${id}` })
  })
  const { channel, recorder } = await open(server.url, { headers: { authorization: 'a' } })
  for (const id of [1, 2, 3]) {
    channel.send(ask(id))
    await recorder.until(isMessage, id)
  }
  expect(server.seen.map(({ headers }) => headers['mcp-session-id'])).toEqual([undefined, undefined, 's2'])
  expect(channel.sessionId).toBe('s3')
  await channel.close({ 'MCP-Protocol-Version': '2025-06-18', 'Mcp-Method': 'x' })
  expect(server.seen[3]).toMatchObject({ method: 'DELETE', url: '/mcp' })
  expect(server.seen[3]?.headers).toMatchObject({
    'mcp-session-id': 's3',
    authorization: 'a',
    'mcp-protocol-version': '2025-06-18',
  })
  expect(server.seen[3]?.headers).not.toHaveProperty('mcp-method')
  expect(recorder.heard.at(-1)).toEqual({ kind: 'closed', reason: { kind: 'closed' } })
})

test('a server that does not answer the end of its session does not hold up the close', async () => {
  const clock = createManualClock()
  await using server = await serve(({ method }, response) => {
    if (method === 'POST') json(response, result(1), { 'mcp-session-id': 's' })
  })
  const { channel, recorder } = await open(server.url, { clock })
  channel.send(ask(1))
  await recorder.until(isMessage)
  const closing = channel.close()
  await clock.waitsFor(2000)
  await clock.advance(2000)
  await closing
  expect(recorder.heard.filter(isClosed)).toHaveLength(1)
})

test.each([
  [
    400,
    'application/json',
    { jsonrpc: '2.0', id: 1, error: { code: -32022, message: 'x', data: { supported: [] } } },
  ],
  [404, 'text/plain', { jsonrpc: '2.0', id: null, error: { code: -32601, message: 'x' } }],
  [500, 'application/json', { jsonrpc: '2.0', error: { code: -32603, message: 'x'.repeat(500_000) } }],
])('the JSON-RPC response in a %i of %s is read', async (status, type, response) => {
  const heard = await outcome(
    (_, reply) => void reply.writeHead(status, { 'content-type': type }).end(JSON.stringify(response)),
  )
  expect(heard).toMatchObject({ kind: 'failed', id: 1, failure: { kind: 'status', status, response } })
})

test.each([
  [404, '<h1>Not here</h1>', '<h1>Not here</h1>'],
  [
    400,
    '{"error":{"code":"invalid_payload","message":"no"}}',
    '{"error":{"code":"invalid_payload","message":"no"}}',
  ],
  [405, '', ''],
  [500, 'x'.repeat(2 ** 21), `${'x'.repeat(4095)}…`],
])('a %i with another body is a failure with the beginning of it', async (status, body, shown) => {
  const heard = await outcome(
    (_, reply) => void reply.writeHead(status, { 'www-authenticate': 'Bearer a="b"' }).end(body),
  )
  expect(heard).toMatchObject({ failure: { kind: 'status', status, body: shown, response: undefined } })
  expect(heard).toHaveProperty('failure.headers.www-authenticate', 'Bearer a="b"')
})

test.each([
  [200, 'text/html', '<html>'],
  [200, 'application/json', ''],
  [200, 'application/json', '{"ok":true}'],
  [200, 'application/json', '{"jsonrpc":"2.0","id":"1","result":{}}'],
  [200, 'application/json', '{"jsonrpc":"2.0","id":1,"result":"text"}'],
  [202, '', ''],
  [204, '', ''],
])('a %i of %j with %j is no JSON-RPC', async (status, contentType, body) => {
  await using server = await serve(
    (_, reply) => void reply.writeHead(status, { 'content-type': contentType }).end(body),
  )
  const { channel, recorder } = await open(server.url)
  channel.send(ask(1))
  const [failed] = await recorder.until(isFailed)
  expect(failed).toEqual({
    kind: 'failed',
    id: 1,
    failure: { kind: 'not-json-rpc', status, contentType, body },
  })
})

test('an error without an id is the answer to the request that brought it', async () => {
  const response = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'x' } }
  expect(await outcome((_, reply) => json(reply, response))).toEqual({
    kind: 'message',
    message: response,
    via: 1,
  })
})

test('a notification is done with any 2xx, and fails without an id', async () => {
  let status = 202
  await using server = await serve((_, reply) => void reply.writeHead(status).end())
  const { channel, recorder } = await open(server.url)
  for (const next of [200, 403]) {
    channel.send({ jsonrpc: '2.0', method: 'notifications/cancelled' })
    await once(server.server, 'request')
    status = next
  }
  channel.send({ jsonrpc: '2.0', method: 'notifications/cancelled' })
  const [failed] = await recorder.until(isFailed)
  expect(failed).toMatchObject({ id: undefined, failure: { status: 403 } })
  expect(recorder.heard).toHaveLength(1)
})

test('where nothing listens, it is proven that nothing was sent', async () => {
  const server = await serve(() => undefined)
  await server[Symbol.asyncDispose]()
  for (const url of [server.url, 'http://name.invalid/mcp', server.url.replace('http:', 'https:')]) {
    const { channel, recorder } = await open(url)
    channel.send(ask(1))
    const [failed] = await recorder.until(isFailed)
    expect(failed).toMatchObject({ id: 1, failure: { kind: 'network', sent: false } })
    expect(failed?.failure).toHaveProperty(
      'message',
      expect.stringMatching(/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/),
    )
  }
})

test('a header that no request can have is never sent', async () => {
  await using server = await serve((_, reply) => json(reply, result(1)))
  const { channel, recorder } = await open(server.url)
  channel.send(ask(1), { 'Mcp-Name': 'a\r\nX-Forged: 1' })
  const [failed] = await recorder.until(isFailed)
  expect(failed).toMatchObject({ id: 1, failure: { kind: 'network', sent: false } })
  expect(server.seen).toEqual([])
  await expect(open(server.url, { headers: { a: 'b\nc' } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  await expect(open('ftp://x/')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test.each<[string, Handler]>([
  ['resets the connection', (_, __, request) => request.socket.destroy()],
  [
    'ends a stream before the answer',
    (_, reply) => (stream(reply, event({ jsonrpc: '2.0', method: 'x' })), void reply.end()),
  ],
  ['breaks a stream off', (_, reply) => (stream(reply), void reply.socket?.destroy())],
  [
    'breaks off in a body',
    (_, reply) => (reply.writeHead(200, { 'content-length': 9 }).write('{'), void reply.socket?.destroy()),
  ],
])('a server that %s may have run the request', async (_, handler) => {
  await using server = await serve(handler)
  const { channel, recorder } = await open(server.url)
  channel.send(ask(1))
  const [failed] = await recorder.until(isFailed)
  expect(failed).toMatchObject({ id: 1, failure: { kind: 'network', sent: true } })
})

test.each([301, 302, 303, 307, 308])(
  'a %i on the same origin is followed with method and body',
  async (status) => {
    await using server = await serve(({ url, body }, reply) => {
      if (url === '/mcp') return reply.writeHead(status, { location: '/mcp/?a=b' }).end('moved')
      return json(reply, result((JSON.parse(body) as RpcRequest).id))
    })
    const { channel, recorder } = await open(server.url)
    channel.send(ask(1))
    await recorder.until(isMessage)
    channel.send(ask(2))
    await recorder.until(isMessage, 2)
    expect(server.seen[1]).toMatchObject({ method: 'POST', url: '/mcp/?a=b', body: JSON.stringify(ask(1)) })
    // What has moved for good is not asked for at its old place.
    expect(server.seen[2]?.url).toBe(status === 301 || status === 308 ? '/mcp/?a=b' : '/mcp')
  },
)

test('a redirect to another origin, or one without an end, is an answer', async () => {
  await using elsewhere = await serve((_, reply) => json(reply, result(1)))
  let asked = 0
  const away = await outcome((_, reply) => {
    asked += 1
    reply.writeHead(307, { location: elsewhere.url }).end()
  })
  expect(away).toMatchObject({ failure: { kind: 'status', status: 307 } })
  expect([asked, elsewhere.seen.length]).toEqual([1, 0])
  let hops = 0
  const round = await outcome((_, reply) => void reply.writeHead(307, { location: `/${hops++}` }).end())
  expect(round).toMatchObject({ failure: { kind: 'status', status: 307 } })
  expect(hops).toBe(6)
})

const CODINGS: [string, (body: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['gzip, br', (body) => brotliCompressSync(gzipSync(body))],
]

test.each(CODINGS)('C35: %s is decoded, in JSON, in a stream and in a refusal', async (coding, encode) => {
  const value = result(1, { text: '天気'.repeat(50_000) })
  const headers = { 'content-encoding': coding }
  const whole = await outcome((_, reply) => {
    reply
      .writeHead(200, { ...headers, 'content-type': 'application/json' })
      .end(encode(JSON.stringify(value)))
  })
  expect(whole).toEqual({ kind: 'message', message: value, via: 1 })
  const streamed = await outcome((_, reply) => {
    reply.writeHead(200, { ...headers, 'content-type': 'text/event-stream' }).end(encode(event(value)))
  })
  expect(streamed).toEqual({ kind: 'message', message: value, via: 1 })
  const refused = await outcome((_, reply) => void reply.writeHead(400, headers).end(encode('no')))
  expect(refused).toMatchObject({ failure: { status: 400, body: 'no' } })
})

test('content that cannot be decoded fails its request', async () => {
  for (const coding of ['gzip', 'secret']) {
    const heard = await outcome(
      (_, reply) => void reply.writeHead(200, { 'content-encoding': coding }).end('{}'),
    )
    expect(heard).toMatchObject({
      failure: { kind: 'network', sent: true, message: expect.stringContaining(coding) as string },
    })
  }
})

test('a body or an event over the limit fails its own request, whatever its coding', async () => {
  const limits = { maxMessage: 10_000 }
  const large = JSON.stringify(result(1, { text: 'x'.repeat(20_000) }))
  const failed = { kind: 'failed', id: 1, failure: { kind: 'too-large', bytes: 10_000 } }
  expect(await outcome((_, reply) => void reply.end(large), { limits })).toEqual(failed)
  expect(await outcome((_, reply) => stream(reply, `data: ${large}\n\n`), { limits })).toEqual(failed)
  const bomb: Handler = (_, reply) =>
    void reply.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(large))
  expect(await outcome(bomb, { limits })).toEqual(failed)
})

test('abandoning a request closes its stream and says nothing; others go on', async () => {
  await using server = await serve(({ body }, reply) => {
    const { id } = JSON.parse(body) as RpcRequest
    stream(reply, event({ jsonrpc: '2.0', method: 'started', params: { id } }))
    if (id === 2) server.server.once('finish-it', () => reply.end(event(result(2))))
    else reply.on('close', () => server.server.emit('finish-it'))
  })
  const { channel, recorder } = await open(server.url)
  channel.send(ask(1))
  channel.send(ask(2))
  await recorder.until(isMessage, 2)
  channel.abandon(1)
  channel.abandon(3)
  const heard = await recorder.until(isMessage, 3)
  expect(heard[2]).toEqual({ kind: 'message', message: result(2), via: 2 })
  expect(recorder.heard.filter(isFailed)).toEqual([])
})

test('a request that is given up before it has a connection is not sent', async () => {
  await using server = await serve(({ body }, reply) =>
    json(reply, result((JSON.parse(body) as RpcRequest).id)),
  )
  const { channel, recorder } = await open(server.url)
  channel.send(ask(1))
  channel.abandon(1)
  channel.send(ask(2))
  expect((await recorder.until(isMessage)).map(({ via }) => via)).toEqual([2])
  expect(server.seen.map(({ body }) => body)).toEqual([JSON.stringify(ask(2))])
})
