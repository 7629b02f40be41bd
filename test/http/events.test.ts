// The history of events: calls are many and push nothing else out of it, and what is lost is told.
import { expect, test } from 'vitest'
import { EventLog } from '../../src/http/index.ts'
import type { EventEntry } from '../../src/http/events.ts'

function readAfter(log: EventLog, after: number | undefined): EventEntry[] {
  const read: EventEntry[] = []
  log.read({ onEvent: (entry) => read.push(entry) > 0 }, after)()
  return read
}

test('thousands of calls leave the other events where they are', () => {
  const log = new EventLog()
  log.publish('server.start', { server: 'a' })
  for (let i = 0; i < 3000; i++) log.publish('call', i)
  log.publish('server.stop', { server: 'a' })
  const read = readAfter(log, 0)
  expect(read.filter(({ type }) => type !== 'call').map(({ id, type }) => [id, type])).toEqual([
    [0, 'gap'],
    [1, 'server.start'],
    [3002, 'server.stop'],
  ])
  expect(read[0]?.data).toEqual({ missing: 2000 })
  expect(read.slice(2, 4).map(({ data }) => data)).toEqual([2000, 2001])
  expect(read).toHaveLength(1003)
})

test('a reader that missed nothing sees no gap', () => {
  const log = new EventLog()
  for (const type of ['call', 'server.start', 'call']) log.publish(type, null)
  expect(readAfter(log, 1).map(({ id }) => id)).toEqual([2, 3])
  expect(readAfter(log, 3)).toEqual([])
  expect(readAfter(log, undefined)).toEqual([])
})
