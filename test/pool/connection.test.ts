import { expect, test } from 'vitest'
import { Cancellation, SILENT } from '../../src/base/index.ts'
import type { McpxError } from '../../src/base/index.ts'
import { Connection } from '../../src/pool/connection.ts'
import type { UpstreamRequest } from '../../src/pool/index.ts'
import type { Answer, CloseReason, RpcMessage, RpcNotification, TransportKind } from '../../src/wire/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'
import { status } from '../era/answers.ts'
import { createFakeClock, settled } from './clock.ts'
import type { FakeClock } from './clock.ts'
import { answering, CRASH, pair, reply } from './peers.ts'
import type { Habit, Line } from './peers.ts'

const SILENCE: Habit = () => {}

interface Setup {
  readonly connection: Connection
  readonly line: Line
  readonly clock: FakeClock
  readonly closed: CloseReason[]
  readonly notified: RpcNotification[]
  readonly strays: RpcMessage[]
}

function setup(
  habit: Habit,
  options: { revision?: RevisionId; transport?: TransportKind; era?: 'modern'; logging?: true } = {},
): Setup {
  const { revision = '2025-06-18', transport = 'stdio' } = options
  const era = options.era ?? (revision === '2026-07-28' ? 'modern' : 'legacy')
  const clock = createFakeClock()
  const closed: CloseReason[] = []
  const notified: RpcNotification[] = []
  const strays: RpcMessage[] = []
  let lastId = 0
  let current: Connection | undefined
  const { channel, line } = pair({
    transport,
    habit,
    listener: {
      onMessage: (message, via) => current?.onMessage(message, via),
      onFailed: (id, failure) => current?.onFailed(id, failure),
      onClosed: (reason) => current?.onClosed(reason),
    },
  })
  const connection = new Connection({
    server: 'files',
    channel,
    verdict: {
      era,
      revision,
      transport,
      source: 'probe',
      stale: false,
      opening: { capabilities: options.logging === true ? { tools: {}, logging: {} } : { tools: {} } },
    },
    identity: { info: { name: 'mcpx' }, capabilities: {} },
    clock,
    log: SILENT,
    nextId: () => ++lastId,
    callTimeout: 1000,
    callTimeoutMax: 2500,
    onClosed: (reason) => closed.push(reason),
    onNotification: (notification) => notified.push(notification),
    onStray: (response) => strays.push(response),
    onStrayInquiry: async () => ({ error: { code: -32601, message: 'Method not found' } }),
    onSighting: () => {},
    asksAside: () => false,
  })
  current = connection
  return { connection, line, clock, closed, notified, strays }
}

const call = (more: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  method: 'tools/call',
  params: { name: 'a' },
  ...more,
})

/** How a promise ended so far. */
function watch(promise: Promise<Answer>): { answer?: Answer; code?: string } {
  const seen: { answer?: Answer; code?: string } = {}
  promise.then(
    (answer) => (seen.answer = answer),
    (error: McpxError) => (seen.code = error.code),
  )
  return seen
}

const sentMessages = (line: Line): RpcMessage[] => line.received.map(({ message }) => message)

test('requests have ids of their own and answers find them in any order', async () => {
  const { connection, line } = setup(SILENCE)
  const [first, second] = [watch(connection.request(call())), watch(connection.request(call()))]
  expect(sentMessages(line)).toMatchObject([{ id: 1 }, { id: 2 }])
  line.say(reply(2, { n: 2 }))
  line.say({ jsonrpc: '2.0', id: 1, error: { code: -5, message: 'own', data: 1 } })
  await settled()
  expect(second.answer).toEqual({ result: { n: 2 } })
  expect(first.answer).toEqual({ error: { code: -5, message: 'own', data: 1 } })
  expect([connection.inFlight, connection.asked]).toEqual([0, 2])
})

test('an id of another type is no answer', async () => {
  const { connection, line, strays } = setup(SILENCE)
  const seen = watch(connection.request(call()))
  line.say(reply('1'))
  await settled()
  expect([seen, strays.length]).toEqual([{}, 1])
})

test('an error without an id answers the request whose stream brought it', async () => {
  const { connection, line, strays } = setup(SILENCE, { transport: 'streamable-http' })
  const seen = watch(connection.request(call()))
  line.say({ jsonrpc: '2.0', error: { code: -32700, message: 'unread' } })
  await settled()
  expect([seen, strays.length]).toEqual([{}, 1])
  line.say({ jsonrpc: '2.0', error: { code: -32700, message: 'unread' } }, 1)
  await settled()
  expect(seen.answer).toMatchObject({ error: { code: -32700 } })
})

test('the era shows in every request: metadata and headers, or neither', async () => {
  const legacy = setup(SILENCE)
  void legacy.connection.request(call({ logLevel: 'debug' })).catch(() => {})
  expect(legacy.line.received[0]).toEqual({
    message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } },
    headers: undefined,
  })
  const modern = setup(SILENCE, { revision: '2026-07-28', transport: 'streamable-http' })
  void modern.connection.request(call({ logLevel: 'debug', headers: { 'Mcp-Param-A': '1' } })).catch(() => {})
  expect(modern.line.received[0]).toMatchObject({
    message: {
      params: {
        name: 'a',
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/logLevel': 'debug',
        },
      },
    },
    headers: {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'a',
      'Mcp-Param-A': '1',
    },
  })
})

test('a legacy opening is completed, a modern one needs nothing', () => {
  for (const [revision, methods] of [
    ['2025-06-18', ['notifications/initialized']],
    ['2026-07-28', []],
  ] as const) {
    const { connection, line } = setup(SILENCE, { revision })
    connection.begin()
    expect(sentMessages(line).map((message) => 'method' in message && message.method)).toEqual(methods)
  }
})

test('silence for callTimeout ends a call, and the server is told', async () => {
  const { connection, line, clock } = setup(SILENCE)
  const seen = watch(connection.request(call()))
  await clock.turn(999)
  expect(seen).toEqual({})
  await clock.turn(1)
  expect(seen.code).toBe('UPSTREAM_TIMEOUT')
  expect(sentMessages(line)[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
  expect(line.abandoned).toEqual([1])
})

test('progress extends the patience, up to the longest that a call may last', async () => {
  const { connection, line, clock } = setup(SILENCE)
  const progress: unknown[] = []
  const seen = watch(
    connection.request(
      call({ wantsProgress: true, onNotification: (method, params) => progress.push([method, params]) }),
    ),
  )
  expect(sentMessages(line)[0]).toMatchObject({ params: { _meta: { progressToken: 1 } } })
  for (const at of [900, 1800, 2400]) {
    await clock.turn(at === 2400 ? 600 : 900)
    line.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: at } })
    await settled()
  }
  expect(progress).toHaveLength(3)
  await clock.turn(99)
  expect(seen).toEqual({})
  await clock.turn(1)
  expect(seen.code).toBe('UPSTREAM_TIMEOUT')
})

test('a late answer is nobody’s', async () => {
  const { connection, line, clock, strays } = setup(SILENCE)
  const seen = watch(connection.request(call()))
  await clock.turn(1000)
  line.say(reply(1))
  await settled()
  expect([seen.code, strays.length]).toEqual(['UPSTREAM_TIMEOUT', 1])
})

test.each([
  ['2025-06-18', 'stdio', true],
  ['2025-06-18', 'streamable-http', true],
  ['2026-07-28', 'stdio', true],
  ['2026-07-28', 'streamable-http', false],
] as const)('cancelled in %s over %s: notified %s', async (revision, transport, notified) => {
  const { connection, line } = setup(SILENCE, { revision, transport })
  const cancellation = new Cancellation()
  const seen = watch(connection.request(call({ cancellation })))
  cancellation.cancel('the user left')
  await settled()
  expect(seen.code).toBe('CANCELLED')
  expect(line.abandoned).toEqual([1])
  const notification = {
    method: 'notifications/cancelled',
    params: { requestId: 1, reason: 'the user left' },
  }
  expect(sentMessages(line).slice(1)).toMatchObject(notified ? [notification] : [])
})

test('what is cancelled before it is sent leaves no trace on the wire', async () => {
  const { connection, line } = setup(SILENCE)
  const cancellation = new Cancellation()
  cancellation.cancel('too late')
  const seen = watch(connection.request(call({ cancellation })))
  await settled()
  expect([seen.code, line.received, line.abandoned, connection.inFlight]).toEqual(['CANCELLED', [], [], 0])
})

test('cancelling after the answer does nothing', async () => {
  const { connection, line } = setup(answering({ 'tools/call': (to, id) => to.say(reply(id)) }))
  const cancellation = new Cancellation()
  const seen = watch(connection.request(call({ cancellation })))
  await settled()
  cancellation.cancel('late')
  expect([seen.answer, line.received.length, line.abandoned]).toEqual([{ result: {} }, 1, []])
})

test('the end of the channel rejects everything, then and later, and is told once', async () => {
  const { connection, line, closed, clock } = setup(SILENCE)
  const seen = [watch(connection.request(call())), watch(connection.request(call()))]
  line.end()
  await settled()
  seen.push(watch(connection.request(call())))
  await settled()
  expect(seen.map(({ code }) => code)).toEqual(['UPSTREAM_CLOSED', 'UPSTREAM_CLOSED', 'UPSTREAM_CLOSED'])
  expect(closed).toEqual([CRASH])
  expect([connection.isOpen, clock.delays]).toEqual([false, []])
  await expect(connection.request(call())).rejects.toThrow(/exited with code 3[^]*out of memory/)
})

test('a ping of the server is answered, everything else is refused', async () => {
  const { line } = setup(SILENCE)
  line.say({ jsonrpc: '2.0', id: 0, method: 'ping' })
  line.say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} })
  await settled()
  expect(sentMessages(line)).toEqual([
    { jsonrpc: '2.0', id: 0, result: {} },
    { jsonrpc: '2.0', id: 'q', error: { code: -32601, message: 'Method not found' } },
  ])
})

test('notifications go to the request that they belong to, or to all', async () => {
  const { connection, line, notified } = setup(SILENCE, { transport: 'streamable-http' })
  const heard: [number, string][] = []
  for (const n of [1, 2]) {
    const onNotification = (method: string) => heard.push([n, method])
    watch(connection.request(call({ wantsProgress: n === 2, onNotification })))
  }
  line.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 2 } })
  line.say({ jsonrpc: '2.0', method: 'notifications/message', params: {} }, 1)
  line.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  line.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 99 } })
  line.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: '1' } })
  await settled()
  expect(heard).toEqual([
    [2, 'notifications/progress'],
    [1, 'notifications/message'],
  ])
  expect(notified.map(({ method }) => method)).toEqual(['notifications/tools/list_changed'])
})

test('what concerns everybody is nobody’s alone, whichever stream brings it', async () => {
  const { connection, line, notified } = setup(SILENCE, { transport: 'streamable-http' })
  const heard: string[] = []
  watch(connection.request(call({ onNotification: (method) => heard.push(method) })))
  line.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, 1)
  line.say({ jsonrpc: '2.0', method: 'notifications/vendor' }, 1)
  await settled()
  expect([notified.map(({ method }) => method), heard]).toEqual([
    ['notifications/tools/list_changed'],
    ['notifications/vendor'],
  ])
})

test('progress that nobody asked for reaches nobody, and is no sign of life', async () => {
  const { connection, line, clock } = setup(SILENCE)
  const heard: string[] = []
  const seen = watch(connection.request(call({ onNotification: (method) => heard.push(method) })))
  await clock.turn(900)
  line.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
  await settled()
  await clock.turn(100)
  expect([heard, seen.code]).toEqual([[], 'UPSTREAM_TIMEOUT'])
})

test.each([
  ['ann', 0],
  ['bob', 1],
] as const)('a log line on a pipe beside a call of %s reaches bob %i times', async (principal, times) => {
  const { connection, line } = setup(SILENCE, { logging: true })
  const heard: string[] = []
  const onNotification = (method: string) => heard.push(method)
  watch(connection.request(call({ principal: 'bob', logLevel: 'info', onNotification })))
  watch(connection.request(call({ principal })))
  line.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 1 } })
  await settled()
  expect(heard).toHaveLength(times)
})

test('a server is told the level ahead of the first call that wants more, and nobody waits for its answer', async () => {
  const { connection, line } = setup(answering({ 'tools/call': (to, id) => to.say(reply(id)) }), {
    logging: true,
  })
  const levels = ['error', 'error', 'debug', undefined] as const
  const seen = levels.map((logLevel) => watch(connection.request(call({ logLevel }))))
  await settled()
  expect(seen.map(({ answer }) => answer)).toEqual(levels.map(() => ({ result: {} })))
  const methods = sentMessages(line).map((message) => 'method' in message && [message.method, message.params])
  expect(methods).toEqual([
    ['logging/setLevel', { level: 'error' }],
    ['tools/call', { name: 'a' }],
    ['tools/call', { name: 'a' }],
    ['logging/setLevel', { level: 'debug' }],
    ['tools/call', { name: 'a' }],
    ['tools/call', { name: 'a' }],
  ])
})

test.each([
  [
    'its own error in a 404',
    status(404, { answer: { error: { code: -32601, message: 'x' } } }),
    undefined,
    undefined,
  ],
  ['credentials', status(401), 'AUTH_REQUIRED', 'no'],
  ['a lost session', status(404), 'HTTP_STATUS', 'no'],
  ['breakage', status(502, { body: 'bad gateway' }), 'HTTP_STATUS', 'unknown'],
  ['nothing sent', { kind: 'network', message: 'refused', sent: false }, 'UPSTREAM_UNREACHABLE', 'no'],
  ['cut off', { kind: 'network', message: 'reset', sent: true }, 'UPSTREAM_UNREACHABLE', 'unknown'],
  ['too large', { kind: 'too-large', bytes: 10 }, 'MESSAGE_TOO_LARGE', 'unknown'],
  [
    'HTML',
    { kind: 'not-json-rpc', status: 200, contentType: 'text/html', body: '' },
    'UPSTREAM_PROTOCOL',
    'unknown',
  ],
] as const)('no answer: %s', async (...[, failure, code, ran]) => {
  const { connection, line } = setup(SILENCE, { transport: 'streamable-http' })
  const answer = connection.request(call())
  line.fail(undefined, failure)
  line.fail(1, failure)
  if (code === undefined) await expect(answer).resolves.toEqual({ error: { code: -32601, message: 'x' } })
  else await expect(answer).rejects.toMatchObject({ code, data: { ran } })
  expect(connection.inFlight).toBe(0)
})
