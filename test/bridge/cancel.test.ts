// A call that is given up, or that takes too long, ends on its server at once, in the form of that hop; the others go on.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import { CELLS, openBridge, WORK } from './cells.ts'
import type { Bridge, Cell, Noted } from './cells.ts'

const IMPATIENT = CELLS.filter(({ by }) => by === 'http').map((cell) => ({
  ...cell,
  name: `${cell.name}-late`,
}))

let bridge: Bridge
let impatient: Bridge
beforeAll(async () => {
  bridge = await openBridge(CELLS)
  impatient = await openBridge(IMPATIENT, { callTimeout: '1s' })
})
afterAll(async () => {
  await bridge[Symbol.asyncDispose]()
  await impatient[Symbol.asyncDispose]()
})

/** The ids under which a server was asked to work. */
function idsOf(notes: readonly Noted[]): unknown[] {
  const calls = notes.filter(({ message }) => WORK.some(({ method }) => method === message?.method))
  return calls.map(({ message }) => message?.id)
}

/** How the cell's server was told to give calls up: by their ids, each in the form of the hop. */
function givenUp(notes: readonly Noted[]): unknown[] {
  return notes.flatMap(({ closed, message }): object[] => {
    if (closed !== undefined) return [{ closed }]
    if (message?.method !== 'notifications/cancelled') return []
    return [{ cancelled: message.params?.['requestId'] }]
  })
}

const formOf = ({ server, over }: Cell, id: unknown) =>
  server === 'modern' && over === 'http' ? { closed: id } : { cancelled: id }

test.each(CELLS)('case C21, $name: one of two calls is given up', async (cell) => {
  await using caller = await bridge.open(cell)
  const expected: unknown[] = []
  for (const [at, { method, params }] of WORK.entries()) {
    const [doomed, other] = [`doomed ${at} ${cell.name}`, `other ${at} ${cell.name}`]
    caller.send(doomed, method, params([{ gate: doomed }]))
    await bridge.gate.reached(doomed)
    caller.send(other, method, params([{ gate: other }]))
    await bridge.gate.reached(other)
    const ids = idsOf(bridge.notes(cell))
    await caller.cancel(doomed)
    await bridge.gate.reached(`given up by ${cell.name}: ${method}`)
    expected.push(formOf(cell, ids.at(-2)))
    expect(givenUp(bridge.notes(cell))).toEqual(expected)
    bridge.gate.open(other)
    expect(await caller.answer(other)).toHaveProperty('result')
    expect(caller.heard.filter(({ id }) => id === doomed)).toEqual([])
  }
})

const CALLERS = CELLS.filter(({ server, over }) => server === 'legacy' && over === 'http')

test.each(CALLERS)(
  'case C21, $caller by $by: of calls to two servers the right one is given up',
  async (how) => {
    await using caller = await bridge.join(how)
    // All servers are called at once; every other call is given up.
    const label = (at: number) => `two servers ${how.name} ${at}`
    const from = CELLS.map((cell) => bridge.notes(cell).length)
    const since = (at: number) => bridge.notes(CELLS[at] ?? how).slice(from[at])
    for (const [at, { name }] of CELLS.entries()) {
      const steps = [{ gate: label(at) }]
      caller.send(label(at), 'tools/call', { name: `${name}__work`, arguments: { steps } })
      await bridge.gate.reached(label(at))
    }
    for (const [at, cell] of CELLS.entries()) {
      if (at % 2 === 1) continue
      const given = bridge.gate.count(`given up by ${cell.name}: tools/call`)
      await caller.cancel(label(at))
      await bridge.gate.reached(`given up by ${cell.name}: tools/call`, given + 1)
      expect(givenUp(since(at))).toEqual([formOf(cell, idsOf(since(at))[0])])
    }
    for (const at of CELLS.keys()) {
      if (at % 2 === 0) continue
      bridge.gate.open(label(at))
      expect(await caller.answer(label(at))).toHaveProperty('result')
      expect(givenUp(since(at))).toEqual([])
    }
    expect(caller.heard.filter(({ id }) => CELLS.some((_, at) => at % 2 === 0 && id === label(at)))).toEqual(
      [],
    )
  },
)

test.each(IMPATIENT)('$name: a call that takes too long is told so, by the server’s name', async (cell) => {
  await using caller = await impatient.open(cell)
  const answers = WORK.map(({ method, params }) => caller.ask(method, method, params([{ gate: cell.name }])))
  for (const [at, { error }] of (await Promise.all(answers)).entries()) {
    expect(error).toMatchObject({ code: -32603, data: { code: 'UPSTREAM_TIMEOUT' } })
    const { method } = WORK[at] ?? {}
    const text = `Server "${cell.name}" did not answer ${method} within 1 s`
    expect((error as JsonObject)['message']).toMatch(text)
    await impatient.gate.reached(`given up by ${cell.name}: ${method}`)
  }
  const ids = idsOf(impatient.notes(cell))
  expect(givenUp(impatient.notes(cell))).toEqual(expect.arrayContaining(ids.map((id) => formOf(cell, id))))
  expect(ids).toHaveLength(WORK.length)
})

test.each(CELLS.filter(({ caller, by }) => caller === 'legacy' && by === 'stdio'))(
  '$name: initialize cannot be given up',
  async (cell) => {
    await using caller = await bridge.open(cell)
    const { revision } = caller
    const params = {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: 'again', version: '1' },
    }
    caller.send('again', 'initialize', params)
    await caller.cancel('again')
    expect(await caller.answer('again')).toHaveProperty('result')
  },
)
