import { afterEach, expect, test } from 'vitest'
import { SILENT } from '../../src/base/index.ts'
import { createDialer, systemClock } from '../../src/transport/index.ts'
import type { DialerOptions, OwningDialer } from '../../src/transport/index.ts'
import type { RpcRequest } from '../../src/wire/index.ts'
import { event, result, serve, stream } from './http-server.ts'
import type { Handler, TestServer } from './http-server.ts'
import { createManualClock } from './manual-clock.ts'
import { createRecorder, isClosed, isFailed, isMessage } from './recorder.ts'

const opened: OwningDialer[] = []

afterEach(async () => {
  for (const dialer of opened.splice(0)) await dialer.close()
})

async function open(url: string, options: Partial<DialerOptions> = {}) {
  const dialer = createDialer({ clock: systemClock, log: SILENT, environment: {}, ...options })
  opened.push(dialer)
  const recorder = createRecorder()
  const channel = await dialer.dial({ kind: 'http', url, headers: { 'x-own': 'a' } }, 'http+sse', recorder)
  return { channel, recorder }
}

function ask(id: number, method = 'tools/call'): RpcRequest {
  return { jsonrpc: '2.0', id, method, params: {} }
}

/** A server of 2024-11-05: its stream names the endpoint, and each request is answered there. */
function legacy(): Promise<TestServer> {
  let say: (text: string) => void = () => undefined
  return serve(({ method, url, body }, reply) => {
    if (method === 'GET') {
      stream(reply, 'event: endpoint\ndata: /messages?session=1\n\n')
      say = (text) => void reply.write(text)
      return
    }
    const { id, method: name } = JSON.parse(body) as RpcRequest
    if (url !== '/messages?session=1' || name === 'refuse') return void reply.writeHead(400).end('bad')
    reply.writeHead(202).end('Accepted')
    say(event(result(id), 'event: message\n'))
  })
}

test('messages are posted where the stream says, and answers come on the stream', async () => {
  await using server = await legacy()
  const { channel, recorder } = await open(server.url)
  channel.send(ask(1), { Authorization: 'Bearer t' })
  channel.send(ask(2))
  expect(await recorder.until(isMessage, 2)).toEqual(
    expect.arrayContaining([
      { kind: 'message', message: result(1), via: undefined },
      { kind: 'message', message: result(2), via: undefined },
    ]),
  )
  expect(server.seen[0]).toMatchObject({
    method: 'GET',
    headers: { accept: 'text/event-stream', 'x-own': 'a' },
  })
  expect(server.seen.find(({ body }) => body.includes('"id":1'))).toMatchObject({
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer t', 'x-own': 'a' },
  })
  channel.send(ask(3, 'refuse'))
  const [failed] = await recorder.until(isFailed)
  expect(failed).toMatchObject({ id: 3, failure: { kind: 'status', status: 400, body: 'bad' } })
  await channel.close()
  expect(recorder.heard.at(-1)).toEqual({ kind: 'closed', reason: { kind: 'closed' } })
})

test('the end of the stream is the end of the channel', async () => {
  await using server = await legacy()
  const { channel, recorder } = await open(server.url)
  server.server.closeAllConnections()
  const [closed] = await recorder.until(isClosed)
  expect(closed?.reason).toMatchObject({ kind: 'disconnected' })
  await channel.close()
  channel.send(ask(1))
  expect(recorder.heard).toHaveLength(1)
})

test.each<[string, string, Handler]>([
  [
    'UPSTREAM_PROTOCOL',
    'an endpoint of another origin',
    (_, reply) => stream(reply, 'event: endpoint\ndata: http://127.0.0.1:1/x\n\n'),
  ],
  ['UPSTREAM_UNREACHABLE', 'a stream that ends first', (_, reply) => (stream(reply), void reply.end())],
  [
    'NOT_AN_MCP_ENDPOINT',
    'a page',
    (_, reply) => void reply.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  ],
  ['HTTP_STATUS', 'a 404', (_, reply) => void reply.writeHead(404).end()],
  ['AUTH_REQUIRED', 'a 401', (_, reply) => void reply.writeHead(401, { 'www-authenticate': 'Bearer' }).end()],
])('dialling rejects with %s on %s', async (code, _, handler) => {
  await using server = await serve(handler)
  await expect(open(server.url)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(server.url.slice(7, -4)) as string,
  })
})

test('a server that names no endpoint is given up', async () => {
  const clock = createManualClock()
  await using server = await serve((_, reply) => stream(reply))
  const dialing = open(server.url, { clock })
  await clock.waitsFor(30_000)
  await Promise.all([
    expect(dialing).rejects.toMatchObject({ code: 'UPSTREAM_START_TIMEOUT' }),
    clock.advance(30_000),
  ])
})

test('an event over the limit is dropped, and the stream goes on', async () => {
  await using server = await serve(({ method }, reply) => {
    if (method !== 'GET') return void reply.writeHead(202).end()
    const large = event(result(1, { text: 'x'.repeat(20_000) }))
    return stream(reply, 'event: endpoint\ndata: /messages\n\n', large, event(result(2)))
  })
  const { recorder } = await open(server.url, { limits: { maxMessage: 10_000 } })
  const [message] = await recorder.until(isMessage)
  expect(message?.message).toEqual(result(2))
  expect(recorder.heard.filter(isFailed)).toMatchObject([
    { id: undefined, failure: { kind: 'too-large', bytes: 10_000 } },
  ])
})
