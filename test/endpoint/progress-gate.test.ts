import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/index.ts'
import { ProgressGate } from '../../src/endpoint/progress-gate.ts'
import { createFakeClock } from '../pool/clock.ts'

function setup() {
  const clock = createFakeClock(0)
  const sent: [number, JsonObject][] = []
  const gate = new ProgressGate(clock, (params) => sent.push([clock.now(), params]))
  // The first few go at once, whatever the clock says.
  for (const progress of [-9, -8, -7, -6]) gate.offer({ progress })
  sent.length = 0
  return { clock, sent, gate, say: (progress: unknown) => gate.offer({ progress }) }
}

test('the first four values go at once', () => {
  const sent: JsonObject[] = []
  const gate = new ProgressGate(createFakeClock(), (params) => sent.push(params))
  for (const progress of [0, 1, 2, 3, 4, 5]) gate.offer({ progress })
  expect(sent.map(({ progress }) => progress)).toEqual([0, 1, 2, 3, 4])
})

test('the first value goes at once, and of those within 20 ms the latest when they are over', async () => {
  const { clock, sent, say } = setup()
  for (const value of [1, 2, 3]) say(value)
  await clock.turn(19)
  say(4)
  expect(sent).toEqual([[0, { progress: 1 }]])
  await clock.turn(1)
  expect(sent.slice(1)).toEqual([[20, { progress: 4 }]])
  await clock.turn(5)
  say(5)
  await clock.turn(100)
  expect(sent.slice(2)).toEqual([[40, { progress: 5 }]])
  expect(clock.delays).toEqual([])
})

test('after a rest a value goes at once again', async () => {
  const { clock, sent, say } = setup()
  say(1)
  await clock.turn(20)
  say(2)
  expect(sent.at(-1)).toEqual([20, { progress: 2 }])
})

test('the last value goes ahead of the answer, whole, and leaves no timer', () => {
  const { clock, sent, gate } = setup()
  gate.offer({ progress: 0 })
  gate.offer({ progress: 1, total: 2, message: 'half' })
  gate.flush()
  gate.flush()
  expect(sent.slice(1)).toEqual([[0, { progress: 1, total: 2, message: 'half' }]])
  expect(clock.delays).toEqual([])
})

test.each([['1'], [null], [undefined], [Number.NaN]])('%s is no progress', (value) => {
  const { sent, say } = setup()
  say(value)
  expect(sent).toEqual([])
})

test('whatever a server says, values increase, none comes within 20 ms of another, and the greatest is not lost', async () => {
  const step = fc.record({
    wait: fc.integer({ min: 0, max: 30 }),
    progress: fc.integer({ min: -5, max: 40 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
      const { clock, sent, gate, say } = setup()
      for (const { wait, progress } of steps) {
        await clock.turn(wait)
        say(progress)
      }
      const before = sent.length
      gate.flush()
      const values = sent.map(([, { progress }]) => Number(progress))
      expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b))
      expect(values.at(-1)).toBe(Math.max(...steps.map(({ progress }) => progress)))
      const times = sent.slice(0, before).map(([at]) => at)
      for (const [at, time] of times.entries())
        expect(time - (times[at - 1] ?? -20)).toBeGreaterThanOrEqual(20)
    }),
    { numRuns: 60 },
  )
})
