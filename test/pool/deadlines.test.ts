import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Deadlines } from '../../src/pool/deadlines.ts'
import type { Id } from '../../src/wire/index.ts'
import { createFakeClock } from './clock.ts'

function setup(idle: number, longest: number) {
  const clock = createFakeClock(0)
  const due: [number, Id][] = []
  const deadlines = new Deadlines(clock, { idle, longest }, (id) => due.push([clock.now(), id]))
  return { clock, due, deadlines }
}

test('each falls due after its own patience, on one timer', async () => {
  const { clock, due, deadlines } = setup(100, 1000)
  deadlines.start(1)
  await clock.turn(40)
  deadlines.start('1')
  expect(clock.delays).toHaveLength(1)
  await clock.turn(200)
  expect(due).toEqual([
    [100, 1],
    [140, '1'],
  ])
  expect(clock.delays).toEqual([])
})

test('what has ended does not fall due, and extending it does not bring it back', async () => {
  const { clock, due, deadlines } = setup(100, 1000)
  deadlines.start(1)
  deadlines.end(1)
  deadlines.extend(1)
  await clock.turn(500)
  expect(due).toEqual([])
})

test('a longest time below the patience is the patience', async () => {
  const { clock, due, deadlines } = setup(100, 10)
  deadlines.start(1)
  await clock.turn(500)
  expect(due).toEqual([[100, 1]])
})

test('stopped, nothing falls due and no timer waits', async () => {
  const { clock, due, deadlines } = setup(100, 1000)
  deadlines.start(1)
  deadlines.stop()
  expect(clock.delays).toEqual([])
  await clock.turn(500)
  expect(due).toEqual([])
})

test('one that is near its longest time does not hide those behind it', async () => {
  const { clock, due, deadlines } = setup(50, 120)
  deadlines.start(1)
  await clock.turn(40)
  deadlines.extend(1)
  await clock.turn(20)
  deadlines.start(2)
  await clock.turn(15)
  deadlines.extend(1)
  await clock.turn(500)
  expect(due).toEqual([
    [110, 2],
    [120, 1],
  ])
})

test('any mix of starts, signs of life and ends gives the times that each alone would have', async () => {
  const step = fc.record({
    wait: fc.nat(60),
    act: fc.constantFrom('start', 'extend', 'end'),
    id: fc.nat(5),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { clock, due, deadlines } = setup(50, 120)
      const alone = new Map<number, { due: number; latest: number }>()
      const expected: [number, number][] = []
      const expire = (until: number): void => {
        for (const [id, entry] of alone) {
          if (entry.due > until) continue
          expected.push([entry.due, id])
          alone.delete(id)
        }
      }
      for (const { wait, act, id } of steps) {
        await clock.turn(wait)
        expire(clock.now())
        const entry = alone.get(id)
        if (act === 'end') {
          deadlines.end(id)
          alone.delete(id)
        } else if (act === 'extend') {
          deadlines.extend(id)
          if (entry !== undefined) entry.due = Math.min(clock.now() + 50, entry.latest)
        } else if (entry === undefined) {
          deadlines.start(id)
          alone.set(id, { due: clock.now() + 50, latest: clock.now() + 120 })
        }
      }
      await clock.turn(1000)
      expire(Infinity)
      const byTime = (a: readonly [number, Id], b: readonly [number, Id]): number =>
        a[0] - b[0] || Number(a[1]) - Number(b[1])
      expect([...due].sort(byTime)).toEqual(expected.sort(byTime))
    }),
    { numRuns: 60 },
  )
})
