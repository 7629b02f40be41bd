import { expect, test } from 'vitest'
import { Cancellation } from '../../src/base/index.ts'
import { Line } from '../../src/pool/line.ts'
import { settled } from './clock.ts'

test('places are handed out in the order of asking, never more than there are', async () => {
  const line = new Line(2)
  const inside: number[] = []
  const leave = new Map<number, () => void>()
  for (const n of [1, 2, 3, 4, 5]) {
    void line.enter().then((go) => {
      inside.push(n)
      leave.set(n, go)
    })
  }
  await settled()
  expect([inside, line.taken]).toEqual([[1, 2], 2])
  leave.get(2)?.()
  await settled()
  expect([inside, line.taken]).toEqual([[1, 2, 3], 2])
  leave.get(1)?.()
  leave.get(3)?.()
  await settled()
  expect(inside).toEqual([1, 2, 3, 4, 5])
})

test('whoever comes when a place is given back stands behind those who wait', async () => {
  const line = new Line(1)
  const order: string[] = []
  const leave = await line.enter()
  void line.enter().then((go) => (order.push('first'), go()))
  leave()
  void line.enter().then((go) => (order.push('second'), go()))
  await settled()
  expect(order).toEqual(['first', 'second'])
})

test('a place is given back once', async () => {
  const line = new Line(1)
  const leave = await line.enter()
  leave()
  leave()
  expect(line.taken).toBe(0)
  await line.enter()
  let entered = false
  void line.enter().then(() => (entered = true))
  await settled()
  expect([entered, line.taken]).toEqual([false, 1])
})

test('waiting is cancelled at once and leaves the others in their order', async () => {
  const line = new Line(1)
  const leave = await line.enter()
  const cancellation = new Cancellation()
  const given = line.enter(cancellation)
  let entered = false
  void line.enter().then(() => (entered = true))
  cancellation.cancel('left')
  await expect(given).rejects.toMatchObject({ code: 'CANCELLED' })
  const late = new Cancellation()
  late.cancel('left before')
  await expect(line.enter(late)).rejects.toMatchObject({ code: 'CANCELLED' })
  leave()
  await settled()
  expect([entered, line.taken]).toEqual([true, 1])
})
