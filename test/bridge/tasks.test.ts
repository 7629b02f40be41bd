// Tasks in all cells, by the frames of both hops: each side sees the form of its own era, and an id of its own.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import { ask, EXTENSION, openStage, OVER, RELATED, taking, until } from '../tasks/setup.ts'
import type { Stage } from '../tasks/setup.ts'
import type { Caller } from './caller.ts'
import { CELLS, REVISION } from './cells.ts'
import type { Cell } from './cells.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

const serverOf = ({ server, over }: Cell) => `${server}-${over}` as const
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

interface Sent {
  /** Absent in an answer. */
  readonly method?: string
  readonly params: JsonObject & { readonly _meta?: JsonObject; readonly taskId?: unknown }
}

/** What has reached the cell's server since, of calls and of tasks that are no older. */
function sentSince(cell: Cell, from: number): readonly Sent[] {
  const frames = stage.frames(serverOf(cell)) as unknown as Sent[]
  const older = new Set(frames.slice(0, from).map(({ params }) => params?.taskId))
  return frames
    .slice(from)
    .filter(
      ({ method, params }) =>
        method === 'tools/call' || (method?.startsWith('tasks/') && !older.has(params.taskId)),
    )
}

/** A caller of the cell, whose server is up: one that is slow to make a task gets one that is held for it. */
async function open(cell: Cell): Promise<Caller> {
  const caller = await stage.open(serverOf(cell), REVISION[cell.caller], cell.by)
  await ask(caller, 'tools/list', {})
  return caller
}

const declaresTasks = ({ params }: Sent) => {
  const capabilities = params._meta?.[CAPABILITIES] as { extensions?: JsonObject } | undefined
  return capabilities?.extensions?.[EXTENSION] !== undefined
}

const TIMES = { createdAt: expect.any(String) as string, lastUpdatedAt: expect.any(String) as string }

/** Makes a task of a call, in the caller's form, and resolves with the id that the caller was told. */
async function make(cell: Cell, caller: Caller, gate: string): Promise<unknown> {
  const call = { name: 'gated', arguments: { gate } }
  if (cell.caller === 'modern') {
    const { _meta: _, ...created } = await ask(caller, 'tools/call', taking(call))
    expect(created).toEqual({
      ...{ resultType: 'task', taskId: expect.any(String) as string, status: 'working', ...TIMES },
      ...{ ttlMs: 60_000, pollIntervalMs: 50 },
    })
    return created['taskId']
  }
  const { task, ...rest } = await ask(caller, 'tools/call', { ...call, task: { ttl: 60_000 } })
  expect(task).toEqual({
    ...{ taskId: expect.any(String) as string, status: 'working', ...TIMES },
    ...{ ttl: 60_000, pollInterval: expect.any(Number) as number },
  })
  expect(rest).toEqual({})
  return (task as JsonObject)['taskId']
}

/** The call as the server of the cell has to get it. */
function expectCall(cell: Cell, call: Sent | undefined, gate: string): void {
  expect(call?.method).toBe('tools/call')
  expect(call?.params['arguments']).toEqual({ gate })
  if (cell.server === 'modern') {
    expect(call && declaresTasks(call)).toBe(true)
    expect(call?.params).not.toHaveProperty('task')
    return
  }
  expect(call?.params['task']).toEqual(cell.caller === 'legacy' ? { ttl: 60_000 } : {})
  expect(JSON.stringify(call)).not.toContain(CAPABILITIES)
}

test.each(CELLS)('$name: a task is made, looked at and fetched', async (cell) => {
  await using caller = await open(cell)
  const [gate, from] = [`bridge ${cell.name}`, stage.frames(serverOf(cell)).length]
  const taskId = await make(cell, caller, gate)
  const text = [{ type: 'text', text: 'the answer' }]
  if (cell.caller === 'modern') {
    stage.gate.open(gate, 'the answer')
    const { _meta: _, ...over } = await until(caller, taking({ taskId }), OVER)
    expect(over).toEqual({
      ...{ resultType: 'complete', taskId, status: 'completed', ...TIMES },
      ...{ ttlMs: 60_000, pollIntervalMs: 50, result: expect.objectContaining({ content: text }) as object },
    })
  } else {
    const { _meta: _, ...state } = await ask(caller, 'tasks/get', { taskId })
    expect(state).toEqual({
      taskId,
      status: 'working',
      ...TIMES,
      ttl: 60_000,
      pollInterval: expect.any(Number) as number,
    })
    const outcome = ask(caller, 'tasks/result', { taskId })
    stage.gate.open(gate, 'the answer')
    expect(await outcome).toEqual({ content: text, _meta: { [RELATED]: { taskId } } })
  }

  const [call, ...rest] = sentSince(cell, from)
  expectCall(cell, call, gate)
  // One task, whose id upstream is the server's own.
  const own = new Set(rest.map(({ params }) => params.taskId))
  expect([own.size, own.has(taskId)]).toEqual([1, false])
  expect(JSON.stringify(caller.heard)).not.toContain(String([...own][0]))
  const methods = new Set(rest.map(({ method }) => method))
  expect(methods).toContain('tasks/get')
  // The modern era has the outcome with the state; the legacy one has to be asked for it.
  expect(methods.has('tasks/result')).toBe(cell.server === 'legacy')
  for (const frame of rest) expect(declaresTasks(frame)).toBe(cell.server === 'modern')
})

test.each(CELLS)('$name: a task is cancelled', async (cell) => {
  await using caller = await open(cell)
  const [gate, from] = [`never, bridge ${cell.name}`, stage.frames(serverOf(cell)).length]
  const taskId = await make(cell, caller, gate)
  if (cell.caller === 'modern') {
    const acknowledged = await ask(caller, 'tasks/cancel', taking({ taskId }))
    expect(Object.keys(acknowledged).filter((key) => key !== '_meta')).toEqual(['resultType'])
    expect(await until(caller, taking({ taskId }), OVER)).toMatchObject({ taskId, status: 'cancelled' })
  } else {
    const state = await ask(caller, 'tasks/cancel', { taskId })
    expect(state).toEqual({
      taskId,
      status: 'cancelled',
      ...TIMES,
      ttl: 60_000,
      pollInterval: expect.any(Number) as number,
    })
  }
  const [call, ...rest] = sentSince(cell, from)
  expectCall(cell, call, gate)
  const cancels = rest.filter(({ method }) => method === 'tasks/cancel')
  expect(cancels).toHaveLength(1)
  expect(cancels[0]?.params.taskId).not.toBe(taskId)
  for (const frame of rest) expect(declaresTasks(frame)).toBe(cell.server === 'modern')
})
