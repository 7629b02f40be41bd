// What the detector makes of outcomes, with time in the test's hand.
import { beforeEach, expect, test } from 'vitest'
import type { Outcome } from '../../src/endpoint/index.ts'
import { EraWatch } from '../../src/http/index.ts'
import { createFakeClock } from '../pool/clock.ts'
import type { FakeClock } from '../pool/clock.ts'
import { initializeOf, outcomeOf, refusedOf, UNNAMED } from './outcomes.ts'

let clock: FakeClock
let watch: EraWatch
beforeEach(() => {
  clock = createFakeClock()
  watch = new EraWatch(clock)
})

/** The outcome comes in when its answer is there. */
async function happens(outcome: Outcome): Promise<void> {
  const at = clock.now()
  await clock.turn(outcome.ms)
  watch.observe({ ...outcome, at })
}

const only = () => watch.report().clients[0]

test('initialize within 5 s of a refused modern request of the same client is a fallback pair', async () => {
  await happens(refusedOf({ ms: 30 }))
  await clock.turn(200)
  await happens(initializeOf())
  expect(watch.fallback).toEqual({ pairs: 1, rate: 1, lostMs: 230 })
  expect(only()).toMatchObject({ fallbackPairs: 1, stuck: false, era: 'legacy' })
})

test('the lost time counts from the first of the attempts in a row', async () => {
  await happens(refusedOf())
  await clock.turn(4000)
  await happens(refusedOf({ method: 'tools/list' }))
  await clock.turn(4000)
  await happens(initializeOf())
  expect(watch.fallback).toEqual({ pairs: 1, rate: 1, lostMs: 8020 })
})

interface Row {
  readonly what: string
  readonly tried: Outcome
  readonly wait?: number
  readonly next?: Partial<Outcome>
  readonly pairs: number
}

const rows: readonly Row[] = [
  { what: 'exactly 5 s later', tried: refusedOf(), wait: 5000, pairs: 1 },
  { what: 'later than that', tried: refusedOf(), wait: 5001, pairs: 0 },
  { what: 'an error of a handler', tried: outcomeOf({ code: -32603 }), pairs: 1 },
  { what: 'no answer at all', tried: outcomeOf({ status: null }), pairs: 1 },
  { what: 'a modern notification', tried: outcomeOf({ status: 202 }), pairs: 0 },
  { what: 'a modern success', tried: outcomeOf(), pairs: 0 },
  { what: 'a legacy error', tried: initializeOf({ code: -32603 }), pairs: 0 },
  { what: 'an error on a pipe', tried: refusedOf({ transport: 'stdio', status: null }), pairs: 1 },
  { what: 'another name', tried: refusedOf(), next: { client: { name: 'b', version: '1' } }, pairs: 0 },
  { what: 'another principal', tried: refusedOf(), next: { principal: 'eve' }, pairs: 0 },
  { what: 'another address', tried: refusedOf(), next: { remote: '127.0.0.2' }, pairs: 0 },
  {
    what: 'another version of the client',
    tried: refusedOf(),
    next: { client: { name: 'a', version: '2' } },
    pairs: 1,
  },
  { what: 'no name, then one', tried: refusedOf({ client: UNNAMED }), pairs: 1 },
  {
    what: 'no name, then another program',
    tried: refusedOf({ client: UNNAMED }),
    next: { agent: 'curl' },
    pairs: 0,
  },
]

test.each(rows)('$what: $pairs pairs', async ({ tried, wait = 0, next, pairs }) => {
  await happens(tried)
  await clock.turn(wait)
  await happens(initializeOf(next))
  expect(watch.fallback.pairs).toBe(pairs)
})

test('a success between the two makes no pair, and a pair is counted once', async () => {
  await happens(refusedOf())
  await happens(outcomeOf())
  await happens(initializeOf())
  expect(watch.fallback.pairs).toBe(0)
  await happens(refusedOf())
  await happens(initializeOf())
  await happens(initializeOf())
  expect(watch.fallback).toMatchObject({ pairs: 1, rate: 1 / 3 })
})

test('a client is stuck from its first refusal to its next success', async () => {
  await happens(outcomeOf())
  expect(only()).toMatchObject({ stuck: false, stuckSince: null })
  const since = clock.now()
  await happens(refusedOf())
  await clock.turn(60_000)
  await happens(refusedOf({ code: -32020 }))
  expect(only()).toMatchObject({
    ...{ stuck: true, stuckSince: since, requests: 3, refusals: 2 },
    lastError: { status: 400, code: -32020, method: 'server/discover' },
  })
  expect(watch.stuck()).toBe(1)
  // A 202 says only that a message came, and a handler's error is no success.
  await happens(outcomeOf({ method: 'notifications/cancelled', status: 202 }))
  await happens(outcomeOf({ code: -32603 }))
  expect(watch.stuck()).toBe(1)
  await happens(outcomeOf())
  expect(watch.stuck()).toBe(0)
  expect(only()).toMatchObject({ stuck: false, stuckSince: null, lastError: { code: -32603 } })
})

test('a client that is silent for an hour is stuck no more, until it comes back', async () => {
  await happens(refusedOf())
  const since = only()?.stuckSince
  await clock.turn(60 * 60_000 - 1)
  expect(watch.stuck()).toBe(1)
  await clock.turn(1)
  expect([watch.stuck(), only()?.stuck]).toEqual([0, false])
  await happens(refusedOf())
  expect(only()).toMatchObject({ stuck: true, stuckSince: since })
})

test('a refusal without a name is forgiven when the same program is let in under one', async () => {
  await happens(refusedOf({ client: UNNAMED, era: null, reason: null, code: -32600, status: 404 }))
  expect(watch.stuck()).toBe(1)
  await happens(initializeOf({ agent: 'curl' }))
  expect(watch.stuck()).toBe(1)
  await happens(initializeOf())
  expect(watch.stuck()).toBe(0)
})

test('what a client asked for and got is kept for each era', async () => {
  await happens(initializeOf({ asked: '2030-01-01', served: '2025-11-25' }))
  // The header of a session repeats what was agreed on.
  await happens(outcomeOf({ era: 'legacy', reason: 'session', asked: '2025-11-25', served: '2025-11-25' }))
  expect(only()).toMatchObject({ era: 'legacy', asked: '2030-01-01', served: '2025-11-25' })
  await happens(outcomeOf())
  expect(only()).toMatchObject({
    ...{ era: 'modern', asked: '2026-07-28', served: '2026-07-28', requests: 3 },
    eras: {
      legacy: { requests: 2, asked: '2030-01-01', served: '2025-11-25', lastSeen: clock.now() - 10 },
      modern: { requests: 1, asked: '2026-07-28', served: '2026-07-28', lastSeen: clock.now() },
    },
  })
})

test('requests without the marker that were taken for modern ones are counted by what decided', async () => {
  await happens(refusedOf({ reason: 'header' }))
  await happens(refusedOf({ reason: 'header' }))
  await happens(refusedOf({ reason: 'method' }))
  await happens(initializeOf())
  await happens(refusedOf({ era: 'modern', reason: null }))
  expect(watch.ambiguous).toEqual({ header: 2, method: 1 })
})

test('whoever was not seen for longest leaves a full table', async () => {
  for (let i = 0; i < 1000; i++) watch.observe(outcomeOf({ client: { name: `c${i}`, version: null } }))
  watch.observe(outcomeOf({ client: { name: 'c0', version: null } }))
  for (let i = 0; i < 4; i++) watch.observe(outcomeOf({ client: { name: `new${i}`, version: null } }))
  const { clients, forgotten, requests } = watch.report()
  const names = clients.map(({ name }) => name)
  expect([names.length, forgotten, requests]).toEqual([1000, 4, { legacy: 0, modern: 1005, unknown: 0 }])
  expect(names.slice(0, 6)).toEqual(['new3', 'new2', 'new1', 'new0', 'c0', 'c999'])
  expect(names.at(-1)).toBe('c5')
})

test('labels stay few, whatever is asked for and answered', () => {
  for (let i = 0; i < 5000; i++) {
    watch.observe(refusedOf({ asked: `v${i}`, code: -i - 40_000, method: 'other' }))
    // More combinations than there is room for; the endpoint itself lets no such method through.
    watch.observe(outcomeOf({ method: `m${i}`, code: -32603 }))
  }
  const counts = [...watch.requestCounts()]
  expect(counts.length).toBeLessThanOrEqual(1003)
  const other = { revision: '__other__', code: '__other__' }
  expect(counts).toContainEqual({
    labels: { ...other, era: 'modern', method: 'other', status: '400' },
    count: 5000,
  })
  const overflow = counts.find(({ labels }) => labels.method === '__other__')
  expect(overflow).toMatchObject({ labels: { ...other, era: 'modern', status: '__other__' }, count: 4001 })
  expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(10_000)
})
