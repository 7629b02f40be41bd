// Progress crosses in all cells: a token of mcpx's own on the server's hop, the caller's on the caller's.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import { CELLS, metaOf, openBridge, withMeta, WORK } from './cells.ts'
import type { Bridge } from './cells.ts'

let bridge: Bridge
beforeAll(async () => {
  bridge = await openBridge(CELLS)
})
afterAll(() => bridge[Symbol.asyncDispose]())

const isProgress = ({ method }: JsonObject) => method === 'notifications/progress'
const valuesIn = (params: readonly JsonObject[]) => params.map(({ progress }) => Number(progress))

/** Of every kind that a token may be, one a method. */
const TOKENS = [0, 'a', 1.5e3]

const STEPS = [
  { progress: 1, total: 3, message: 'begun' },
  { progress: 2 },
  { progress: 2 },
  { progress: 1.5, message: 'back' },
  { progress: 99, progressToken: 'nobody asked for this' },
  { progress: 99, progressToken: 987_654_321 },
  { progress: 3, total: 3, message: 'done' },
  { late: [{ progress: 4 }] },
]

test.each(CELLS)('cases C26 and C27, $name', async (cell) => {
  await using caller = await bridge.open(cell)
  for (const [at, { method, params }] of WORK.entries()) {
    const id = `call ${at}`
    const from = caller.heard.length
    const progressToken = TOKENS[at]
    await caller.ask(id, method, withMeta(params(STEPS), { progressToken }))
    // What the server says after its answer is there before the answer to what comes next.
    expect(await caller.ask(`after ${at}`, 'tools/list')).toHaveProperty('result')
    const heard = caller.heard.slice(from)
    const told = heard.filter(isProgress)
    const said = told.map((message) => message['params'] as JsonObject)
    expect(valuesIn(said)).toEqual([...new Set(valuesIn(said))].toSorted((a, b) => a - b))
    expect(said[0]).toEqual({ progressToken, progress: 1, total: 3, message: 'begun' })
    expect(said.at(-1)).toEqual({ progressToken, progress: 3, total: 3, message: 'done' })
    const answered = heard.findIndex((message) => message['id'] === id)
    expect(heard.findLastIndex(isProgress)).toBeLessThan(answered)
    expect(heard[answered]).toHaveProperty('result')
  }
  const calls = bridge
    .notes(cell)
    .filter(({ message }) => WORK.some(({ method }) => method === message?.method))
  const tokens = calls.map((call) => metaOf(call)['progressToken'])
  expect(new Set(tokens).size).toBe(WORK.length)
  for (const token of tokens) expect(token).toBeTypeOf('number')
  expect(tokens).not.toEqual(expect.arrayContaining([0]))
})

test.each(CELLS)('$name: without a token nobody is asked for progress, and none comes', async (cell) => {
  await using caller = await bridge.open(cell)
  const marked = { name: 'work', arguments: { steps: [{ progress: 1, progressToken: 1 }], mark: 'silent' } }
  expect(await caller.ask(1, 'tools/call', marked)).toHaveProperty('result')
  expect(caller.heard.filter(isProgress)).toEqual([])
  const call = bridge
    .notes(cell)
    .find(({ message }) => (message?.params?.['arguments'] as JsonObject | undefined)?.['mark'] === 'silent')
  expect(call).toBeDefined()
  expect(call && metaOf(call)).not.toHaveProperty('progressToken')
})

test('a revision without messages gets none', async () => {
  const [cell] = CELLS
  if (cell === undefined) throw new Error('there are no cells')
  await using caller = await bridge.open(cell, '2024-11-05')
  const [work] = WORK
  await caller.ask(1, 'tools/call', withMeta(work?.params(STEPS) ?? {}, { progressToken: 't' }))
  const said = caller.heard.filter(isProgress).map(({ params }) => params)
  expect(said[0]).toEqual({ progressToken: 't', progress: 1, total: 3 })
})
