// What a daemon tells of real clients of both eras, and of those that have trouble.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import { exchange, post } from '../peers/exchange.ts'
import { ROOT, startChild, startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { openSdkV1, openSdkV2 } from '../peers/sdk-clients.ts'
import { fixture } from '../peers/workspace.ts'
import { clientsOf, initialize, metricsOf, modernHeaders, modernRequest, outcomesOf } from './observed.ts'

let daemon: Daemon
beforeEach(async () => {
  daemon = await startDaemon(
    { mcpServers: { one: fixture('legacy-stdio') } },
    { MCPX_HTTP_MAX_BODY: '64KiB' },
  )
})
afterEach(() => daemon.stop())

const discover = (version: string, name = 'x') => modernRequest('server/discover', name, version)
/** Posts a request whose version nobody serves. */
const refused = (name: string) =>
  post(daemon.url, discover('2099-01-01', name), modernHeaders('server/discover', '2099-01-01'))
const withoutTimes = { at: expect.any(Number), ms: expect.any(Number) }

test('an SDK client that asks in which era to speak is served modern at once and does not fall back', async () => {
  const modern = await openSdkV2({ url: daemon.url }, 'auto')
  await modern.callTool('echo', { message: 'hi' })
  await modern.close()
  const { clients, fallback, stuck } = await clientsOf(daemon.v1)
  expect([fallback, stuck]).toEqual([{ pairs: 0, rate: null, lostMs: 0 }, 0])
  expect(clients).toMatchObject([
    {
      ...{ name: 'sdk-client', version: '1.0.0', transport: 'http', principal: 'local' },
      ...{ era: 'modern', asked: '2026-07-28', served: '2026-07-28', refusals: 0, stuck: false },
      eras: { legacy: null },
    },
  ])

  const legacy = await openSdkV1({ url: daemon.url })
  await legacy.callTool('echo', { message: 'hi' })
  await legacy.close()
  const after = await clientsOf(daemon.v1)
  expect(after.fallback).toEqual({ pairs: 0, rate: 0, lostMs: 0 })
  expect(after.clients).toMatchObject([
    {
      era: 'legacy',
      eras: { legacy: { asked: '2025-11-25', served: '2025-11-25' }, modern: { asked: '2026-07-28' } },
    },
  ])
})

test('a client that is refused a version and then initializes is one fallback pair', async () => {
  expect((await refused('x')).status).toBe(400)
  expect((await post(daemon.url, initialize('x'))).status).toBe(200)
  const { clients, fallback } = await clientsOf(daemon.v1)
  expect(fallback).toMatchObject({ pairs: 1, rate: 1 })
  expect(clients).toMatchObject([{ name: 'x', fallbackPairs: 1, requests: 2, refusals: 1, stuck: false }])
  const samples = await metricsOf(daemon.v1)
  expect(samples).toContainEqual({ name: 'mcpx_fallback_pairs_total', labels: {}, value: 1 })
  expect(samples).toContainEqual({
    ...{ name: 'mcpx_fallback_lost_seconds_total', labels: {}, value: fallback.lostMs / 1000 },
  })
})

test('a client that only ever gets 400 is stuck, until it succeeds', async () => {
  for (let i = 0; i < 3; i++) await refused('broken')
  await post(daemon.url, initialize('fine'))
  const { clients, stuck } = await clientsOf(daemon.v1)
  expect(stuck).toBe(1)
  expect(clients.map(({ name, stuck: isStuck }) => [name, isStuck])).toEqual([
    ['fine', false],
    ['broken', true],
  ])
  expect(clients[1]).toMatchObject({
    ...{ asked: '2099-01-01', served: null, stuckSince: clients[1]?.firstSeen },
    lastError: { era: 'modern', status: 400, code: -32022, method: 'server/discover' },
  })
  const gauge = async () =>
    (await metricsOf(daemon.v1)).find(({ name }) => name === 'mcpx_stuck_clients')?.value
  expect(await gauge()).toBe(1)
  await post(daemon.url, discover('2026-07-28', 'broken'), modernHeaders('server/discover'))
  expect(await gauge()).toBe(0)
})

test('every request has one event, refusals too', async () => {
  const { url } = daemon
  const { headers } = await post(url, initialize('a', '2030-01-01'))
  const session = { 'mcp-session-id': String(headers['mcp-session-id']) }
  await post(
    url,
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } },
    session,
  )
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, session)
  await post(url, modernRequest('tools/list', 'b'), modernHeaders('tools/list'))
  await post(url, { jsonrpc: '2.0', id: 3, method: 'server/discover' })
  await post(url, { jsonrpc: '2.0', id: 3, method: 'tools/list' }, { 'mcp-protocol-version': '2026-07-28' })
  await post(url, initialize('a'), { origin: 'https://evil.example' })
  await post(url, 'x'.repeat(70_000), { 'mcp-protocol-version': '2026-07-28' })
  await post(url, '{')
  await post(url, { jsonrpc: '2.0', id: 4, method: 'ping' }, { 'mcp-session-id': 'gone' })
  await post(`${url}/nobody`, initialize('a'))
  await exchange(url, { verb: 'DELETE', headers: session })
  const batch = ['ping', 'no/such', 'notifications/initialized'].map((method, id) => ({
    ...{ jsonrpc: '2.0', method },
    ...(id < 2 && { id }),
  }))
  await post(url, batch, { 'mcp-protocol-version': '2025-03-26' })
  // Its server refuses the method, not the endpoint; the status is that of a refusal all the same.
  await post(url, modernRequest('no/such', 'b'), modernHeaders('no/such'))

  const outcomes = await outcomesOf(daemon.v1, 15)
  const a = { client: { name: 'a', version: '1' } }
  const nobody = { client: { name: null, version: null } }
  const newest = { asked: '2030-01-01', served: '2025-11-25' }
  const ok = { status: 200, code: null, refused: false }
  const legacy = { era: 'legacy', reason: 'session', served: '2025-11-25', asked: null, ...a }
  const modern = { era: 'modern', reason: 'marker', asked: '2026-07-28', served: '2026-07-28' }
  const no = (status: number, code: number) => ({ ...nobody, served: null, status, code, refused: true })
  const old = { era: 'legacy', reason: 'default', asked: '2025-03-26', served: '2025-03-26', ...nobody }
  expect(outcomes).toEqual(
    [
      { ...legacy, ...newest, ...ok, reason: 'method', method: 'initialize' },
      { ...legacy, ...ok, method: 'tools/call' },
      { ...legacy, ...ok, status: 202, method: 'notifications/initialized' },
      { ...modern, ...ok, client: { name: 'b', version: '1' }, method: 'tools/list' },
      { ...modern, ...no(400, -32602), reason: 'method', asked: null, method: 'server/discover' },
      { ...modern, ...no(400, -32602), reason: 'header', method: 'tools/list' },
      {
        ...no(403, -32600),
        ...{ era: null, reason: null, asked: null, method: 'other', principal: '(unknown)' },
      },
      { ...modern, ...no(413, -32600), reason: null, method: 'other' },
      { ...no(400, -32700), era: null, reason: null, asked: null, method: 'other' },
      { ...legacy, ...no(404, -32600), reason: 'default', method: 'ping' },
      { ...no(404, -32602), era: null, reason: null, asked: null, method: 'other' },
      { ...legacy, ...ok, reason: null, method: 'other' },
      { ...old, ...ok, method: 'ping' },
      { ...old, ...ok, code: -32601, method: 'other' },
      { ...modern, ...no(404, -32601), client: { name: 'b', version: '1' }, method: 'other' },
    ].map((outcome, index) => ({
      ...{ id: index + 1, transport: 'http', principal: 'local', remote: '127.0.0.1', agent: null },
      ...withoutTimes,
      ...outcome,
    })),
  )
  expect((await clientsOf(daemon.v1)).ambiguous).toEqual({ header: 1, method: 1 })
})

test('clients on a pipe are told of like those over HTTP', async () => {
  await using modern = await openRaw(daemon.serve(), '2026-07-28')
  await modern.callTool('echo', { message: 'hi' })
  await using legacy = await openRaw(daemon.serve(), '2025-06-18')
  await legacy.callTool('echo', { message: 'hi' })
  const { clients, requests, fallback } = await clientsOf(daemon.v1)
  expect(fallback.pairs).toBe(0)
  expect(requests).toEqual({ modern: 2, legacy: 2, unknown: 0 })
  expect(clients).toMatchObject([
    {
      ...{ transport: 'stdio', remote: null, agent: null, stuck: false, era: 'legacy' },
      eras: { legacy: { asked: '2025-06-18', served: '2025-06-18' }, modern: { served: '2026-07-28' } },
    },
  ])
  const outcomes = await outcomesOf(daemon.v1, 4)
  expect(outcomes.map(({ method, status, code, refused: no }) => [method, status, code, no])).toEqual([
    ['server/discover', null, null, false],
    ['tools/call', null, null, false],
    ['initialize', null, null, false],
    ['tools/call', null, null, false],
  ])
})

test('over HTTP+SSE a refused POST is told of, and what is asked counts as asked on a pipe', async () => {
  await using hosted = await startDaemon(
    { mcpServers: { one: fixture('legacy-stdio') } },
    { MCPX_LEGACY_SSE: 'true' },
  )
  const { origin } = new URL(hosted.url)
  expect((await post(`${origin}/messages?sessionId=gone`, initialize('a'))).status).toBe(404)
  const reader = (await fetch(`${origin}/sse`)).body?.getReader()
  const first = await reader?.read()
  const path = /^data: (.*)$/m.exec(new TextDecoder().decode(first?.value))?.[1]
  await post(`${origin}${path}`, initialize('a'))
  const outcomes = await outcomesOf(hosted.v1, 2)
  expect(outcomes).toMatchObject([
    { transport: 'http', method: 'other', status: 404, code: -32600, refused: true },
    { transport: 'stdio', method: 'initialize', status: null, refused: false, client: { name: 'a' } },
  ])
  await reader?.cancel()
})

test('a refusal on a pipe is one, and a line that is no message too', async () => {
  await using child = startChild(daemon.serve())
  child.stdin.write(
    `${JSON.stringify(discover('2099-01-01'))}\nnonsense\n${JSON.stringify(initialize('x'))}\n`,
  )
  const outcomes = await outcomesOf(daemon.v1, 3)
  expect(outcomes.map(({ method, code, refused: no }) => [method, code, no])).toEqual(
    expect.arrayContaining([
      ['initialize', null, false],
      ['other', -32700, true],
      ['server/discover', -32022, true],
    ]),
  )
  expect((await clientsOf(daemon.v1)).clients.find(({ name }) => name === 'x')).toMatchObject({
    stuck: false,
  })
})

test('5,000 names, methods and versions leave the table and the labels small', async () => {
  await post(daemon.url, initialize('seen first'))
  const send = async (i: number) => {
    const body = JSON.stringify(modernRequest(`method/${i}`, `client ${i}`, `2100-${i}`))
    const headers = { 'content-type': 'application/json', 'user-agent': `agent/${i}` }
    await (await fetch(daemon.url, { method: 'POST', headers, body })).arrayBuffer()
  }
  for (let i = 0; i < 5000; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => send(i + k)))
  const { clients, forgotten, stuck, requests } = await clientsOf(daemon.v1)
  expect([clients.length, forgotten, stuck]).toEqual([1000, 4001, 1000])
  expect(requests.modern).toBe(5000)
  const samples = await metricsOf(daemon.v1)
  const counts = samples.filter(({ name }) => name === 'mcpx_requests_total')
  expect(counts).toHaveLength(2)
  expect(counts).toContainEqual({
    ...{ name: 'mcpx_requests_total', value: 5000 },
    labels: { era: 'modern', revision: '__other__', method: 'other', status: '400', code: '-32022' },
  })
  const own = samples.filter(({ name }) => name.startsWith('mcpx_'))
  expect(own.length).toBeLessThan(60)
}, 180_000)

test('what a client calls itself is clipped', async () => {
  await post(daemon.url, initialize('n'.repeat(500), 'v'.repeat(500)))
  const [client] = (await clientsOf(daemon.v1)).clients
  expect([client?.name?.length, client?.asked?.length]).toEqual([60, 60])
})

test('/metrics counts sessions, servers and the process', async () => {
  await using client = await openRaw({ url: daemon.url }, '2025-11-25')
  await client.listTools()
  const samples = await metricsOf(daemon.v1)
  expect(samples).toContainEqual({ name: 'mcpx_sessions', labels: {}, value: 1 })
  expect(samples).toContainEqual({ name: 'mcpx_upstreams', labels: { state: 'ready' }, value: 1 })
  expect(samples).toContainEqual({ name: 'mcpx_upstreams', labels: { state: 'failed' }, value: 0 })
  expect(samples).toContainEqual({
    name: 'mcpx_request_duration_seconds_count',
    labels: { era: 'legacy', method: 'tools/list' },
    value: 1,
  })
  expect(samples.some(({ name, value }) => name === 'process_cpu_seconds_total' && value > 0)).toBe(true)
})

test('only the daemon loads the library of /metrics', () => {
  const load = (module: string) => {
    const url = JSON.stringify(pathToFileURL(join(ROOT, 'dist', module)).href)
    const script = `await import(${url}); const { createRequire } = await import('node:module')
      console.log(Object.keys(createRequire(${url}).cache).some((path) => path.includes('prom-client')))`
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    }).stdout.trim()
  }
  expect([load('http/index.js'), load('http/metrics.js')]).toEqual(['false', 'true'])
})
