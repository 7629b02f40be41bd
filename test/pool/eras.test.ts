// What the pool makes of eras: the two lanes of `follow`, races and corrections, what is remembered.
import { expect, test } from 'vitest'
import { Cancellation, McpxError } from '../../src/base/index.ts'
import { memoryOnly } from '../../src/pool/index.ts'
import { status } from '../era/answers.ts'
import { ERA_MAX_AGE, PROBE_TIMEOUT, recordFor, specOf, START_TIMEOUT } from '../era/plans.ts'
import { settled } from './clock.ts'
import {
  answering,
  createChoosingPeer,
  createPeer,
  DUAL,
  HANDLERS,
  LEGACY,
  methodsOf,
  MODERN,
  refusal,
  reply,
} from './peers.ts'
import { lease, setup, who } from './setup.ts'

const OLD = who('ann', { revision: '2025-06-18' })
const NEW = who('ann', { revision: '2026-07-28' })
const FOLLOW = { preference: 'follow' } as const

test('follow: a dual-era server has a session for each era', async () => {
  const peer = createPeer(DUAL)
  const { files, eras } = setup(peer, FOLLOW)
  const eraOf = async (caller: typeof OLD): Promise<string> =>
    (await files.lease(caller)).connection.verdict.era
  expect([await eraOf(who()), await eraOf(NEW), await eraOf(OLD), await eraOf(OLD)]).toEqual([
    'modern',
    'modern',
    'legacy',
    'legacy',
  ])
  expect(files.instances().map(({ lane }) => lane)).toEqual(['main', 'legacy'])
  expect([peer.opened, methodsOf(peer.lines[1])]).toEqual([2, ['initialize', 'notifications/initialized']])
  expect(eras.recall('digest of files')?.era).toBe('modern')
})

test('follow: an old server has one session for all', async () => {
  const peer = createPeer(LEGACY)
  const { files } = setup(peer, FOLLOW)
  const old = await files.lease(OLD)
  expect([old.connection, peer.opened]).toEqual([(await files.lease(NEW)).connection, 1])
})

test('follow: a refused initialize is remembered for eraMaxAge, and old callers share the modern session', async () => {
  const peer = createPeer(MODERN)
  const { files, clock } = setup(peer, FOLLOW)
  expect((await files.lease(OLD)).connection.verdict.era).toBe('modern')
  expect((await files.lease(OLD)).connection.verdict.era).toBe('modern')
  expect(peer.opened).toBe(2)
  await clock.turn(ERA_MAX_AGE)
  await files.lease(OLD)
  expect(peer.opened).toBe(3)
})

test('follow: a refusal by status counts as well', async () => {
  const web = createChoosingPeer((transport) =>
    transport === 'http+sse'
      ? new McpxError('UPSTREAM_UNREACHABLE', 'no stream')
      : answering({
          'server/discover': HANDLERS.discover,
          initialize: (line, id) => line.fail(id, status(404)),
        }),
  )
  const { files, clock } = setup(web, { ...FOLLOW, spec: { transport: 'streamable-http' } })
  await files.lease(OLD)
  const opened = web.opened
  await clock.turn(60_000)
  expect((await files.lease(OLD)).connection.verdict.era).toBe('modern')
  expect(web.opened).toBe(opened)
})

test('follow: a time-out is no refusal; the call shares the modern session and the next one tries again', async () => {
  const silentOnInitialize = answering({ 'server/discover': HANDLERS.discover }, true)
  const peer = createPeer(silentOnInitialize)
  const { files, clock } = setup(peer, FOLLOW)
  const first = lease(files, OLD)
  await clock.turn(START_TIMEOUT)
  expect(first.lease?.connection.verdict.era).toBe('modern')
  await clock.turn(1000)
  lease(files, OLD)
  await settled()
  expect(peer.opened).toBe(3)
})

test('follow: a caller who leaves while the legacy lane starts is cancelled, not served', async () => {
  const peer = createPeer(answering({ 'server/discover': HANDLERS.discover }, true))
  const { files } = setup(peer, FOLLOW)
  const cancellation = new Cancellation()
  const seen = lease(files, OLD, cancellation)
  await settled()
  cancellation.cancel('left')
  await settled()
  expect([seen.code, peer.open]).toEqual(['CANCELLED', 1])
})

test('follow: who waits for the legacy lane keeps no place of the modern one', async () => {
  const peer = createPeer(answering({ 'server/discover': HANDLERS.discover }, true))
  const { files } = setup(peer, { ...FOLLOW, spec: { scope: 'principal', max: 1 } })
  const old = lease(files, OLD)
  await settled()
  const modern = lease(files, who('bob', { revision: '2026-07-28' }))
  for (let i = 0; i < 5; i++) await settled()
  expect([old.lease, modern.lease?.connection.verdict.era]).toEqual([undefined, 'modern'])
})

test('initialize wins the race, and the late answer in the same chunk corrects the record', async () => {
  const held: (string | number)[] = []
  const peer = createPeer(
    answering({
      'server/discover': (_, id) => held.push(id),
      initialize: (line, id) => {
        HANDLERS.initialize('2025-06-18')(line, id)
        for (const late of held) HANDLERS.discover(line, late)
      },
    }),
  )
  const { files, clock, kinds } = setup(peer)
  const seen = lease(files)
  await clock.turn(PROBE_TIMEOUT)
  expect(seen.lease?.connection.verdict).toMatchObject({ era: 'legacy', source: 'raced' })
  expect(files.record).toMatchObject({ era: 'modern', revision: '2026-07-28', source: 'raced' })
  expect(kinds()).toEqual(['start', 'era-stale'])
})

test('discover wins after initialize was written and taken: a fresh process is driven', async () => {
  const slow: (() => void)[] = []
  const peer = createPeer(
    answering({
      'server/discover': (line, id) =>
        line === peer.lines[0] ? slow.push(() => HANDLERS.discover(line, id)) : HANDLERS.discover(line, id),
      initialize: (line, id) => slow.push(() => HANDLERS.initialize('2025-06-18')(line, id)),
    }),
  )
  const { files, clock } = setup(peer)
  const seen = lease(files)
  await clock.turn(PROBE_TIMEOUT)
  for (const answer of slow) answer()
  await settled()
  expect([peer.opened, peer.open, methodsOf(peer.lines[1])]).toEqual([2, 1, ['server/discover']])
  expect(seen.lease?.connection.verdict).toMatchObject({ era: 'modern' })
  expect(files.record?.era).toBe('modern')
})

test('an error without an id answers the only question that is out', async () => {
  const peer = createPeer(
    answering({
      'server/discover': (line, id) => line.say(refusal(id)),
      initialize: (line) =>
        line.say({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'unread' } }),
    }),
  )
  const { files } = setup(peer)
  const seen = lease(files)
  await settled()
  expect(seen.code).toBe('ERA_REFUSED')
})

test('an answer that comes twice counts once', async () => {
  let asked = 0
  const peer = createPeer(
    answering({
      'server/discover': (line, id) => {
        asked++
        const unsupported = { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } }
        if (asked > 1) return HANDLERS.discover(line, id)
        line.say({ jsonrpc: '2.0', id, error: unsupported })
        line.say({ jsonrpc: '2.0', id, error: unsupported })
      },
    }),
  )
  const { files } = setup(peer)
  const held = await files.lease(who())
  expect([held.connection.verdict.era, asked]).toEqual(['modern', 2])
})

test('while it is probed a server may ping, and what it asks is refused once it is known', async () => {
  const peer = createPeer(
    answering({
      'server/discover': (line, id) => {
        line.say({ jsonrpc: '2.0', id: 'p', method: 'ping' })
        line.say({ jsonrpc: '2.0', id: 'r', method: 'roots/list' })
        line.say(refusal(id))
      },
      initialize: HANDLERS.initialize('2025-06-18'),
    }),
  )
  const { files } = setup(peer)
  await files.lease(who())
  await settled()
  const replies = peer.lines[0]?.received
    .filter(({ message }) => !('method' in message))
    .map(({ message }) => message)
  expect(replies).toMatchObject([
    { id: 'p', result: {} },
    { id: 'r', error: { code: -32601 } },
  ])
})

test('a process that dies twice is not remembered, and one that lives the second time is', async () => {
  const dies = answering({ 'server/discover': (line) => line.end(), initialize: (line) => line.end() })
  const crashing = setup(createPeer(dies))
  const seen = lease(crashing.files)
  await settled()
  expect([seen.code, crashing.files.record]).toEqual(['CLOSED_DURING_PROBE', undefined])
  const once = answering({
    'server/discover': (line) => line.end(),
    initialize: HANDLERS.initialize('2025-06-18'),
  })
  const { files } = setup(createPeer(once))
  await files.lease(who())
  expect(files.record).toMatchObject({
    era: 'legacy',
    source: 'closed',
    server: { name: 'files', version: '1' },
  })
})

test('another version of a remembered legacy server is looked at again at the next start', async () => {
  const eras = memoryOnly()
  const record = recordFor(specOf('prefer-discover', 'stdio'), { server: { name: 'files', version: '0' } })
  const peer = createPeer(LEGACY)
  const { files, clock, kinds } = setup(peer, { eras })
  eras.remember('digest of files', { ...record, at: clock.now() })
  await files.lease(who())
  expect([methodsOf(peer.lines[0])[0], kinds()]).toEqual(['initialize', ['era-stale', 'start']])
  await files.restart('test')
  await files.lease(who())
  expect(methodsOf(peer.lines[1])[0]).toBe('server/discover')
  expect(files.record?.doubted).toBeUndefined()
})

test('the legacy session of a server on 2026-07-28 has no metadata in its requests', async () => {
  const peer = createPeer(
    answering({
      initialize: HANDLERS.initialize('2026-07-28'),
      'tools/list': (line, id) => line.say(reply(id)),
    }),
  )
  const { files } = setup(peer)
  const held = await files.lease(who())
  expect(held.connection.verdict).toMatchObject({ era: 'legacy', revision: '2026-07-28' })
  await held.connection.request({ method: 'tools/list', params: {} })
  expect(peer.lines[0]?.received.at(-1)?.message).toEqual({
    ...{ jsonrpc: '2.0', id: 3, method: 'tools/list', params: {} },
  })
})

test('the frames of a start tell what went which way and when', async () => {
  const { files, clock } = setup(createPeer(LEGACY))
  await files.lease(who())
  await clock.turn(0)
  expect(files.lastStart?.frames.map(({ dir, method }) => `${dir} ${method}`)).toEqual([
    ...['sent server/discover', 'received server/discover', 'sent initialize', 'received initialize'],
  ])
})
