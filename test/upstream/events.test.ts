// `GET /v1/events`: what happens to servers arrives as it happens, and a reader who was away catches up, or learns that it cannot.
import { expect, test } from 'vitest'
import { openWorkspace } from '../peers/workspace.ts'
import { dual, legacy, openUpstream } from './http-upstream.ts'
import { recorded, startIn, watch } from './setup.ts'
import type { Event } from './setup.ts'

const count = (events: readonly Event[], type: string) => events.filter((event) => event.type === type).length
const idsOf = (events: readonly Event[]) => events.map(({ id }) => id)
const inTurn = (from: number, count_: number) => Array.from({ length: count_ }, (_, n) => from + n)

test('starts, stops and records that were wrong arrive, and those who come back get what they missed', async () => {
  await using upstream = await openUpstream(legacy().behaviour)
  const config = { mcpServers: { one: { url: upstream.url, idleTimeout: '1ms' } } }
  await using workspace = await openWorkspace(config)
  await using daemon = await startIn(workspace)
  await using first = await watch(daemon.v1, 0)
  await daemon.call('one', 'era')
  const seen = [...(await first.until((all) => count(all, 'server.stop') > 0))]
  expect(seen[0]).toEqual({
    id: 1,
    type: 'server.start',
    data: {
      ...{ server: 'one', lane: 'main', era: 'legacy', revision: '2025-11-25' },
      ...{ eraSource: 'probe', transport: 'streamable-http', ms: expect.any(Number) },
    },
  })
  expect(seen.find(({ type }) => type === 'server.stop')?.data).toEqual({
    server: 'one',
    lane: 'main',
    reason: { kind: 'closed' },
  })

  // While nobody reads: another version of the server.
  await first[Symbol.asyncDispose]()
  const last = seen.at(-1)?.id ?? 0
  upstream.behave(dual('2.0.0'))
  await using later = await watch(daemon.v1)
  await daemon.call('one', 'era')
  await later.until((all) => count(all, 'server.era.stale') > 0 && count(all, 'server.start') > 0)

  await using back = await watch(daemon.v1, last)
  const missed = await back.until(
    (all) => count(all, 'server.era.stale') > 0 && count(all, 'server.start') > 0,
  )
  expect(idsOf(missed)).toEqual(inTurn(last + 1, missed.length))
  expect(missed.find(({ type }) => type === 'server.era.stale')?.data).toMatchObject({
    server: 'one',
    was: { era: 'legacy', source: 'probe' },
  })
  expect(count(missed, 'gap')).toBe(0)
})

test('a start that failed and a process that went away tell why', async () => {
  await using workspace = await openWorkspace({
    mcpServers: { broken: recorded('', 'stack-trace'), frail: recorded('', 'crashes-mid-call') },
  })
  await using daemon = await startIn(workspace)
  await using events = await watch(daemon.v1, 0)
  expect((await daemon.call('frail', 'crash')).status).toBe(502)
  const of = (server: string, type: string) => (all: readonly Event[]) =>
    all.find((event) => event.type === type && event.data['server'] === server)
  const seen = await events.until(
    (all) => of('broken', 'server.start')(all) !== undefined && of('frail', 'server.stop')(all) !== undefined,
  )
  expect(of('broken', 'server.start')(seen)?.data).toMatchObject({
    error: { code: expect.any(String), message: expect.stringContaining('no database at localhost:5432') },
  })
  expect(of('frail', 'server.stop')(seen)?.data).toMatchObject({
    reason: { kind: 'exited', code: 3, stderr: ['the disk is on fire'] },
  })
})

test('what was dropped shows as one gap, which says how much; an id of another run counts as none', async () => {
  await using upstream = await openUpstream(legacy().behaviour)
  const names = Array.from({ length: 20 }, (_, n) => `s${n}`)
  const mcpServers = Object.fromEntries(
    names.map((name) => [name, { url: `${upstream.url}?${name}`, idleTimeout: '1ms' }]),
  )
  await using workspace = await openWorkspace({ mcpServers })
  await using daemon = await startIn(workspace)
  await using all = await watch(daemon.v1, 0)
  // Each call of an unused server is a start, and a stop.
  while ((all.seen.at(-1)?.id ?? 0) < 1300) {
    await Promise.all(names.map((name) => daemon.call(name, 'era')))
    await all.until((seen) => (seen.at(-1)?.id ?? 0) >= 20)
    await all.until(
      (
        (length) => (seen: readonly Event[]) =>
          seen.length > length
      )(all.seen.length),
    )
  }
  expect(count(all.seen, 'gap')).toBe(0)

  await using late = await watch(daemon.v1, 5)
  const [gap, next, ...rest] = await late.until((seen) => seen.length > 900)
  expect(gap).toMatchObject({ type: 'gap', data: { missing: Number(gap?.id) - 5 } })
  expect(Number(gap?.id)).toBeGreaterThan(200)
  expect(idsOf([next as Event, ...rest])).toEqual(inTurn(Number(gap?.id) + 1, rest.length + 1))

  await using stranger = await watch(daemon.v1, 1_000_000)
  const [first] = await stranger.until((seen) => seen.length > 0)
  expect(first).toMatchObject({ type: 'gap', data: { missing: null } })
}, 120_000)
