// Servers that say over and over that a list has changed: it is looked at once a second, and told of when it is true.
import { expect, test } from 'vitest'
import { SILENT } from '../../src/base/index.ts'
import type { ChangedList } from '../../src/gateway/changes.ts'
import { forCatalogue, ServerLists } from '../../src/gateway/lists.ts'
import { Relist } from '../../src/gateway/relist.ts'
import { answering, createPeer, HANDLERS, reply } from '../pool/peers.ts'
import { setup } from '../pool/setup.ts'

async function open() {
  let [names, asked]: [string[], number] = [['a', 'b'], 0]
  const peer = createPeer(
    answering({
      initialize: HANDLERS.initialize('2025-06-18'),
      'tools/list': (line, id) => {
        asked++
        line.say(reply(id, { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) }))
      },
    }),
  )
  const { files, clock } = setup(peer)
  const io = { clock, log: SILENT, onLate() {}, warned: new Map<string, true>() }
  const lists = new ServerLists(files, forCatalogue('ann', {}), io)
  const told: ChangedList[] = []
  const relist = new Relist({
    ...{ server: 'files', clock, log: SILENT, lists: () => [lists] },
    tell: (kind) => told.push(kind),
  })
  return {
    ...{ clock, lists, relist, told },
    change: (to: string[]) => (names = to),
    asked: () => asked,
  }
}

/** Says so three times a second. */
async function cryWolf({ clock, relist }: Awaited<ReturnType<typeof open>>, seconds: number): Promise<void> {
  for (let time = 0; time < seconds * 3; time++) {
    relist.changed('tools')
    await clock.turn(1000 / 3)
  }
}

test('case C32: a list that is said to change three times a second is looked at once a second, and not told of', async () => {
  const server = await open()
  await server.lists.get('tools')
  const before = server.asked()
  await cryWolf(server, 20)
  expect(server.asked() - before).toBeLessThanOrEqual(21)
  expect(server.asked() - before).toBeGreaterThanOrEqual(19)
  expect(server.told).toEqual([])
})

test('case C32: a change amid such noise is told once', async () => {
  const server = await open()
  await server.lists.get('tools')
  await cryWolf(server, 3)
  server.change(['a', 'c'])
  await cryWolf(server, 3)
  expect(server.told).toEqual(['tools'])
  // The order of a list is no change of it.
  server.change(['c', 'a'])
  await cryWolf(server, 3)
  expect(server.told).toEqual(['tools'])
})

test('a storm is folded to one look at once and one more', async () => {
  const server = await open()
  await server.lists.get('tools')
  const before = server.asked()
  for (let time = 0; time < 100; time++) server.relist.changed('tools')
  await server.clock.turn(0)
  expect(server.asked() - before).toBe(1)
  await server.clock.turn(10_000)
  expect(server.asked() - before).toBe(2)
})

test('a list that nobody has seen is told of without a look', async () => {
  const server = await open()
  server.relist.changed('tools')
  await server.clock.turn(0)
  expect([server.asked(), server.told]).toEqual([0, ['tools']])
})
