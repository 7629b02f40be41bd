// Calls that are left and come back to: how many are kept, how long, and what ends them, with time in the test's hand.
import { beforeEach, expect, test } from 'vitest'
import { Asks } from '../../src/http/asks.ts'
import type { ToolRequest } from '../../src/http/index.ts'
import type { Answer, Call, CallHandler } from '../../src/wire/index.ts'
import { createFakeClock, settled } from '../pool/clock.ts'
import type { FakeClock } from '../pool/clock.ts'

const PATIENCE = 300_000
const REQUEST: ToolRequest = {
  ...{ server: 'one', tool: 'x', args: {}, capabilities: {}, answers: undefined, state: undefined },
}
const DONE: Answer = { result: { resultType: 'complete', content: [] } }
const ASKS: Answer = { result: { resultType: 'input_required', inputRequests: {}, requestState: 'state' } }

let clock: FakeClock
let asks: Asks
let calls: Call[]

beforeEach(() => {
  clock = createFakeClock()
  asks = new Asks({ clock, patience: () => PATIENCE })
  calls = []
})

/** Answers every call alike; without an answer a call goes on until it is given up. */
const server = (answer?: Answer): CallHandler => ({
  handle(call) {
    calls.push(call)
    if (answer !== undefined) return Promise.resolve(answer)
    return new Promise((_, reject) => {
      call.cancellation.onCancel((reason) => reject(new Error(reason)))
    })
  },
})
const start = (answer?: Answer, principal = 'ann') => asks.start(server(answer), REQUEST, principal).id
const statusOf = async (id: string, principal = 'ann') => (await asks.get(id, principal, 0)).status
const reasons = () => calls.map(({ cancellation }) => cancellation.reason)

test('calls that are over make room, the oldest first; those under way never do', async () => {
  const running = start()
  const over = [start(DONE), start(DONE)]
  await settled()
  for (let more = 0; more < 97; more++) start()
  const next = start()
  await expect(asks.get(String(over[0]), 'ann', 0)).rejects.toMatchObject({ code: 'ASK_UNKNOWN' })
  expect(await statusOf(String(over[1]))).toBe('done')
  start()
  expect(() => start()).toThrow(/100 calls of yours/)
  expect([await statusOf(running), await statusOf(next)]).toEqual(['running', 'running'])
  // Another principal has room of its own.
  expect(await statusOf(start(undefined, 'bob'), 'bob')).toBe('running')
  expect(reasons()).toEqual(reasons().fill(undefined))
})

test('a thousand calls of all principals are enough', async () => {
  const ids = Array.from({ length: 1000 }, (_, n) => start(undefined, `p${n % 10}`))
  expect(() => start(undefined, 'late')).toThrow(/1000 calls of all callers/)
  asks.drop(String(ids[0]), 'p0')
  expect(await statusOf(start(undefined, 'late'), 'late')).toBe('running')
})

test('a call that nobody looks at is given up, one that somebody looks at goes on', async () => {
  const [left, seen, asking] = [start(), start(), start(ASKS)]
  for (let passed = 0; passed <= PATIENCE; passed += 60_000) {
    await clock.turn(60_000)
    expect(await statusOf(seen)).toBe('running')
  }
  await expect(asks.get(left, 'ann', 0)).rejects.toMatchObject({ code: 'ASK_UNKNOWN' })
  await expect(asks.get(asking, 'ann', 0)).rejects.toMatchObject({ code: 'ASK_UNKNOWN' })
  expect(reasons().slice(0, 3)).toEqual([expect.any(String), undefined, expect.any(String)])
  // What it asked is answered by nobody: whoever holds the call on the server hears that it is given up.
  expect(calls[3]).toMatchObject({ params: { requestState: 'state' }, cancellation: calls[2]?.cancellation })
})

test('whoever waits for a call sees it end, or gets word after a minute at most', async () => {
  const id = start()
  const waiting = asks.get(id, 'ann', 3_600_000)
  await clock.turn(59_999)
  await clock.turn(1)
  expect((await waiting).status).toBe('running')
  expect(clock.delays).toEqual([60_000])
  const ended = asks.get(id, 'ann', 30_000)
  calls[0]?.cancellation.cancel('enough')
  expect(await ended).toMatchObject({ status: 'failed', code: 'INTERNAL', detail: 'enough' })
})

test('waiting counts as looking until it is over, however short the patience is', async () => {
  asks = new Asks({ clock, patience: () => 50_000 })
  const id = start()
  await clock.turn(30_000)
  const waiting = asks.get(id, 'ann', 60_000)
  await clock.turn(60_000)
  await waiting
  await clock.turn(31_000)
  expect(reasons()).toEqual([undefined])
  await clock.turn(60_000)
  expect(reasons()).toEqual([expect.any(String)])
})

test('what a call came to is kept for ten minutes', async () => {
  const id = start(DONE)
  await clock.turn(600_000)
  expect(await statusOf(id)).toBe('done')
  await clock.turn(660_001)
  await expect(asks.get(id, 'ann', 0)).rejects.toMatchObject({ code: 'ASK_UNKNOWN' })
  expect(clock.delays).toEqual([])
})

test('the end of the daemon ends every call and every timer', async () => {
  start()
  start(ASKS)
  await settled()
  asks.stop()
  await settled()
  expect(reasons()).toEqual(reasons().fill('mcpx is being stopped'))
  expect(clock.delays).toEqual([])
})
