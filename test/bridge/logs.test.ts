// Logs cross in all cells: from the level on that the caller wants, with the call that they belong to.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import type { Caller } from './caller.ts'
import { CELLS, metaOf, openBridge, withMeta, WORK } from './cells.ts'
import type { Bridge, Cell, Step } from './cells.ts'

let bridge: Bridge
beforeAll(async () => {
  bridge = await openBridge(CELLS)
})
afterAll(() => bridge[Symbol.asyncDispose]())

const LEVEL = 'io.modelcontextprotocol/logLevel'
/** The server says all of these, whatever is wanted. */
const STEPS: readonly Step[] = ['debug', 'info', 'warning', 'error', 'loud'].map((log) => ({
  log,
  data: { of: log },
}))

/** The levels of the logs that came with a call, all of them ahead of its answer. */
function levelsFor(caller: Caller, id: unknown, from: number): unknown[] {
  const heard = caller.heard.slice(from)
  const answered = heard.findIndex((message) => message['id'] === id)
  expect(heard.slice(answered + 1)).toEqual([])
  const logs = heard.slice(0, answered).filter(({ method }) => method === 'notifications/message')
  const said = logs.map(({ params }) => params as JsonObject)
  for (const { level, data } of said) expect(data).toEqual({ of: level })
  return said.map(({ level }) => level)
}

/** Makes a call at a level, as the caller's era has it, and tells what it heard. */
async function levelsAt(caller: Caller, level: string | undefined, work = WORK[0]): Promise<unknown[]> {
  if (work === undefined) throw new Error('there is no work')
  const id = `${work.method} at ${level}`
  const isModern = caller.revision === '2026-07-28'
  if (!isModern && level !== undefined)
    expect(await caller.ask(`set for ${id}`, 'logging/setLevel', { level })).toMatchObject({ result: {} })
  const from = caller.heard.length
  const params = work.params(STEPS)
  await caller.ask(id, work.method, isModern && level ? withMeta(params, { [LEVEL]: level }) : params)
  return levelsFor(caller, id, from)
}

/** The levels that the cell's server was told, however its era has it. */
function toldTo(cell: Cell): unknown[] {
  const notes = bridge.notes(cell)
  if (cell.server === 'legacy') {
    expect(notes.filter((note) => LEVEL in metaOf(note))).toEqual([])
    return notes
      .filter(({ message }) => message?.method === 'logging/setLevel')
      .map(({ message }) => message?.params?.['level'])
  }
  expect(notes.filter(({ message }) => message?.method === 'logging/setLevel')).toEqual([])
  return notes.filter(({ message }) => message?.method === 'tools/call').map((note) => metaOf(note)[LEVEL])
}

test.each(CELLS)('$name', async (cell) => {
  await using caller = await bridge.open(cell)
  const { capabilities } = (caller.heard[0]?.['result'] ?? {}) as JsonObject
  expect(capabilities).toMatchObject({ logging: {} })
  // A legacy client that set no level gets what is no mere debugging; a modern one gets what it asks for.
  const unset = ['info', 'warning', 'error']
  expect(await levelsAt(caller, undefined)).toEqual(cell.caller === 'legacy' ? unset : [])
  expect(await levelsAt(caller, 'warning')).toEqual(['warning', 'error'])
  expect(await levelsAt(caller, 'debug')).toEqual(['debug', ...unset])
  expect(await levelsAt(caller, 'error')).toEqual(['error'])
  const [first, second] = cell.caller === 'legacy' ? ['info'] : [undefined, 'warning']
  expect(toldTo(cell)).toEqual(
    cell.server === 'modern'
      ? [first, 'warning', 'debug', 'error']
      : [first, second, 'debug'].filter((level) => level !== undefined),
  )
  for (const work of WORK.slice(1))
    expect(await levelsAt(caller, 'warning', work)).toEqual(['warning', 'error'])
})

test.each(CELLS.filter(({ server, over }) => server === 'legacy' && over === 'http'))(
  '$name: a line on the stream that belongs to no call goes to the one that runs',
  async (cell) => {
    await using caller = await bridge.open(cell)
    await levelsAt(caller, 'warning')
    const gate = `aside ${cell.name}`
    const _meta = cell.caller === 'modern' ? { [LEVEL]: 'warning' } : {}
    const steps = [{ log: 'error', data: 1, aside: true }, { gate }]
    const from = caller.heard.length
    caller.send('aside', 'tools/call', withMeta({ name: 'work', arguments: { steps } }, _meta))
    await bridge.gate.reached(gate)
    const heard = await caller.next(({ method }) => method === 'notifications/message', from)
    expect(heard['params']).toEqual({ level: 'error', data: 1 })
    bridge.gate.open(gate)
    expect(await caller.answer('aside')).toHaveProperty('result')
  },
)

test.each(CELLS.filter(({ server, over }) => server === 'legacy' && over === 'stdio'))(
  '$name: a level that no revision knows is refused',
  async (cell) => {
    await using caller = await bridge.open(cell)
    const refused =
      cell.caller === 'modern'
        ? await caller.ask(
            1,
            'tools/call',
            withMeta({ name: 'work', arguments: { steps: [] } }, { [LEVEL]: 'x' }),
          )
        : await caller.ask(1, 'logging/setLevel', { level: 'x' })
    expect(refused).toMatchObject({ error: { code: -32602 } })
  },
)
