// Servers over HTTP that change under a connection: a session is lost, the server is upgraded or put back, the port is closed.
import { expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import type { JsonObject } from '../peers/peer.ts'
import { openRawHttp } from '../peers/raw-http.ts'
import { openWorkspace } from '../peers/workspace.ts'
import { dual, legacy, modern, openingsOf, openUpstream, refuse } from './http-upstream.ts'
import type { Asked, HttpUpstream, Reply } from './http-upstream.ts'
import { startIn, watch } from './setup.ts'
import type { Watch } from './setup.ts'

const onlyOne = (upstream: HttpUpstream) => ({
  mcpServers: { one: { url: upstream.url, callTimeout: '20s' } },
})
const times = ({ asked }: HttpUpstream, method: string) => asked.filter((one) => one.method === method).length

/** A server whose sessions speak the newest revision, whatever was asked for, and so lack what it dropped. */
function newestOnSessions(whatItLacks: (asked: Asked) => Reply) {
  const server = legacy((asked) => {
    if (asked.method === 'server/discover') return refuse(asked, -32601)
    return ['logging/setLevel', 'ping', 'resources/subscribe'].includes(asked.method)
      ? whatItLacks(asked)
      : undefined
  })
  const behaviour = (asked: Asked) =>
    server.behaviour(
      asked.method === 'initialize'
        ? { ...asked, params: { ...asked.params, protocolVersion: '2026-07-28' } }
        : asked,
    )
  return { ...server, behaviour }
}

test.each(['-32020', 'the end of its session'])(
  'case C09: a session in the newest revision is driven by its methods; for others it would answer with %s',
  async (how) => {
    const server = newestOnSessions((asked) => {
      if (how !== '-32020') server.lose()
      return refuse(asked, -32020, { status: 400 })
    })
    await using upstream = await openUpstream(server.behaviour)
    await using workspace = await openWorkspace(onlyOne(upstream))
    await using daemon = await startIn(workspace)
    await using client = await openRawHttp(`${daemon.url}/one`, { revision: '2025-11-25' })
    for (const level of ['debug', 'error'])
      expect(await client.request('logging/setLevel', { level })).toMatchObject({ result: {} })
    expect(await client.request('ping')).toMatchObject({ result: {} })
    expect(await client.request('tools/call', { name: 'era' })).toMatchObject({
      result: { content: [{ text: 'legacy' }] },
    })
    expect((await daemon.protocol('one')).live).toMatchObject({ era: 'legacy', revision: '2026-07-28' })
    expect(server.opened).toHaveLength(1)
    const sessions = upstream.asked.slice(2).map(({ headers }) => headers['mcp-session-id'])
    expect(new Set(sessions)).toEqual(new Set(server.opened))
    expect(times(upstream, 'logging/setLevel') + times(upstream, 'ping')).toBe(0)
  },
)

test('case C16: after a restart a session is opened anew, and what the lost one refused is sent once more', async () => {
  const server = legacy()
  await using upstream = await openUpstream(server.behaviour)
  await using workspace = await openWorkspace(onlyOne(upstream))
  await using daemon = await startIn(workspace)
  expect((await daemon.call('one', 'era')).said).toBe('legacy')

  server.lose()
  upstream.forget()
  // A 404 proves that the call did not run.
  expect((await daemon.call('one', 'era')).said).toBe('legacy')
  expect(
    upstream.asked.map(({ method }) => method).filter((method) => method.startsWith('tools/call')),
  ).toHaveLength(2)
  expect(openingsOf(upstream.asked)).toBe('initialize')
  expect(server.opened).toHaveLength(2)
  const calls = upstream.asked.filter(({ method }) => method === 'tools/call')
  expect(calls.map(({ headers }) => headers['mcp-session-id'])).toEqual(server.opened)

  // A server that refuses every session is not asked for ever.
  upstream.behave((asked) =>
    asked.method === 'tools/call' ? refuse(asked, -32001, { status: 404 }) : server.behaviour(asked),
  )
  upstream.forget()
  expect(await daemon.call('one', 'era')).toMatchObject({ status: 502 })
  expect(times(upstream, 'tools/call')).toBe(2)
})

test('a 404 for a method that a legacy server lacks is its answer, and no session is opened over it', async () => {
  const server = legacy((asked) =>
    asked.method === 'tools/call' ? refuse(asked, -32601, { status: 404 }) : undefined,
  )
  await using upstream = await openUpstream(server.behaviour)
  await using workspace = await openWorkspace(onlyOne(upstream))
  await using daemon = await startIn(workspace)
  expect(await daemon.call('one', 'era')).toMatchObject({ status: 502, said: 'UPSTREAM_ERROR' })
  expect(times(upstream, 'tools/call')).toBe(1)
  expect(server.opened).toHaveLength(1)
})

const eras = [
  { era: 'legacy', behaviour: () => legacy().behaviour },
  { era: 'modern', behaviour: modern },
]

test.each(eras)(
  'case C16: a $era call whose connection broke is not sent again and says that it may have run',
  async ({ era, behaviour }) => {
    const whole = behaviour()
    await using upstream = await openUpstream(whole)
    await using workspace = await openWorkspace(onlyOne(upstream))
    await using daemon = await startIn(workspace)
    expect((await daemon.call('one', 'era')).said).toBe(era)

    upstream.behave((asked) => (asked.method === 'tools/call' ? 'cut' : whole(asked)))
    upstream.forget()
    const { status, said, body } = await daemon.call('one', 'era')
    expect({ status, said }).toEqual({ status: 502, said: 'UPSTREAM_UNREACHABLE' })
    expect(body['detail']).toMatch(/tools\/call on server "one" got no answer: .*It may have run\.$/)
    expect(times(upstream, 'tools/call')).toBe(1)

    upstream.behave(whole)
    expect((await daemon.call('one', 'era')).said).toBe(era)
  },
)

test.each(eras)('case C16: a $era list whose connection broke is asked for again', async ({ behaviour }) => {
  const whole = behaviour()
  let lists = 0
  await using upstream = await openUpstream((asked) =>
    asked.method === 'tools/list' && ++lists === 1 ? 'cut' : whole(asked),
  )
  await using workspace = await openWorkspace(onlyOne(upstream))
  await using daemon = await startIn(workspace)
  await using client = await openRaw({ url: `${daemon.url}/one` }, '2025-11-25')
  expect(await client.listTools()).toMatchObject([{ name: 'era' }])
  expect(times(upstream, 'tools/list')).toBe(2)
})

test('case C17: only the server that lost its session is opened again, and the session of the caller goes on', async () => {
  const servers = [legacy(), legacy(), legacy()]
  const upstreams = await Promise.all(servers.map(({ behaviour }) => openUpstream(behaviour)))
  try {
    const mcpServers = Object.fromEntries(upstreams.map(({ url }, index) => [`s${index}`, { url }]))
    await using workspace = await openWorkspace({ mcpServers })
    await using daemon = await startIn(workspace)
    await using client = await openRawHttp(daemon.url, { revision: '2025-11-25' })
    const callAll = () =>
      Promise.all([0, 1, 2].map((n) => client.request('tools/call', { name: `s${n}__era` })))
    await callAll()
    servers[1]?.lose()
    for (const answer of await callAll())
      expect(answer).toMatchObject({ result: { content: [{ text: 'legacy' }] } })
    expect(servers.map(({ opened }) => opened.length)).toEqual([1, 2, 1])
    const sent = client.frames.filter(({ direction }) => direction === 'out').slice(1)
    expect(new Set(sent.map(({ http }) => http?.headers['mcp-session-id']))).toEqual(
      new Set([client.session]),
    )
  } finally {
    for (const upstream of upstreams) await upstream[Symbol.asyncDispose]()
  }
})

test('a legacy server that is upgraded to modern only is found so by the next call, which is sent once more', async () => {
  await using upstream = await openUpstream(legacy().behaviour)
  await using workspace = await openWorkspace(onlyOne(upstream))
  await using daemon = await startIn(workspace)
  await using events = await watch(daemon.v1, 0)
  expect((await daemon.call('one', 'era')).said).toBe('legacy')
  upstream.behave(modern('2.0.0'))
  upstream.forget()
  expect((await daemon.call('one', 'era')).said).toBe('modern')
  expect((await daemon.call('one', 'era')).said).toBe('modern')
  expect(times(upstream, 'tools/call')).toBe(3)
  expect(openingsOf(upstream.asked)).toBe('discover')
  const { live, record } = await daemon.protocol('one')
  expect([live?.era, record?.era]).toEqual(['modern', 'modern'])
  expect(await staleIn(events)).toMatchObject({
    server: 'one',
    was: { era: 'legacy' },
    revision: '2026-07-28',
  })
})

test('case C11: a legacy server that is upgraded to both eras tells by its version, and is modern at the next start', async () => {
  await using upstream = await openUpstream(legacy().behaviour)
  await using workspace = await openWorkspace(onlyOne(upstream))
  {
    await using daemon = await startIn(workspace)
    await using events = await watch(daemon.v1, 0)
    expect((await daemon.call('one', 'era')).said).toBe('legacy')
    upstream.behave(dual('2.0.0'))
    upstream.forget()
    // Its session is gone with the old server; the new one answers `initialize` all the same.
    expect((await daemon.call('one', 'era')).said).toBe('legacy')
    expect(openingsOf(upstream.asked)).toBe('initialize')
    expect(await staleIn(events)).toMatchObject({ server: 'one', was: { era: 'legacy' } })
  }
  upstream.forget()
  await using daemon = await startIn(workspace)
  expect((await daemon.call('one', 'era')).said).toBe('modern')
  expect(openingsOf(upstream.asked)).toBe('discover')
})

async function staleIn(events: Watch): Promise<JsonObject | undefined> {
  const isStale = ({ type }: { readonly type: string }) => type === 'server.era.stale'
  return (await events.until((all) => all.some(isStale))).find(isStale)?.data
}

test('a modern server that is put back to legacy fails one call, which may have run, and serves the next', async () => {
  const older = legacy()
  await using upstream = await openUpstream(modern())
  await using workspace = await openWorkspace(onlyOne(upstream))
  await using daemon = await startIn(workspace)
  await using events = await watch(daemon.v1, 0)
  expect((await daemon.call('one', 'era')).said).toBe('modern')
  upstream.behave(older.behaviour)
  upstream.forget()
  expect(await daemon.call('one', 'era')).toMatchObject({ status: 502, said: 'HTTP_STATUS' })
  expect(times(upstream, 'tools/call')).toBe(1)
  expect((await daemon.call('one', 'era')).said).toBe('legacy')
  expect(openingsOf(upstream.asked)).toBe('discover initialize')
  const { live, record } = await daemon.protocol('one')
  expect([live?.era, record?.era]).toEqual(['legacy', 'legacy'])
  expect(await staleIn(events)).toMatchObject({ was: { era: 'modern' }, revision: '2025-11-25' })
})

test('a server whose port is closed for a while is found again, and no era is forgotten over it', async () => {
  const server = legacy()
  await using upstream = await openUpstream(server.behaviour)
  await using workspace = await openWorkspace(onlyOne(upstream))
  await using daemon = await startIn(workspace)
  expect((await daemon.call('one', 'era')).said).toBe('legacy')
  await upstream.down()
  upstream.forget()
  const refused = await daemon.call('one', 'era')
  expect(refused).toMatchObject({ status: 502, said: 'UPSTREAM_UNREACHABLE' })
  expect(refused.body['detail']).toMatch(/ECONNREFUSED/)
  expect((await daemon.protocol('one')).record?.era).toBe('legacy')
  await upstream.up()
  // The pool waits a little longer after each failure.
  let back = await daemon.call('one', 'era')
  while (back.status !== 200) back = await daemon.call('one', 'era')
  expect(back.said).toBe('legacy')
  expect(openingsOf(upstream.asked)).toBe('initialize')
})
