// The stream of changes of a modern server, by a clock that is turned by hand: opened anew within a budget, and never twice.
import { expect, test } from 'vitest'
import { SILENT } from '../../src/base/index.ts'
import { Hearing } from '../../src/gateway/hearing.ts'
import { answering, createPeer, refusal, reply } from '../pool/peers.ts'
import type { Habit } from '../pool/peers.ts'
import { settled } from '../pool/clock.ts'
import { setup, who } from '../pool/setup.ts'

const ID = 'io.modelcontextprotocol/subscriptionId'

type Answer = 'agrees' | 'refuses' | 'ends'

async function open(answerTo: (asked: unknown) => Answer = () => 'agrees') {
  const ids: number[] = []
  const listen: Habit = (message, line) =>
    answering({
      'server/discover': (own, id) =>
        own.say(
          reply(id, {
            supportedVersions: ['2026-07-28'],
            capabilities: { tools: { listChanged: true }, resources: {} },
          }),
        ),
      'subscriptions/listen': (own, id) => {
        const notifications = 'params' in message ? message.params?.['notifications'] : undefined
        const how = answerTo(notifications)
        if (how === 'refuses') return own.say(refusal(id))
        if (how === 'ends') return own.say(reply(id, { resultType: 'complete' }))
        ids.push(Number(id))
        const params = { _meta: { [ID]: id }, notifications }
        own.say({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })
      },
    })(message, line)
  const peer = createPeer(listen)
  const { files, clock } = setup(peer)
  const { connection } = await files.lease(who())
  const counts = { reopened: 0 }
  const hearing = new Hearing(connection, {
    ...{ server: 'files', clock, log: SILENT, onChanged() {}, onUpdated() {} },
    onReopened: () => counts.reopened++,
  })
  await hearing.ready
  const end = async (id: number | undefined) => {
    peer.lines[0]?.say(reply(id ?? 0, { resultType: 'complete' }))
    await settled()
  }
  const tearDown = async (id: number | undefined) => {
    peer.lines[0]?.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id ?? 0 } })
    await settled()
  }
  /** The streams that were neither ended nor given up. */
  const alive = (ended: readonly unknown[]) => {
    const given = (peer.lines[0]?.received ?? []).flatMap(({ message }) =>
      'method' in message && message.method === 'notifications/cancelled'
        ? [message.params?.['requestId']]
        : [],
    )
    return ids.filter((id) => !given.includes(id) && !ended.includes(id))
  }
  return { hearing, clock, ids, counts, end, tearDown, alive }
}

test('cases C19 and C43: a stream that ends at once is opened again with growing pauses, and then left alone', async () => {
  const { clock, ids, counts, end } = await open()
  for (const pause of [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]) {
    const opened = ids.length
    await end(ids.at(-1))
    await clock.turn(pause - 1)
    expect(ids).toHaveLength(opened)
    await clock.turn(1)
    expect(ids).toHaveLength(opened + 1)
  }
  expect(counts.reopened).toBe(8)
  await end(ids.at(-1))
  await clock.turn(3_600_000)
  expect(ids).toHaveLength(9)
})

test('what is wanted during a pause is heard on one stream, not on that of the pause too', async () => {
  const { hearing, clock, ids, end, alive } = await open()
  const [first] = ids
  await end(first)
  await hearing.want(new Set(['a']))
  await clock.turn(60_000)
  expect(ids).toHaveLength(2)
  expect(alive([first])).toHaveLength(1)
})

test('a stream that is refused leaves the one before it in its place', async () => {
  const { hearing, ids, alive } = await open((asked) =>
    JSON.stringify(asked).includes('no') ? 'refuses' : 'agrees',
  )
  await expect(hearing.want(new Set(['no']))).rejects.toMatchObject({ code: 'UPSTREAM_PROTOCOL' })
  await hearing.want(new Set(['a']))
  await settled()
  expect(alive([])).toEqual([ids.at(-1)])
})

test('a stream that the server gives up by a notification alone is opened again', async () => {
  const { clock, ids, tearDown } = await open()
  await tearDown(ids[0])
  await clock.turn(500)
  expect(ids).toHaveLength(2)
})

test('a stream that ends before it hears leaves the one before it in its place until it is opened again', async () => {
  const answers: Answer[] = ['agrees', 'agrees', 'ends', 'agrees']
  const { hearing, clock, ids, alive } = await open(() => answers.shift() ?? 'refuses')
  await hearing.want(new Set(['a']))
  const [, second] = ids
  await expect(hearing.want(new Set())).rejects.toThrow('tells of no changes')
  expect(alive([])).toEqual([second])
  expect(hearing.hears('tools')).toBe(true)
  await clock.turn(500)
  expect(alive([])).toEqual([ids.at(-1)])
  expect(ids).toHaveLength(3)
})
