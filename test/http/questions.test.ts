// Questions over the REST interface: calls that ask, calls that are left and come back to, and the inbox.
import { createParser } from 'eventsource-parser'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/index.ts'
import { exchange, post } from '../peers/exchange.ts'
import { ROOT } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'

const EVERYTHING = join(ROOT, 'test', 'fixtures', 'everything', 'server.mjs')
const ERAS = ['legacy', 'modern'] as const
const PLUGH = { action: 'accept', content: { response: 'plugh' } }

let workspace: Workspace
let daemon: Running
let v1: string

beforeAll(async () => {
  const servers = ERAS.map((era) => [era, { command: process.execPath, args: [EVERYTHING, '--era', era] }])
  workspace = await openWorkspace({ mcpServers: Object.fromEntries(servers) })
  daemon = await workspace.start('daemon', '--port', '0', '--json')
  v1 = (JSON.parse(await daemon.printed(/\n/)) as { v1: string }).v1
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const body = ({ body: text }: { body: string }): JsonObject => JSON.parse(text) as JsonObject
const get = async (path: string, headers = {}) => exchange(`${v1}${path}`, { verb: 'GET', headers })
const asking = (server: string, more: JsonObject = {}) => ({
  ...{ server, tool: 'test_elicitation', args: { message: 'A word?' } },
  ...more,
})
const saying = (word: string) => ({
  content: [{ type: 'text', text: expect.stringContaining(word) as string }],
})

/** The answers to all questions of an outcome: the same for each. */
const answersTo = (questions: unknown, answer: unknown): JsonObject =>
  Object.fromEntries(Object.keys(questions as JsonObject).map((key) => [key, answer]))

test.each(ERAS)('a call of a %s server that asks is a 202 that can be gone on with', async (era) => {
  const first = await post(`${v1}/call`, asking(era))
  const { status, questions, state } = body(first)
  expect([first.status, status]).toEqual([202, 'input_required'])
  expect(Object.values(questions as JsonObject)).toEqual([
    { method: 'elicitation/create', params: expect.objectContaining({ message: 'A word?' }) as object },
  ])
  const stranger = await post(`${v1}/call`, asking(era, { args: { message: 'Other' }, state, answers: {} }))
  expect([stranger.status, body(stranger)['code']]).toEqual([400, 'STATE_INVALID'])
  const last = await post(`${v1}/call`, asking(era, { state, answers: answersTo(questions, PLUGH) }))
  expect([last.status, body(last)]).toEqual([200, expect.objectContaining(saying('plugh'))])
})

test.each(ERAS)('a call of a %s server can be left, looked at, answered and fetched', async (era) => {
  const started = await post(`${v1}/ask`, asking(era))
  expect([started.status, body(started)['status']]).toEqual([202, 'running'])
  const path = `/ask/${String(body(started)['id'])}`
  const asked = body(await get(`${path}?wait=30s`))
  expect(asked['status']).toBe('input_required')
  const answered = await post(`${v1}${path}/answers`, answersTo(asked['questions'], PLUGH))
  expect(answered.status).toBe(202)
  expect(body(await get(`${path}?wait=30s`))).toMatchObject({ status: 'done', result: saying('plugh') })
  const again = await post(`${v1}${path}/answers`, {})
  expect([again.status, body(again)['code']]).toEqual([400, 'USAGE'])
})

test('a call that is dropped while it asks is ended on its server, and is known no more', async () => {
  const parked = async () =>
    /mcpx_parked_calls (\d+)/.exec((await exchange(v1.replace('/v1', '/metrics'), { verb: 'GET' })).body)?.[1]
  const before = await parked()
  const path = `/ask/${String(body(await post(`${v1}/ask`, asking('legacy')))['id'])}`
  expect(body(await get(`${path}?wait=30s`))['status']).toBe('input_required')
  expect(await parked()).toBe(String(Number(before) + 1))
  expect((await exchange(`${v1}${path}`, { verb: 'DELETE' })).status).toBe(204)
  while ((await parked()) !== before) await new Promise((resolve) => setImmediate(resolve))
  const gone = await get(path)
  expect([gone.status, body(gone)['code']]).toEqual([404, 'ASK_UNKNOWN'])
})

test('what nobody can answer is refused at once; with a watcher it goes to the inbox', async () => {
  const mute = asking('legacy', { capabilities: {} })
  const refused = await post(`${v1}/call`, mute)
  expect([refused.status, body(refused)['status']]).toEqual([200, undefined])
  await using inbox = await watch('/questions/stream')
  const calling = post(`${v1}/call`, mute)
  const { id, server, params } = await inbox.next('question.asked')
  expect([server, params]).toEqual(['legacy', expect.objectContaining({ message: 'A word?' })])
  expect(body(await get('/questions'))).toMatchObject({ questions: [{ id }] })
  const unfit = await post(`${v1}/questions/${String(id)}`, { action: 'accept', content: { response: 1 } })
  expect([unfit.status, body(unfit)['code']]).toEqual([400, 'ANSWER_INVALID'])
  expect((await post(`${v1}/questions/${String(id)}`, PLUGH)).status).toBe(204)
  expect(await inbox.next('question.ended')).toEqual({ id, how: 'answered' })
  expect(body(await calling)).toMatchObject(saying('plugh'))
  const late = await post(`${v1}/questions/${String(id)}`, PLUGH)
  expect([late.status, body(late)['code']]).toEqual([404, 'QUESTION_UNKNOWN'])
})

test('who watches all events learns that a question comes and goes, and never what it says', async () => {
  await using inbox = await watch('/questions/stream')
  await using events = await watch('/events')
  const calling = post(`${v1}/call`, asking('legacy', { capabilities: {} }))
  const { id } = await inbox.next('question.asked')
  const told = { id, server: 'legacy', principal: 'local', method: 'elicitation/create' }
  expect(await events.next('question')).toEqual({ ...told, state: 'asked' })
  expect((await post(`${v1}/questions/${String(id)}`, { action: 'decline' })).status).toBe(204)
  expect(await events.next('question')).toEqual({ ...told, state: 'ended', how: 'answered' })
  await calling
})

test.each(['/call', '/ask', '/questions/x'])(
  'a body that is not JSON is the fault of who sends it to %s',
  async (path) => {
    for (const sent of ['{bad', '']) {
      const refused = await exchange(`${v1}${path}`, {
        ...{ verb: 'POST', body: sent, headers: { 'content-type': 'application/json' } },
      })
      expect([refused.status, body(refused)['code']]).toEqual([400, 'INPUT_NOT_JSON'])
    }
    const length = await get('/ask/x?wait=long')
    expect([length.status, body(length)['code']]).toEqual([400, 'USAGE'])
  },
)

test('each principal sees its own questions and calls', async () => {
  const key = async (name: string) => bearer((await workspace.run(['keys', 'add', name])).stdout.trim())
  const [ann, bob] = [await key('ann'), await key('bob')]
  await using inbox = await watch('/questions/stream', ann)
  const calling = post(`${v1}/call`, asking('legacy', { capabilities: {} }), ann)
  const { id } = await inbox.next('question.asked')
  for (const other of [bob, {}]) {
    expect(body(await get('/questions', other))).toEqual({ questions: [] })
    expect((await post(`${v1}/questions/${String(id)}`, PLUGH, other)).status).toBe(404)
  }
  const path = `/ask/${String(body(await post(`${v1}/ask`, asking('modern'), ann))['id'])}`
  expect([(await get(path, bob)).status, (await get(path, ann)).status]).toEqual([404, 200])
  expect((await post(`${v1}/questions/${String(id)}`, PLUGH, ann)).status).toBe(204)
  expect(body(await calling)).toMatchObject(saying('plugh'))
})

interface Watcher extends AsyncDisposable {
  /** The data of the next event of that name. */
  next(name: string): Promise<JsonObject>
}

async function watch(path: string, headers = {}): Promise<Watcher> {
  const stop = new AbortController()
  const response = await fetch(`${v1}${path}`, { headers, signal: stop.signal })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const events: { event: string | undefined; data: string }[] = []
  const parser = createParser({ onEvent: ({ event, data }) => void events.push({ event, data }) })
  return {
    next: async (name) => {
      for (;;) {
        const found = events.findIndex(({ event }) => event === name)
        const [taken] = found < 0 ? [] : events.splice(found, 1)
        if (taken !== undefined) return JSON.parse(taken.data) as JsonObject
        const { value, done } = await reader.read()
        if (done) throw new Error('the stream ended')
        parser.feed(new TextDecoder().decode(value))
      }
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await reader.closed.catch(() => undefined)
    },
  }
}
