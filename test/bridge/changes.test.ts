// Changed lists and resources cross in all cells, on each hop in its own form, once each.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import type { Caller } from './caller.ts'
import { CELLS, metaOf, openBridge } from './cells.ts'
import type { Bridge, Cell, Noted, Step } from './cells.ts'

let bridge: Bridge
beforeAll(async () => {
  bridge = await openBridge(CELLS, {}, { CHANGES: '1' })
})
afterAll(() => bridge[Symbol.asyncDispose]())

const HOP = 'io.modelcontextprotocol/'
const KINDS = ['tools', 'prompts', 'resources'] as const
const EVERY_LIST = Object.fromEntries(KINDS.map((kind) => [`${kind}ListChanged`, true]))
const changeOf = (kind: string) => `notifications/${kind}/list_changed`
const UPDATED = 'notifications/resources/updated'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

let lastId = 0
async function work(caller: Caller, steps: readonly Step[]): Promise<void> {
  const params = { name: 'work', arguments: { steps } }
  expect(await caller.ask(`work ${++lastId}`, 'tools/call', params)).toHaveProperty('result')
}

/** Opens a subscription of the modern era and resolves with the filter that was agreed on. */
async function subscribeTo(caller: Caller, id: string, notifications: JsonObject): Promise<unknown> {
  caller.send(id, 'subscriptions/listen', { notifications })
  const { params } = await caller.next(
    ({ method, params: said }) => method === ACKNOWLEDGED && idIn(said) === id,
    0,
  )
  return (params as JsonObject)['notifications']
}

const idIn = (params: unknown) => ((params as JsonObject)['_meta'] as JsonObject)[`${HOP}subscriptionId`]

interface Told {
  readonly method: string
  readonly params: JsonObject
}

/** What a notification has to be for a caller: the members, and in the modern era the subscription that it belongs to. */
const spelled = ({ caller }: Cell, { method, params }: Told, id: string) => ({
  ...{ jsonrpc: '2.0', method },
  params: caller === 'modern' ? { ...params, _meta: { [`${HOP}subscriptionId`]: id } } : params,
})

const heardOf = (caller: Caller, method: string) =>
  caller.heard.filter((message) => message['method'] === method)
const sent = (cell: Cell, ...methods: string[]) =>
  bridge.notes(cell).filter(({ message }) => methods.includes(message?.method ?? ''))
const filterOf = ({ message }: Noted) => message?.params?.['notifications']

test.each(CELLS)('lists, $name', async (cell) => {
  await using caller = await bridge.join(cell, cell.name)
  if (cell.caller === 'modern') expect(await subscribeTo(caller, 'listen', EVERY_LIST)).toEqual(EVERY_LIST)
  else await caller.listen()
  const { capabilities } = (caller.heard[0]?.['result'] ?? {}) as { capabilities: JsonObject }
  for (const kind of KINDS) {
    expect(capabilities[kind]).toMatchObject({ listChanged: true })
    await caller.ask(`before ${kind}`, `${kind}/list`)
  }
  // Twice what is not true, then what is.
  for (const kind of KINDS) await work(caller, [{ announce: kind }, { announce: kind }, { change: kind }])
  for (const kind of KINDS) await caller.next(({ method }) => method === changeOf(kind), 0)
  for (const kind of KINDS) {
    const { result } = await caller.ask(`after ${kind}`, `${kind}/list`)
    expect(JSON.stringify(result)).toContain('won-1')
  }
  // What comes after it shows that it came once.
  const from = caller.heard.length
  await work(caller, [{ change: 'tools' }])
  await caller.next(({ method }) => method === changeOf('tools'), from)
  const told = KINDS.map((kind) => heardOf(caller, changeOf(kind)))
  const once = (kind: string) => spelled(cell, { method: changeOf(kind), params: {} }, 'listen')
  expect(told).toEqual([[once('tools'), once('tools')], [once('prompts')], [once('resources')]])

  const asked = sent(cell, 'subscriptions/listen', 'resources/subscribe')
  if (cell.server === 'legacy') return expect(asked).toEqual([])
  expect(asked.map(filterOf)).toEqual([EVERY_LIST])
  return expect(asked.map(metaOf)).toMatchObject([{ [`${HOP}protocolVersion`]: '2026-07-28' }])
})

/** Listens to these resources from now on, however the caller's era has it; `gone` are those of before. */
async function follow(cell: Cell, caller: Caller, { id, uris, gone = [] }: Follow): Promise<void> {
  if (cell.caller === 'modern') {
    if (uris.length > 0)
      expect(await subscribeTo(caller, id, { resourceSubscriptions: uris })).toEqual({
        resourceSubscriptions: uris,
      })
    return
  }
  for (const uri of uris) {
    const answer = await caller.ask(`${id} ${uri}`, 'resources/subscribe', { uri })
    expect(answer).toEqual({ jsonrpc: '2.0', id: `${id} ${uri}`, result: {} })
  }
  for (const uri of gone)
    expect(await caller.ask(`${id} no ${uri}`, 'resources/unsubscribe', { uri })).toMatchObject({
      result: {},
    })
}

interface Follow {
  readonly id: string
  readonly uris: readonly string[]
  readonly gone?: readonly string[]
}

const [ONE, TWO] = ['work:///one', 'work:///two']

test.each(CELLS)('resources, $name', async (cell) => {
  await using ann = await bridge.join(cell, cell.name)
  await using bob = await bridge.join(cell, cell.name)
  if (cell.caller === 'legacy') for (const caller of [ann, bob]) await caller.listen()
  const from = bridge.notes(cell).length
  const since = (...methods: string[]) =>
    bridge
      .notes(cell)
      .slice(from)
      .filter(({ message }) => methods.includes(message?.method ?? ''))
  const updates = (caller: Caller) => heardOf(caller, UPDATED)
  const update = async (uri: string, by: Caller) => {
    const [before, more] = [by.heard.length, work(ann, [{ update: uri }])]
    await Promise.all([more, by.next(({ method }) => method === UPDATED, before)])
  }
  const told = (uri: string, id: string) => spelled(cell, { method: UPDATED, params: { uri } }, id)

  await follow(cell, ann, { id: 'a', uris: [ONE, TWO] })
  await follow(cell, bob, { id: 'b', uris: [ONE] })
  await update(ONE, bob)
  await ann.next(({ method }) => method === UPDATED, 0)
  await update(TWO, ann)
  expect(updates(ann)).toEqual([told(ONE, 'a'), told(TWO, 'a')])
  expect(updates(bob)).toEqual([told(ONE, 'b')])

  // One of two goes: the server is not told, and the other still hears.
  await follow(cell, bob, { id: 'b', uris: [], gone: [ONE] })
  if (cell.caller === 'modern') await bob.cancel('b')
  await update(ONE, ann)
  expect([updates(ann).length, updates(bob).length]).toEqual([3, 1])
  const wanted = since('subscriptions/listen', 'resources/subscribe', 'resources/unsubscribe')
  if (cell.server === 'legacy') {
    const uris = wanted.map(({ message }) => `${message?.method} ${String(message?.params?.['uri'])}`)
    expect(uris.toSorted()).toEqual([`resources/subscribe ${ONE}`, `resources/subscribe ${TWO}`])
  } else {
    const last = filterOf(wanted.at(-1) ?? { server: '' }) as { resourceSubscriptions: string[] }
    expect(last).toMatchObject(EVERY_LIST)
    expect(last.resourceSubscriptions.toSorted()).toEqual([ONE, TWO])
  }

  // With the last one goes the subscription upstream.
  await follow(cell, ann, { id: 'c', uris: [], gone: [ONE, TWO] })
  if (cell.caller === 'modern') await ann.cancel('a')
  if (cell.server === 'legacy')
    for (const uri of [ONE, TWO]) await bridge.gate.reached(`unsubscribed from ${cell.name}: ${uri}`)
  else {
    const opened = () => sent(cell, 'subscriptions/listen')
    const ended = `given up by ${cell.name}: subscriptions/listen`
    // Each stream took the place of the one before it; the last tells of lists alone.
    await bridge.gate.reached(ended, opened().length - 1)
    for (;;) {
      const all = opened()
      if (JSON.stringify(filterOf(all.at(-1) ?? { server: '' })) === JSON.stringify(EVERY_LIST)) break
      await bridge.gate.reached(ended, all.length)
    }
    expect(bridge.gate.count(ended)).toBeLessThan(opened().length)
  }
})
