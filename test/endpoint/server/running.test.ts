// What a method is given, what it may send on the way, and what becomes of its result.
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { withModernEra } from '../../../src/endpoint/server/index.ts'
import type { Method, MethodContext, ModernEraOptions } from '../../../src/endpoint/server/index.ts'
import { createManualClock } from '../../transport/manual-clock.ts'
import { serve } from './raw-exchange.ts'
import { ADAPTERS, adapters, modern } from './upgraded.ts'

const optionsOf = (call: Method, more: Partial<ModernEraOptions> = {}): ModernEraOptions => ({
  serverInfo: { name: 'hand', version: '1.0.0' },
  methods: { 'tools/call': call, 'tools/list': () => ({ tools: [] }), ...more.methods },
  ...more,
})

const events = (text: string): unknown[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => JSON.parse(event.slice('data: '.length)) as unknown)

const call = (meta: object = {}, headers: object = {}) =>
  modern('tools/call', { name: 'add' }, { meta, headers })

describe.each(adapters)('%s', (adapter) => {
  test('a method is given what the request says of its client', async () => {
    let seen: MethodContext | undefined
    let given: unknown
    const method: Method = (params, context) => {
      seen = context
      given = params
      return { content: [] }
    }
    const server = await ADAPTERS[adapter](optionsOf(method))
    const meta = {
      clientInfo: { name: 'c', version: '1' },
      clientCapabilities: { roots: {} },
      logLevel: 'info',
    }
    await server.send(call(meta, { authorization: 'Bearer x' }))
    expect(seen).toMatchObject({
      clientInfo: { name: 'c', version: '1' },
      clientCapabilities: { roots: {} },
      protocolVersion: '2026-07-28',
      logLevel: 'info',
      headers: { authorization: 'Bearer x' },
    })
    expect(seen?.signal.aborted).toBe(false)
    expect(seen?.request).toBeTypeOf('object')
    expect(given).toMatchObject({ name: 'add' })
    await server.stop()
  })

  test('progress and logs make the answer a stream, for a client that asked for them', async () => {
    const method: Method = (_, context) => {
      context.progress({ progress: 1, total: 2 })
      context.log({ level: 'debug', data: 'too fine' })
      context.log({ level: 'warning', data: 'said' })
      return { content: [] }
    }
    const server = await ADAPTERS[adapter](optionsOf(method))
    const response = await server.send(call({ logLevel: 'info', progressToken: 0 }))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(events(await response.text())).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progress: 1, total: 2, progressToken: 0 },
      },
      { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', data: 'said' } },
      expect.objectContaining({
        id: 1,
        result: expect.objectContaining({ resultType: 'complete' }) as object,
      }),
    ])
    const asked: [object, object][] = [
      [{}, {}],
      [{ logLevel: 'error' }, {}],
      [{ logLevel: 'info', progressToken: 1 }, { accept: 'application/json' }],
    ]
    for (const [meta, headers] of asked) {
      const plain = await server.send(call(meta, headers))
      expect(plain.headers.get('content-type')).toBe('application/json')
      expect(await plain.json()).toMatchObject({ id: 1, result: { content: [] } })
    }
    await server.stop()
  })

  test('a client that goes away aborts the signal', async () => {
    let aborted: (signal: AbortSignal) => void = () => {}
    const signal = new Promise<AbortSignal>((resolve) => (aborted = resolve))
    let started: () => void = () => {}
    const running = new Promise<void>((resolve) => (started = resolve))
    const method: Method = (_, context) =>
      new Promise((resolve) => {
        context.signal.addEventListener('abort', () => {
          aborted(context.signal)
          context.progress({ progress: 9 })
          resolve({ content: [] })
        })
        context.progress({ progress: 1 })
        started()
      })
    const server = await ADAPTERS[adapter](optionsOf(method))
    const client = new AbortController()
    const response = await server.send({ ...call({ progressToken: 1 }), signal: client.signal })
    await running
    client.abort()
    expect((await signal).reason).toMatchObject({ message: 'the client closed the connection' })
    await response.text().catch(() => '')
    await server.stop()
  })

  test('a large result after the first event arrives whole', async () => {
    const text = 'x'.repeat(20 * 2 ** 20)
    const method: Method = (_, context) => {
      context.progress({ progress: 1 })
      return { content: [{ type: 'text', text }] }
    }
    const server = await ADAPTERS[adapter](optionsOf(method))
    const response = await server.send(call({ progressToken: 1 }))
    const parts = (await response.text()).split('\n\n').filter(Boolean)
    expect(parts).toHaveLength(2)
    expect(parts[1]?.length).toBeGreaterThan(text.length)
    await server.stop()
  })

  test('silence is broken by comments', async () => {
    const clock = createManualClock()
    let finish: (result: object) => void = () => {}
    let started: () => void = () => {}
    const running = new Promise<void>((resolve) => (started = resolve))
    const method: Method = () =>
      new Promise((resolve) => {
        finish = resolve
        started()
      })
    const server = await ADAPTERS[adapter](optionsOf(method, { clock, keepAlive: 1000 }))
    const response = server.send(call())
    await running
    await clock.advance(999)
    await clock.advance(1)
    await clock.advance(1000)
    finish({ content: [] })
    const text = await (await response).text()
    expect(text).toMatch(/^:\n\n:\n\ndata: \{"jsonrpc"/)
    await server.stop()
  })
})

test('a signal is not aborted by a connection that closes after the answer', async () => {
  let signal: AbortSignal | undefined
  const options = optionsOf((_, context) => {
    signal = context.signal
    return { content: [] }
  })
  const server = await serve(withModernEra(() => {}, options))
  const { body, headers } = call()
  const socket = connect(server.port, '127.0.0.1')
  const fields = Object.entries({
    ...headers,
    host: 'a',
    connection: 'close',
    'content-length': String(body.length),
  })
  socket.write(
    `POST / HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  )
  socket.resume()
  await once(socket, 'close')
  expect(signal?.aborted).toBe(false)
  await server.stop()
})

test('results say what the revision demands: their own word first, then the hints, then nothing kept', async () => {
  const server = await ADAPTERS.fetch(
    optionsOf(() => ({ content: [], _meta: { own: 1 } }), {
      methods: {
        'tools/call': () => ({ content: [], _meta: { own: 1 } }),
        'tools/list': () => ({ tools: [{ name: 'a', inputSchema: {}, execution: {} }] }),
        'prompts/list': () => ({ prompts: [], ttlMs: 1, cacheScope: 'public' }),
        'resources/list': () => ({ resources: [] }),
        'resources/read': () => ({ resultType: 'input_required', inputRequests: {} }),
      },
      hints: {
        'tools/list': { ttlMs: 60_000, cacheScope: 'public' },
        'prompts/list': { ttlMs: 5 },
        'resources/list': { cacheScope: 'public', ttlMs: undefined },
      },
    }),
  )
  const resultOf = async (method: string, params: Record<string, unknown> = {}) =>
    ((await (await server.send(modern(method, params))).json()) as { result: object }).result
  const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'hand', version: '1.0.0' } }
  const complete = { resultType: 'complete', _meta }
  expect(await resultOf('tools/list')).toEqual({
    ...complete,
    tools: [{ name: 'a', inputSchema: {} }],
    ttlMs: 60_000,
    cacheScope: 'public',
  })
  expect(await resultOf('prompts/list')).toEqual({ ...complete, prompts: [], ttlMs: 1, cacheScope: 'public' })
  expect(await resultOf('resources/list')).toEqual({
    ...complete,
    resources: [],
    ttlMs: 0,
    cacheScope: 'public',
  })
  expect(await resultOf('tools/call', { name: 'a' })).toEqual({
    resultType: 'complete',
    content: [],
    _meta: { own: 1, ..._meta },
  })
  expect(await resultOf('resources/read', { uri: 'a:b' })).toEqual({
    resultType: 'input_required',
    inputRequests: {},
    _meta,
  })
})

test('the list behind parameter headers is read to its end, and kept only where its hints call it public', async () => {
  let pages = 0
  const clock = createManualClock()
  const methods: ModernEraOptions['methods'] = {
    'tools/call': () => ({ content: [] }),
    'tools/list': ({ cursor }) => {
      pages++
      if (cursor === undefined) return { tools: [], nextCursor: 'two' }
      const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } }
      return { tools: [{ name: 'add', inputSchema: { type: 'object', properties } }] }
    },
  }
  const wrong = modern('tools/call', { name: 'add', arguments: { region: 'eu' } })
  const open = await ADAPTERS.fetch(optionsOf(() => ({}), { methods, clock }))
  for (const expected of [2, 4]) {
    expect((await open.send(wrong)).status).toBe(400)
    expect(pages).toBe(expected)
  }
  pages = 0
  const hints = { 'tools/list': { ttlMs: 1000, cacheScope: 'public' as const } }
  const kept = await ADAPTERS.fetch(optionsOf(() => ({}), { methods, hints, clock }))
  for (const [ms, expected] of [
    [0, 2],
    [999, 2],
    [1, 4],
  ] as const) {
    await clock.advance(ms)
    expect((await kept.send(wrong)).status).toBe(400)
    expect(pages).toBe(expected)
  }
})
