// Tasks in every cell: made, looked at, answered, cancelled and fetched, in the form of each caller and each server.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SERVERS, EXTENSION, RELATED, OVER, ask, openStage, taking, tried, until } from './setup.ts'
import type { Server, Stage } from './setup.ts'
import type { JsonObject } from '../peers/peer.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

const WAYS = (['http', 'stdio'] as const).flatMap((by) => SERVERS.map((server) => ({ by, server })))
const text = (what: string) => [{ type: 'text', text: what }]
const upstreamIds = (server: Server) =>
  stage
    .frames(server)
    .filter(({ method }) => String(method).startsWith('tasks/'))
    .map(({ params }) => (params as JsonObject)['taskId'])

test.each(WAYS)(
  'modern by $by to $server: a task is made, asked for, and completed',
  async ({ by, server }) => {
    await using caller = await stage.open(server, '2026-07-28', by)
    const { capabilities } = await ask(caller, 'server/discover', {})
    expect(capabilities).toMatchObject({ extensions: { [EXTENSION]: {} } })
    const gate = `modern ${by} ${server}`
    const created = await ask(caller, 'tools/call', taking({ name: 'gated', arguments: { gate } }))
    expect(created).toMatchObject({
      resultType: 'task',
      status: 'working',
      ttlMs: 60_000,
      pollIntervalMs: 50,
    })
    const { taskId } = created
    const working = await ask(caller, 'tasks/get', taking({ taskId }))
    expect(working).toMatchObject({ resultType: 'complete', taskId, status: 'working' })
    stage.gate.open(gate, 'the answer')
    const over = await until(caller, taking({ taskId }), OVER)
    expect(over).toMatchObject({ status: 'completed', taskId, result: { content: text('the answer') } })
    expect(JSON.stringify(over)).not.toContain(RELATED)
    for (const key of ['ttl', 'pollInterval', 'requestState']) expect(over).not.toHaveProperty(key)
    expect(upstreamIds(server)).not.toContain(taskId)
  },
)

test.each(WAYS)(
  '2025-11-25 by $by to $server: a task is made, listed, waited for',
  async ({ by, server }) => {
    await using caller = await stage.open(server, '2025-11-25', by)
    const gate = `core ${by} ${server}`
    const { task } = await ask(caller, 'tools/call', {
      name: 'gated',
      arguments: { gate },
      task: { ttl: 60_000 },
    })
    const { taskId } = task as JsonObject
    expect(task).toMatchObject({ status: 'working', ttl: 60_000, pollInterval: 50 })
    const { tasks } = (await ask(caller, 'tasks/list', {})) as { tasks: JsonObject[] }
    expect(tasks.filter((one) => one['taskId'] === taskId)).toHaveLength(1)
    const outcome = ask(caller, 'tasks/result', { taskId })
    stage.gate.open(gate, 'the answer')
    expect(await outcome).toEqual({ content: text('the answer'), _meta: { [RELATED]: { taskId } } })
    const state = await ask(caller, 'tasks/get', { taskId })
    expect(state).toMatchObject({ taskId, status: 'completed', ttl: 60_000 })
    for (const key of ['ttlMs', 'result', 'resultType']) expect(state).not.toHaveProperty(key)
    const { error } = (await tried(caller, 'tasks/cancel', { taskId })) as { error: unknown }
    expect(error).toMatchObject({ code: -32602 })
  },
)

test.each(WAYS)('modern by $by to $server: what a task asks is answered in parts', async ({ by, server }) => {
  await using caller = await stage.open(server, '2026-07-28', by)
  const { taskId } = await ask(caller, 'tools/call', taking({ name: 'multi_input', arguments: {} }))
  const both = async (): Promise<JsonObject> => {
    const { inputRequests } = await until(caller, taking({ taskId }), ['input_required'])
    return Object.keys(inputRequests as JsonObject).length === 2 ? (inputRequests as JsonObject) : both()
  }
  const requests = await both()
  expect(Object.values(requests)).toMatchObject([
    { method: 'elicitation/create' },
    { method: 'elicitation/create' },
  ])
  const [first = '', second = ''] = Object.keys(requests)
  const answer = (key: string, name: string) =>
    ask(
      caller,
      'tasks/update',
      taking({
        taskId,
        inputResponses: { [key]: { action: 'accept', content: { name } }, 'no-such-key': {} },
      }),
    )
  expect(Object.keys(await answer(first, 'Ann')).filter((key) => key !== '_meta')).toEqual(['resultType'])
  const { inputRequests: left } = await until(caller, taking({ taskId }), ['input_required'])
  expect(Object.keys(left as JsonObject)).toEqual([second])
  await answer(second, 'Bob')
  const over = await until(caller, taking({ taskId }), OVER)
  expect(over).toMatchObject({ status: 'completed', result: { content: text('Ann and Bob') } })
})

test.each(WAYS)(
  '2025-11-25 by $by to $server: what a task asks comes while its outcome is waited for',
  async ({ by, server }) => {
    await using caller = await stage.open(server, '2025-11-25', by)
    const params = { name: 'confirm_delete', arguments: { filename: 'a.txt' }, task: {} }
    const { task } = await ask(caller, 'tools/call', params)
    const { taskId } = task as JsonObject
    const heard = caller.heard.length
    caller.send('outcome', 'tasks/result', { taskId })
    const question = await caller.next(({ method }) => method === 'elicitation/create', heard)
    expect(question['params']).toMatchObject({ message: 'Delete a.txt?', _meta: { [RELATED]: { taskId } } })
    caller.reply(question['id'], {
      action: 'accept',
      content: { confirm: true },
      _meta: { [RELATED]: { taskId } },
    })
    const { result } = (await caller.answer('outcome')) as { result: JsonObject }
    expect(result).toMatchObject({ content: text('Deleted a.txt'), _meta: { [RELATED]: { taskId } } })
  },
)

test.each(WAYS)('$server by $by: a task is cancelled on the server', async ({ by, server }) => {
  await using modern = await stage.open(server, '2026-07-28', by)
  const call = { name: 'gated', arguments: { gate: `never ${by} ${server}` } }
  const { taskId } = await ask(modern, 'tools/call', taking(call))
  const acknowledged = await ask(modern, 'tasks/cancel', taking({ taskId }))
  expect(acknowledged).not.toHaveProperty('status')
  expect(await until(modern, taking({ taskId }), OVER)).toMatchObject({ status: 'cancelled' })
  await ask(modern, 'tasks/cancel', taking({ taskId }))
  await using core = await stage.open(server, '2025-11-25', by)
  const { task } = await ask(core, 'tools/call', { ...call, task: {} })
  const id = (task as JsonObject)['taskId']
  expect(await ask(core, 'tasks/cancel', { taskId: id })).toMatchObject({ taskId: id, status: 'cancelled' })
})

test.each(SERVERS)('%s: a tool that needs a task is used by those who have none', async (server) => {
  await using old = await stage.open(server, '2025-06-18')
  const result = await ask(old, 'tools/call', { name: 'failing_job', arguments: {} })
  expect(result).toEqual({ content: text('The job failed'), isError: true })
  await using modern = await stage.open(server, '2026-07-28')
  const { error } = (await tried(modern, 'tools/call', { name: 'failing_job', arguments: {} })) as {
    error: JsonObject
  }
  expect(error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { extensions: { [EXTENSION]: {} } } },
  })
})

test.each(SERVERS)('%s: a call that fails is told in the form of its caller', async (server) => {
  await using modern = await stage.open(server, '2026-07-28')
  const failed = async (name: string) => {
    const { taskId } = await ask(modern, 'tools/call', taking({ name, arguments: {} }))
    return until(modern, taking({ taskId }), OVER)
  }
  expect(await failed('failing_job')).toMatchObject({ status: 'completed', result: { isError: true } })
  expect(await failed('protocol_error_job')).toMatchObject({
    status: 'failed',
    error: { code: -32603, message: 'The job broke' },
  })
  await using core = await stage.open(server, '2025-11-25')
  const { task } = await ask(core, 'tools/call', { name: 'failing_job', arguments: {}, task: {} })
  const { taskId } = task as JsonObject
  await ask(core, 'tasks/result', { taskId })
  expect(await ask(core, 'tasks/get', { taskId })).toMatchObject({ status: 'failed' })
})

test('what is no task of the caller is not found, and methods of the other form are not known', async () => {
  await using modern = await stage.open('modern-http', '2026-07-28')
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const params = { taskId: 'no-such-task', inputResponses: {} }
    expect(await tried(modern, method, taking(params))).toMatchObject({ error: { code: -32602 } })
    expect(await tried(modern, method, params)).toMatchObject({ error: { code: -32021 } })
  }
  for (const method of ['tasks/list', 'tasks/result'])
    expect(await tried(modern, method, taking({ taskId: 'x' }))).toMatchObject({ error: { code: -32601 } })
  await using old = await stage.open('modern-http', '2025-06-18')
  expect(await tried(old, 'tasks/get', { taskId: 'x' })).toMatchObject({ error: { code: -32601 } })
})

test.each(SERVERS)('%s: who listens to a task hears of it', async (server) => {
  await using caller = await stage.open(server, '2026-07-28')
  const gate = `listened ${server}`
  const { taskId } = await ask(caller, 'tools/call', taking({ name: 'gated', arguments: { gate } }))
  const refused = await tried(caller, 'subscriptions/listen', { notifications: { taskIds: [taskId] } })
  expect(refused).toMatchObject({ error: { code: -32021 } })
  caller.send('listen', 'subscriptions/listen', taking({ notifications: { taskIds: [taskId, 'other'] } }))
  const acknowledged = await caller.next(
    ({ method }) => method === 'notifications/subscriptions/acknowledged',
    0,
  )
  expect(acknowledged['params']).toMatchObject({ notifications: { taskIds: [taskId] } })
  stage.gate.open(gate, 'the answer')
  const told = await caller.next(
    ({ method, params }) =>
      method === 'notifications/tasks' && (params as JsonObject)['status'] === 'completed',
    0,
  )
  expect(told['params']).toMatchObject({ taskId, result: { content: text('the answer') } })
})

test('a server without tasks gets one that is held for it', async () => {
  await using caller = await stage.open('plain', '2025-11-25')
  const gate = 'held'
  const steps = { steps: [{ gate }] }
  const { task } = await ask(caller, 'tools/call', { name: 'work', arguments: steps, task: { ttl: 30_000 } })
  const { taskId } = task as JsonObject
  expect(task).toMatchObject({ status: 'working', ttl: 30_000 })
  expect(await ask(caller, 'tasks/get', { taskId })).toMatchObject({ taskId, status: 'working' })
  const outcome = ask(caller, 'tasks/result', { taskId })
  stage.gate.open(gate)
  expect(await outcome).toMatchObject({ content: text('done'), _meta: { [RELATED]: { taskId } } })
  const doomed = await ask(caller, 'tools/call', {
    ...{ name: 'work', task: {} },
    arguments: { steps: [{ gate: 'held for ever' }] },
  })
  const id = (doomed['task'] as JsonObject)['taskId']
  expect(await ask(caller, 'tasks/cancel', { taskId: id })).toMatchObject({ status: 'cancelled' })
  await stage.gate.reached('given up by plain: tools/call')
})
