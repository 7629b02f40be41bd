import { expect, test } from 'vitest'
import { Cancellation, McpxError } from '../../src/base/index.ts'
import { START_TIMEOUT } from '../era/plans.ts'
import { settled } from './clock.ts'
import {
  answering,
  createChoosingPeer,
  createPeer,
  CRASH,
  DUAL,
  HANDLERS,
  LEGACY,
  methodsOf,
  MODERN,
} from './peers.ts'
import type { Peer } from './peers.ts'
import { lease, setup, who } from './setup.ts'

const SILENT_PEER = (): Peer => createPeer(() => {})
const UNREACHABLE = new McpxError('UPSTREAM_UNREACHABLE', 'ECONNREFUSED')
const PER_PRINCIPAL = { scope: 'principal', max: 1 } as const

test('callers share one start and one connection', async () => {
  const peer = createPeer(MODERN)
  const { files, kinds } = setup(peer)
  const callers = [lease(files), lease(files, who('bob')), lease(files)]
  expect(files.state).toBe('starting')
  await settled()
  expect(new Set(callers.map((caller) => caller.lease?.connection))).toEqual(new Set([files.current]))
  expect([peer.opened, kinds(), files.state]).toEqual([1, ['start'], 'ready'])
})

test('a scope decides who shares', async () => {
  const cases = [
    ['global', 1],
    ['principal', 2],
    ['session', 4],
    ['call', 5],
  ] as const
  for (const [scope, instances] of cases) {
    const peer = createPeer(MODERN)
    const { files } = setup(peer, { spec: { scope, max: 9 } })
    for (const session of ['s', 's', 't', undefined, undefined])
      lease(files, who(session === 't' ? 'bob' : 'ann', { session }))
    await settled()
    expect([scope, peer.opened]).toEqual([scope, instances])
  }
})

test('a verdict is learned, and the next start asks one question only', async () => {
  const peer = createPeer(LEGACY)
  const { files } = setup(peer)
  await files.lease(who())
  await files.restart('test')
  await files.lease(who())
  expect(peer.lines.map((line) => methodsOf(line))).toEqual([
    ['server/discover', 'initialize', 'notifications/initialized'],
    ['initialize', 'notifications/initialized'],
  ])
  expect(files.current?.verdict.source).toBe('cache')
})

test('a start that fails answers all who wait, then the circuit answers at once, then one try is let through', async () => {
  const peer = createPeer(UNREACHABLE)
  const { files, clock, kinds, eras } = setup(peer, { spec: { scope: 'principal', max: 5 } })
  const first = [lease(files), lease(files)]
  await settled()
  expect(first.map(({ code }) => code)).toEqual(['UPSTREAM_UNREACHABLE', 'UPSTREAM_UNREACHABLE'])
  const refused = lease(files)
  await settled()
  expect([refused.code, kinds(), files.state]).toEqual(['UPSTREAM_UNREACHABLE', ['start-failed'], 'failed'])
  await clock.turn(1000)
  lease(files)
  await expect(files.lease(who('bob'))).rejects.toThrow(/next try is under way/)
  await settled()
  expect([kinds(), eras.recall('digest of files')]).toEqual([['start-failed', 'start-failed'], undefined])
})

test('a server that works again closes the circuit', async () => {
  const peer = createChoosingPeer((_, nth) => (nth === 1 ? () => {} : MODERN))
  const { files, clock } = setup(peer)
  const slow = lease(files)
  await clock.turn(START_TIMEOUT)
  expect([slow.code, peer.open]).toEqual(['UPSTREAM_START_TIMEOUT', 0])
  await clock.turn(1000)
  await files.lease(who())
  expect([files.state, files.lastError]).toEqual(['ready', undefined])
})

test('cancelling one of two who wait leaves the start; cancelling the last gives it up', async () => {
  const peer = SILENT_PEER()
  const { files, kinds } = setup(peer)
  const [first, second] = [new Cancellation(), new Cancellation()]
  const waits = [lease(files, who(), first), lease(files, who(), second)]
  await settled()
  first.cancel('left')
  await settled()
  expect([waits[0]?.code, peer.open]).toEqual(['CANCELLED', 1])
  second.cancel('left')
  await settled()
  expect([waits[1]?.code, peer.open, files.instances().length]).toEqual(['CANCELLED', 0, 0])
  expect([files.state, files.lastError, kinds()]).toEqual(['idle', undefined, ['start-failed']])
})

test('whoever joins a start keeps it alive', async () => {
  const peer = SILENT_PEER()
  const { files } = setup(peer)
  const cancellation = new Cancellation()
  lease(files, who(), cancellation)
  await settled()
  const joined = lease(files)
  cancellation.cancel('left')
  await settled()
  expect([joined, peer.open]).toEqual([{}, 1])
})

test('an idle server is ended, one in use or below min is not', async () => {
  for (const min of [0, 1]) {
    const peer = createPeer(MODERN)
    const { files, clock, kinds } = setup(peer, { spec: { min } })
    const held = await files.lease(who())
    await clock.turn(600_000)
    expect(peer.open).toBe(1)
    held.release()
    held.release()
    await clock.turn(299_999)
    expect(peer.open).toBe(1)
    await clock.turn(1)
    expect(peer.open).toBe(min)
    if (min === 1) continue
    expect(kinds()).toEqual(['start', 'stop'])
    // Ended by mcpx itself, so nothing speaks against the next start.
    expect(files.lastError).toBeUndefined()
    await files.lease(who())
  }
})

test('a full lane ends an idle instance of another key', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer, { spec: PER_PRINCIPAL })
  const held = await files.lease(who('ann'))
  held.release()
  await files.lease(who('bob'))
  expect([peer.opened, peer.open, peer.most]).toEqual([2, 1, 1])
})

test('the line of a full lane is served in its order, and nobody passes it', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer, { spec: PER_PRINCIPAL })
  const order: string[] = []
  const held = await files.lease(who('ann'))
  for (const name of ['bob', 'cid', 'dan']) {
    void files.lease(who(name)).then((got) => {
      order.push(name)
      got.release()
    })
  }
  await settled()
  expect(order).toEqual([])
  held.release()
  void files.lease(who('eve')).then((got) => {
    order.push('eve')
    got.release()
  })
  for (let i = 0; i < 10; i++) await settled()
  expect(order).toEqual(['bob', 'cid', 'dan', 'eve'])
  expect([peer.most, peer.opened]).toEqual([1, 5])
})

test('whoever gives up waiting in line frees nothing and blocks nobody', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer, { spec: PER_PRINCIPAL })
  const held = await files.lease(who('ann'))
  const cancellation = new Cancellation()
  const gone = lease(files, who('bob'), cancellation)
  const next = lease(files, who('cid'))
  await settled()
  cancellation.cancel('left')
  await settled()
  expect([gone.code, next, peer.opened]).toEqual(['CANCELLED', {}, 1])
  held.release()
  for (let i = 0; i < 5; i++) await settled()
  expect([next.lease !== undefined, peer.opened]).toEqual([true, 2])
})

test('those in line for one key share its instance', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer, { spec: PER_PRINCIPAL })
  const held = await files.lease(who('ann'))
  const [bob, cid, bobToo] = [lease(files, who('bob')), lease(files, who('cid')), lease(files, who('bob'))]
  held.release()
  for (let i = 0; i < 5; i++) await settled()
  expect(bob.lease?.connection).toBe(bobToo.lease?.connection)
  expect([bob.lease !== undefined, cid.lease]).toEqual([true, undefined])
})

test('a place in line that meets an open circuit is refused, not forgotten', async () => {
  const peer = createChoosingPeer((_, nth) => (nth === 1 ? MODERN : UNREACHABLE))
  const { files } = setup(peer, { spec: PER_PRINCIPAL })
  const held = await files.lease(who('ann'))
  const waits = [lease(files, who('bob')), lease(files, who('cid'))]
  held.release()
  for (let i = 0; i < 5; i++) await settled()
  expect(waits.map(({ code }) => code)).toEqual(['UPSTREAM_UNREACHABLE', 'UPSTREAM_UNREACHABLE'])
})

test('after a crash the next call starts the server again', async () => {
  const peer = createPeer(
    answering({ 'server/discover': HANDLERS.discover, 'tools/call': (line) => line.end() }),
  )
  const { files, kinds } = setup(peer)
  const held = await files.lease(who())
  const running = held.connection.request({ method: 'tools/call', params: {} })
  await expect(running).rejects.toMatchObject({ code: 'UPSTREAM_CLOSED', data: { ran: 'unknown' } })
  await settled()
  held.release()
  expect([files.instances().length, kinds()]).toEqual([0, ['start', 'stop']])
  const again = await files.lease(who())
  expect([again.connection.isOpen, peer.opened]).toEqual([true, 2])
})

test('a server that ends before anything was asked of it opens the circuit', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer)
  await files.lease(who())
  peer.lines[0]?.end()
  await settled()
  await expect(files.lease(who())).rejects.toMatchObject({ code: 'UPSTREAM_CLOSED', data: { reason: CRASH } })
})

test('a server that exits with its first answer is not handed out', async () => {
  const dying = answering({
    'server/discover': (line, id) => {
      HANDLERS.discover(line, id)
      line.end()
    },
  })
  const { files } = setup(createPeer(dying))
  const seen = lease(files)
  await settled()
  expect([seen.code, files.instances().length, files.state]).toEqual(['UPSTREAM_CLOSED', 0, 'failed'])
})

test('what a server says right behind its verdict is heard', async () => {
  const chatty = answering({
    'server/discover': (line, id) => {
      line.say({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'before' } })
      HANDLERS.discover(line, id)
      line.say({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'behind' } })
    },
  })
  const { files, events } = setup(createPeer(chatty))
  await files.lease(who())
  const heard = events.flatMap((event) =>
    event.kind === 'notification' ? [event.notification.params?.['data']] : [],
  )
  expect(heard).toEqual(['before', 'behind'])
})

test('at most so many servers start at once, and a start that was given up in line never begins', async () => {
  const peers = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, SILENT_PEER()]))
  const { pool, files, clock } = setup(SILENT_PEER(), { peers, maxStarting: 2 })
  const opened = (): number[] =>
    pool.upstreams.map(({ name }) => (name === 'files' ? 0 : (peers[name]?.opened ?? 0)))
  const cancellation = new Cancellation()
  for (const upstream of pool.upstreams)
    if (upstream !== files) lease(upstream, who(), upstream.name === 'c' ? cancellation : undefined)
  await settled()
  expect(opened()).toEqual([0, 1, 1, 0, 0])
  cancellation.cancel('left')
  await settled()
  expect(pool.get('c')?.instances()).toEqual([])
  await clock.turn(START_TIMEOUT)
  expect(opened()).toEqual([0, 1, 1, 0, 1])
})

test('stopped: everything is gone when it resolves, and leases are refused', async () => {
  const peers = { starting: SILENT_PEER(), ready: createPeer(MODERN) }
  const { pool, files } = setup(createPeer(MODERN), { peers, spec: PER_PRINCIPAL })
  await files.lease(who())
  await pool.get('ready')?.lease(who())
  const starting = pool.get('starting')
  const waits = [lease(files, who('bob')), ...(starting === undefined ? [] : [lease(starting)])]
  await settled()
  await pool.stop('the daemon stops')
  expect([peers.starting.open, peers.ready.open, waits.map(({ code }) => code)]).toEqual([
    0,
    0,
    ['STOPPING', 'CANCELLED'],
  ])
  await expect(files.lease(who())).rejects.toMatchObject({ code: 'STOPPING' })
})

test('a definition that cannot be used fails that server only', async () => {
  const broken = new McpxError('CONFIG_INVALID', 'TOKEN is not set')
  const { files } = setup(createPeer(MODERN), { spec: { target: broken } })
  expect(files.state).toBe('failed')
  await expect(files.lease(who())).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('dual-era servers are modern by default', async () => {
  const { files } = setup(createPeer(DUAL))
  expect((await files.lease(who())).connection.verdict.era).toBe('modern')
})
