import { expect, test } from 'vitest'
import { McpxError } from '../../src/base/index.ts'
import { Circuit } from '../../src/pool/backoff.ts'
import { createFakeClock } from './clock.ts'

const crash = new McpxError('CLOSED_DURING_PROBE', 'exited with code 1', { data: { code: 1 } })

test('open after a failure: the last error at once, with when the next try is', async () => {
  const clock = createFakeClock()
  const circuit = new Circuit(clock, () => 1)
  expect(circuit.refusal()).toBeUndefined()
  circuit.failed(crash)
  expect(circuit.refusal()).toMatchObject({ code: crash.code, data: { code: 1 }, cause: crash })
  expect(circuit.refusal()?.message).toBe('exited with code 1 (failed 1 times; next try in 1 s)')
  await clock.turn(999)
  expect(circuit.refusal()).toBeDefined()
  await clock.turn(1)
  expect(circuit.refusal()).toBeUndefined()
})

test('pauses double up to 30 s, and all of a pause is jitter', () => {
  const clock = createFakeClock(0)
  const pauses = [0.5, 1].map((random) => {
    const circuit = new Circuit(clock, () => random)
    return Array.from({ length: 8 }, () => {
      circuit.failed(crash)
      return Number(/next try in (\d+) s/.exec(circuit.refusal()?.message ?? '')?.[1])
    })
  })
  expect(pauses).toEqual([
    [1, 1, 2, 4, 8, 15, 15, 15],
    [1, 2, 4, 8, 16, 30, 30, 30],
  ])
  const none = new Circuit(clock, () => 0)
  for (let i = 0; i < 2000; i++) none.failed(crash)
  expect(none.refusal()).toBeUndefined()
})

test('half open: one start is let through, and its outcome decides', async () => {
  const clock = createFakeClock()
  const circuit = new Circuit(clock, () => 1)
  circuit.failed(crash)
  await clock.turn(1000)
  circuit.trying()
  expect(circuit.refusal()?.message).toContain('under way')
  circuit.failed(crash)
  expect(circuit.failures).toBe(2)
  await clock.turn(2000)
  circuit.trying()
  circuit.abandoned()
  expect(circuit.refusal()).toBeUndefined()
  circuit.trying()
  circuit.succeeded()
  expect([circuit.refusal(), circuit.failures, circuit.lastError]).toEqual([undefined, 0, undefined])
})

test('before the first failure starts do not wait for each other', () => {
  const circuit = new Circuit(createFakeClock(), () => 1)
  circuit.trying()
  expect(circuit.refusal()).toBeUndefined()
})
