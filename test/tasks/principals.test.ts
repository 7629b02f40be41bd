// A task is its maker's alone, whoever else knows its id; and its maker is told of it.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCaller, overHttp } from '../bridge/caller.ts'
import type { JsonObject } from '../peers/peer.ts'
import { ask, openStage, SERVERS, taking, tried } from './setup.ts'
import type { Stage } from './setup.ts'

const KEYS = ['ann', 'bob'].map((name) => ({ name, token: `token-of-${name}` }))
const hashOf = (token: string) => createHash('sha256').update(token).digest('hex')

let stage: Stage
beforeAll(async () => {
  stage = await openStage({
    auth: { keys: KEYS.map(({ name, token }) => `${name}:sha256:${hashOf(token)}`) },
  })
})
afterAll(() => stage[Symbol.asyncDispose]())

const open = (server: string, who: string, revision: '2025-11-25' | '2026-07-28') =>
  openCaller(
    revision,
    overHttp(`${stage.daemon.url}/${server}`, { authorization: `Bearer token-of-${who}` }),
    { elicitation: { form: {} } },
  )

test.each(SERVERS)('%s: nobody sees the task of another principal', async (server) => {
  await using ann = await open(server, 'ann', '2025-11-25')
  await using bob = await open(server, 'bob', '2025-11-25')
  await using modern = await open(server, 'bob', '2026-07-28')
  const gate = `of ann ${server}`
  const { task } = await ask(ann, 'tools/call', { name: 'gated', arguments: { gate }, task: {} })
  const { taskId } = task as JsonObject
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    expect(await tried(bob, method, { taskId })).toMatchObject({ error: { code: -32602 } })
  expect(await tried(modern, 'tasks/get', taking({ taskId }))).toMatchObject({ error: { code: -32602 } })
  expect(await ask(bob, 'tasks/list', {})).toEqual({ tasks: [] })
  const { tasks } = (await ask(ann, 'tasks/list', {})) as { tasks: JsonObject[] }
  expect(tasks.map((one) => one['taskId'])).toEqual([taskId])
  stage.gate.open(gate)
})

test.each(SERVERS)('%s: the session that made a task is told what becomes of it', async (server) => {
  await using maker = await stage.open(server, '2025-11-25', 'stdio')
  const gate = `told ${server}`
  const { task } = await ask(maker, 'tools/call', { name: 'gated', arguments: { gate }, task: {} })
  const { taskId } = task as JsonObject
  maker.send('outcome', 'tasks/result', { taskId })
  stage.gate.open(gate, 'the answer')
  const { params } = await maker.next(
    ({ method, params: said }) =>
      method === 'notifications/tasks/status' && (said as JsonObject)['status'] === 'completed',
    0,
  )
  expect(params).toMatchObject({ taskId, ttl: 60_000, pollInterval: 50 })
  for (const key of ['result', 'resultType', 'ttlMs', '_meta']) expect(params).not.toHaveProperty(key)
})
