import { expect, test } from 'vitest'
import { SILENT } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { Hearing } from '../../src/gateway/hearing.ts'
import { Subscriptions } from '../../src/gateway/subscriptions.ts'
import type { Connection } from '../../src/pool/index.ts'
import { answering, createPeer, reply } from '../pool/peers.ts'
import type { Habit, Peer } from '../pool/peers.ts'
import { setup, who } from '../pool/setup.ts'

const ID = 'io.modelcontextprotocol/subscriptionId'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** A modern server that tells of the resources that it is asked for, unless their names begin with `x`. */
const TELLING: Habit = (message, line) => {
  answering({
    'server/discover': (own, id) =>
      own.say(reply(id, { supportedVersions: ['2026-07-28'], capabilities: { resources: {} } })),
    'subscriptions/listen': (own, id) => {
      const asked = 'params' in message ? message.params?.['notifications'] : undefined
      const { resourceSubscriptions: uris = [] } = asked as { resourceSubscriptions?: string[] }
      const told = uris.filter((uri) => !uri.startsWith('x'))
      const params = { _meta: { [ID]: id }, notifications: { resourceSubscriptions: told } }
      own.say({ jsonrpc: '2.0', method: ACKNOWLEDGED, params })
    },
  })(message, line)
}

/** The resources that each stream was opened for, in order. */
const opened = ({ lines }: Peer): unknown[] =>
  lines.flatMap(({ received }) =>
    received.flatMap(({ message }) => {
      if (!('method' in message) || message.method !== 'subscriptions/listen') return []
      const { notifications } = message.params as { notifications: JsonObject }
      return [notifications['resourceSubscriptions']]
    }),
  )

function open(): { readonly peer: Peer; readonly subscriptions: Subscriptions; readonly updates: string[] } {
  const peer = createPeer(TELLING)
  const { files, clock } = setup(peer)
  const updates: string[] = []
  const hearings = new Map<Connection, Hearing>()
  const hearing = (connection: Connection): Hearing => {
    const known = hearings.get(connection)
    if (known !== undefined) return known
    const made = new Hearing(connection, {
      ...{ server: 'files', clock, log: SILENT, onChanged() {}, onReopened() {} },
      onUpdated: (params) => subscriptions.updated(params),
    })
    hearings.set(connection, made)
    return made
  }
  const subscriptions = new Subscriptions({ upstream: files, who: who(), clock, log: SILENT, hearing })
  return { peer, subscriptions, updates }
}

test('resources that are subscribed to together are heard on one stream', async () => {
  const { peer, subscriptions } = open()
  const uris = ['a', 'b', 'c', 'd']
  await Promise.all(uris.map((uri) => subscriptions.add(uri, () => {})))
  expect(opened(peer)).toEqual([uris])
})

test('one more opens a stream for all of them, and one that somebody has already opens none', async () => {
  const { peer, subscriptions, updates } = open()
  await subscriptions.add('a', ({ uri }) => updates.push(`one ${String(uri)}`))
  await subscriptions.add('b', () => {})
  await subscriptions.add('a', ({ uri }) => updates.push(`two ${String(uri)}`))
  expect(opened(peer)).toEqual([['a'], ['a', 'b']])
  subscriptions.updated({ uri: 'a' })
  expect(updates).toEqual(['one a', 'two a'])
})

test('a resource that the server does not tell of is asked for anew each time', async () => {
  const { peer, subscriptions } = open()
  for (let i = 0; i < 2; i++) {
    await expect(subscriptions.add('x', () => {})).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' })
  }
  expect(opened(peer)).toEqual([['x'], ['x']])
})
