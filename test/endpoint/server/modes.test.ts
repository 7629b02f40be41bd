// The five modes, and the one event that each request leaves behind.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { withModernEra } from '../../../src/endpoint/server/index.ts'
import type { Mode, ModernEraOptions, ServerEvent } from '../../../src/endpoint/server/index.ts'
import { serve } from './raw-exchange.ts'
import { ADAPTERS, adapters, legacy, modern } from './upgraded.ts'
import type { Adapter, Upgraded } from './upgraded.ts'

interface Watched extends Upgraded {
  readonly ran: string[]
  /** The next event that has not been taken yet. */
  event(): Promise<ServerEvent>
}

async function watched(adapter: Adapter, options: Partial<ModernEraOptions> = {}): Promise<Watched> {
  const { onEvent, event } = eventQueue()
  const ran: string[] = []
  const methods = {
    'tools/list': () => ({ tools: [] }),
    'tools/call': ({ name }: Record<string, unknown>) => {
      ran.push(String(name))
      if (name === 'crash') throw new TypeError('inside')
      return { content: [] }
    },
  }
  const serverInfo = { name: 'hand', version: '1' }
  const server = await ADAPTERS[adapter]({ serverInfo, methods, onEvent, clock: frozen(), ...options })
  return { ...server, ran, event }
}

function eventQueue() {
  const events: ServerEvent[] = []
  const waiting: ((event: ServerEvent) => void)[] = []
  return {
    onEvent: (event: ServerEvent) => {
      const next = waiting.shift()
      if (next === undefined) events.push(event)
      else next(event)
    },
    event: () =>
      new Promise<ServerEvent>((resolve) => {
        const event = events.shift()
        if (event === undefined) waiting.push(resolve)
        else resolve(event)
      }),
  }
}

/** Each look at it is 5 ms later than the one before. */
function frozen() {
  let now = 0
  return { now: () => (now += 5), after: () => ({ cancel() {} }) }
}

const old = { name: 'old', version: '0.1' }
const initialize = legacy('initialize', { protocolVersion: '2025-06-18', clientInfo: old })
const meta = { clientInfo: { name: 'n'.repeat(200), version: '2' } }
const call = modern('tools/call', { name: 'add' }, { meta })

test.each(adapters)('serve, in %s: an event for each request', async (adapter) => {
  const server = await watched(adapter)
  await server.send(initialize)
  const ms = expect.any(Number) as number
  const nothing = { code: undefined, verdict: undefined, originWouldBlock: false }
  expect(await server.event()).toEqual({
    ...nothing,
    era: 'legacy',
    reason: 'method',
    servedBy: 'legacy',
    mode: 'serve',
    verb: 'POST',
    method: 'initialize',
    revision: '2025-06-18',
    status: 299,
    clientInfo: old,
    ms,
  })
  await server.send(call)
  expect(await server.event()).toEqual({
    ...nothing,
    era: 'modern',
    reason: 'marker',
    servedBy: 'modern',
    mode: 'serve',
    verb: 'POST',
    method: 'tools/call',
    revision: '2026-07-28',
    status: 200,
    clientInfo: { name: `${'n'.repeat(59)}…`, version: '2' },
    ms,
  })
  await server.send(modern('nope'))
  expect(await server.event()).toMatchObject({ servedBy: 'modern', status: 404, code: -32601 })
  await server.send(modern('tools/call', { name: 'crash' }))
  const crash = await server.event()
  expect(crash).toMatchObject({ status: 200, code: -32603 })
  expect(crash.thrown).toBeInstanceOf(TypeError)
  await server.send(legacy('server/discover', {}, { origin: 'https://evil.example' }))
  expect(await server.event()).toMatchObject({
    era: 'modern',
    reason: 'method',
    servedBy: 'legacy',
    status: 299,
    originWouldBlock: true,
  })
  await server.send({ method: 'DELETE' })
  expect(await server.event()).toMatchObject({
    reason: 'verb',
    verb: 'DELETE',
    method: undefined,
    servedBy: 'legacy',
  })
  await server.stop()
})

test.each(adapters)('off, in %s: nothing is looked at', async (adapter) => {
  const server = await watched(adapter, { mode: 'off', onEvent: () => expect.unreachable() })
  expect((await server.send(call)).status).toBe(299)
  expect(server.ran).toEqual([])
  await server.stop()
})

test.each(adapters)('observe, in %s: the old server answers, and who probed is told', async (adapter) => {
  const server = await watched(adapter, { mode: 'observe' })
  expect((await server.send(modern('server/discover', {}, { meta }))).status).toBe(299)
  expect(await server.event()).toMatchObject({
    era: 'modern',
    reason: 'marker',
    servedBy: 'legacy',
    mode: 'observe',
    method: 'server/discover',
    verdict: undefined,
    clientInfo: { version: '2' },
  })
  await server.stop()
})

test.each(adapters)(
  'dry-run, in %s: what the answer would have been, and nothing is run',
  async (adapter) => {
    const server = await watched(adapter, { mode: 'dry-run' })
    const rows: [RequestInit, ServerEvent['verdict'] | object][] = [
      [call, { status: 200 }],
      [modern('nope'), { status: 404, code: -32601, message: 'Method not found: nope' }],
      [
        modern('tools/call', { name: 'add' }, { headers: { 'mcp-name': 'sub' } }),
        { status: 400, code: -32020 },
      ],
      [modern('tools/list', {}, { headers: { origin: 'https://evil.example' } }), { status: 403 }],
    ]
    for (const [send, verdict] of rows) {
      expect((await server.send(send)).status).toBe(299)
      const event = await server.event()
      expect(event).toMatchObject({ servedBy: 'legacy', mode: 'dry-run', status: 299, code: undefined })
      expect(event.verdict).toMatchObject(verdict ?? {})
    }
    await server.send(initialize)
    expect((await server.event()).verdict).toBeUndefined()
    expect(server.ran).toEqual([])
    await server.stop()
  },
)

test.each(adapters)(
  'sunset, in %s: only modern requests, and a message for those who cannot',
  async (adapter) => {
    const server = await watched(adapter, { mode: 'sunset', maxBody: 2000 })
    expect((await server.send(call)).status).toBe(200)
    expect(await server.event()).toMatchObject({ servedBy: 'modern', mode: 'sunset' })
    const refused = await server.send(initialize)
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({
      id: 1,
      error: {
        code: -32022,
        message: expect.stringMatching(/2026-07-28.*2025-06-18/) as string,
        data: { supported: ['2026-07-28'], requested: '2025-06-18' },
      },
    })
    expect(await server.event()).toMatchObject({
      era: 'legacy',
      servedBy: 'modern',
      code: -32022,
      clientInfo: old,
    })
    const unmarked = await server.send(legacy('tools/list'))
    expect([unmarked.status, await unmarked.json()]).toMatchObject([400, { error: { code: -32602 } }])
    for (const method of ['GET', 'DELETE']) {
      const response = await server.send({ method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
    const large = await server.send(
      modern('tools/call', { name: 'x'.repeat(3000) }, { headers: { 'mcp-name': 'x' } }),
    )
    if (adapter === 'express after json()') expect(large.status).toBe(400)
    else expect([large.status, await large.json()]).toMatchObject([413, { error: { code: -32600 } }])
    await server.stop()
  },
)

test('sunset answers the question of a page whether it may call, for origins that are allowed', async () => {
  const server = await watched('node', {
    mode: 'sunset',
    origin: { allowed: (origin) => origin.endsWith('.example') },
  })
  const ask = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'mcp-method' }
  const yes = await server.send({ method: 'OPTIONS', headers: { ...ask, origin: 'https://a.example' } })
  expect([yes.status, yes.headers.get('access-control-allow-headers')]).toEqual([204, 'mcp-method'])
  const no = await server.send({ method: 'OPTIONS', headers: { ...ask, origin: 'https://a.test' } })
  expect(no.status).toBe(405)
  await server.stop()
})

test('a mode that is a function is asked for each request', async () => {
  let mode: Mode = 'observe'
  const server = await watched('fetch', { mode: () => mode })
  expect((await server.send(call)).status).toBe(299)
  mode = 'serve'
  expect((await server.send(call)).status).toBe(200)
})

test('an observer that throws disturbs nobody', async () => {
  const onEvent = () => {
    throw new Error('broken observer')
  }
  const server = await watched('node', { onEvent })
  expect((await server.send(call)).status).toBe(200)
  expect((await server.send(initialize)).status).toBe(299)
  await server.stop()
})

test('a body that breaks off leaves an event too, and the old server is not called', async () => {
  const { onEvent, event } = eventQueue()
  const options = { serverInfo: { name: 'hand', version: '1' }, methods: {}, onEvent }
  const server = await serve(withModernEra(() => expect.unreachable(), options))
  const socket = connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.end('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"jsonrpc"')
  expect(await event()).toMatchObject({ reason: 'unread', servedBy: 'legacy', status: undefined })
  await server.stop()
})

test('options with which nothing could be served are refused at once', () => {
  const options = { serverInfo: { name: 'hand', version: '1' }, methods: {} }
  const handler = () => {}
  expect(() => withModernEra(handler, { ...options, mode: 'on' as Mode })).toThrow(/mode must be one of off,/)
  const methods = { 'tools/list': 1 } as unknown as ModernEraOptions['methods']
  expect(() => withModernEra(handler, { ...options, methods })).toThrow(/methods\["tools\/list"\]/)
})
