// Streams that end early or stand alone: resumption, the GET stream, the time that a finished stream may linger.
import { once } from 'node:events'
import { connect } from 'node:net'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createDialer, systemClock } from '../../src/transport/index.ts'
import type { DialerOptions, OwningDialer } from '../../src/transport/index.ts'
import type { RpcRequest } from '../../src/wire/index.ts'
import { event, json, result, serve, stream } from './http-server.ts'
import { createManualClock } from './manual-clock.ts'
import { createLogRecorder, createRecorder, isFailed, isMessage } from './recorder.ts'

const opened: OwningDialer[] = []

afterEach(async () => {
  for (const dialer of opened.splice(0)) await dialer.close()
})

async function open(url: string, options: Partial<DialerOptions> = {}) {
  const log = createLogRecorder()
  const dialer = createDialer({ clock: systemClock, log, environment: {}, ...options })
  opened.push(dialer)
  const recorder = createRecorder()
  const channel = await dialer.dial({ kind: 'http', url, headers: {} }, 'streamable-http', recorder)
  return { channel, recorder, log }
}

const ASK: RpcRequest = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} }
const NEWS = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'news' } }

test('a stream with event ids that ends early is gone on with where it ended, after the time the server asks for', async () => {
  await using server = await serve(({ method, headers }, reply) => {
    if (method === 'POST') {
      reply.setHeader('mcp-session-id', 's')
      stream(reply, 'id: a\nretry: 1234\ndata:\n\n')
      return void reply.end()
    }
    if (headers['last-event-id'] === 'a') {
      stream(reply)
      return void reply.write(event(NEWS, 'id: b\n'), () => reply.destroy())
    }
    stream(reply, event(result(1), 'id: c\n'))
    return void reply.end()
  })
  const clock = createManualClock()
  const { channel, recorder } = await open(server.url, { clock })
  channel.send(ASK, { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Method': 'tools/call' })
  await clock.waitsFor(1234)
  expect(server.seen).toHaveLength(1)
  await clock.advance(1234)
  await recorder.until(isMessage)
  await clock.waitsFor(1234)
  await clock.advance(1234)
  expect(await recorder.until(isMessage, 2)).toEqual([
    { kind: 'message', message: NEWS, via: 1 },
    { kind: 'message', message: result(1), via: 1 },
  ])
  expect(
    server.seen.map(({ method, headers }) => [method, headers['last-event-id'], headers['mcp-session-id']]),
  ).toEqual([
    ['POST', undefined, undefined],
    ['GET', 'a', 's'],
    ['GET', 'b', 's'],
  ])
  expect(server.seen[1]?.headers).toMatchObject({
    accept: 'text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  })
  expect(server.seen[1]?.headers).not.toHaveProperty('mcp-method')
  expect(channel.sessionId).toBe('s')
})

test('going on with a stream is given up after some tries that bring nothing, and at once when it is refused', async () => {
  for (const refusing of [false, true]) {
    await using server = await serve(({ method }, reply) => {
      if (method === 'GET' && refusing) return void reply.writeHead(405).end()
      stream(reply, method === 'POST' ? 'id: a\ndata:\n\n' : '')
      return void reply.end()
    })
    const clock = createManualClock()
    const { channel, recorder } = await open(server.url, { clock })
    channel.send(ASK)
    while (!recorder.heard.some(isFailed)) await clock.advance(10_000)
    expect(recorder.heard).toMatchObject([
      { kind: 'failed', id: 1, failure: { kind: 'network', sent: true } },
    ])
    expect(server.seen.length).toBe(refusing ? 2 : 9)
  }
})

test('a request that is abandoned while its stream is down is not gone on with', async () => {
  await using server = await serve((_, reply) => (stream(reply, 'id: a\ndata:\n\n'), void reply.end()))
  const clock = createManualClock()
  const { channel, recorder } = await open(server.url, { clock })
  channel.send(ASK)
  await clock.waitsFor(1000)
  channel.abandon(1)
  expect(clock.delays).toEqual([])
  expect(server.seen).toHaveLength(1)
  expect(recorder.heard).toEqual([])
})

test('a stream that goes on after its answer is ended in the end, and its answer counts', async () => {
  const ends: Promise<unknown>[] = []
  await using server = await serve(({ body }, reply) => {
    ends.push(once(reply, 'close'))
    stream(reply, event(result((JSON.parse(body) as RpcRequest).id)))
  })
  const clock = createManualClock()
  const { channel, recorder } = await open(server.url, { clock })
  channel.send(ASK)
  await recorder.until(isMessage)
  await clock.advance(4000)
  channel.send({ ...ASK, id: 2 })
  await recorder.until(isMessage, 2)
  while (clock.delays.length > 0) await clock.advance(1000)
  await Promise.all(ends)
  expect(clock.now()).toBe(10_000)
  expect(recorder.heard).toHaveLength(2)
})

test('the stream of its own brings what belongs to no request, and is asked for once', async () => {
  await using server = await serve((_, reply) => stream(reply, event(NEWS), event(NEWS)))
  const { channel, recorder } = await open(server.url)
  channel.openStream?.({ 'MCP-Protocol-Version': '2025-06-18', Authorization: 'Bearer t' })
  channel.openStream?.()
  expect(await recorder.until(isMessage, 2)).toEqual([
    { kind: 'message', message: NEWS, via: undefined },
    { kind: 'message', message: NEWS, via: undefined },
  ])
  expect(server.seen).toHaveLength(1)
  expect(server.seen[0]).toMatchObject({
    method: 'GET',
    headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2025-06-18', authorization: 'Bearer t' },
  })
})

test.each([
  [200, 'text/plain'],
  [405, 'text/event-stream'],
  [404, 'text/html'],
  [500, 'application/json'],
])('C20: a %i of %s to the GET means no stream; it is asked once and nothing fails', async (status, type) => {
  await using server = await serve(({ method }, reply) => {
    if (method === 'GET') return void reply.writeHead(status, { 'content-type': type }).end('no')
    return json(reply, result(1))
  })
  const clock = createManualClock()
  const { channel, recorder, log } = await open(server.url, { clock })
  channel.openStream?.()
  while (log.lines.length === 0) await clock.advance(10)
  for (let n = 0; n < 30; n++) await clock.advance(10_000)
  channel.send(ASK)
  expect(await recorder.until(isMessage)).toHaveLength(1)
  expect(server.seen.map(({ method }) => method)).toEqual(['GET', 'POST'])
  expect(recorder.heard.filter(isFailed)).toEqual([])
})

test('C19: a stream that ends at once, for ever, is reconnected with growing waits and then left alone', async () => {
  await using server = await serve(({ method }, reply) => {
    if (method === 'POST') return json(reply, result(1))
    stream(reply)
    return void reply.end()
  })
  const clock = createManualClock()
  const { channel, recorder, log } = await open(server.url, { clock })
  channel.openStream?.()
  for (const wait of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000]) {
    await clock.waitsFor(wait)
    expect(clock.delays).toEqual([wait])
    await clock.advance(wait)
  }
  while (log.lines.length === 0) await clock.advance(10)
  expect(log.lines).toMatchObject([{ level: 'warn' }])
  expect(server.seen).toHaveLength(11)
  expect(clock.delays).toEqual([])
  channel.send(ASK)
  await recorder.until(isMessage)
})

test('what a stream brought counts: the next wait is short again, and the server learns where it ended', async () => {
  let streams = 0
  await using server = await serve((_, reply) => {
    streams += 1
    stream(reply, streams % 3 === 0 ? event(NEWS, `id: ${streams}\n`) : '')
    return void reply.end()
  })
  const clock = createManualClock()
  const { channel } = await open(server.url, { clock })
  channel.openStream?.()
  for (const wait of [1000, 2000, 1000, 2000, 4000, 1000]) {
    await clock.waitsFor(wait)
    await clock.advance(wait)
  }
  await clock.waitsFor(2000)
  expect(server.seen.map(({ headers }) => headers['last-event-id'])).toEqual([
    undefined,
    undefined,
    undefined,
    '3',
    '3',
    '3',
    '6',
  ])
})

test('a proxy variable is honoured, but not for this machine and not where NO_PROXY says so', async () => {
  await using server = await serve((_, reply) => json(reply, result(1)))
  const asked: string[] = []
  const proxy = createServer()
  proxy.on('connect', (request, socket) => {
    asked.push(request.url ?? '')
    const onward = connect((server.server.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    for (const end of [socket, onward]) end.on('error', () => undefined)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const environment = {
    HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    NO_PROXY: 'direct.invalid',
  }
  const reached: boolean[] = []
  for (const url of ['http://behind.invalid/mcp', server.url, 'http://direct.invalid/mcp']) {
    const { channel, recorder } = await open(url, { environment })
    channel.send(ASK)
    await Promise.race([recorder.until(isMessage), recorder.until(isFailed)])
    reached.push(recorder.heard.some(isMessage))
  }
  expect(reached).toEqual([true, true, false])
  expect(asked).toEqual(['behind.invalid:80'])
  for (const dialer of opened.splice(0)) await dialer.close()
  proxy.close()
  await once(proxy, 'close')
})
