// Legacy clients are asked by requests: on the stream of the very call over HTTP, on the pipe over a pipe.
import { expect, test } from 'vitest'
import { createAsker, openHost, openPipeHost, textOf } from './asker.ts'
import type { Asker } from './asker.ts'
import {
  answerTo,
  CAPABILITIES,
  isAnswerTo,
  isCalled,
  isRequest,
  talkOverHttp,
  talkOverPipe,
  toolCall,
} from './talk.ts'
import type { Talk } from './talk.ts'

const FORM = { type: 'object', properties: { name: { type: 'string' } } }
const elicit = (message: string) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: FORM },
})
const ROOTS = { method: 'roots/list', params: undefined }
const accept = (name: string) => ({ action: 'accept', content: { name } })
const messageOf = (question: { [key: string]: unknown }) =>
  (question['params'] as { message: string }).message

interface Opened extends AsyncDisposable {
  readonly asker: Asker
  readonly talk: Talk
}

type Open = (revision: string, capabilities?: object) => Promise<Opened>

const overHttp: Open = async (revision, capabilities = CAPABILITIES) => {
  const asker = createAsker()
  const host = await openHost(asker)
  const talk = await talkOverHttp(host.url, revision, { capabilities })
  return { asker, talk, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() }
}

const overPipe: Open = async (revision, capabilities = CAPABILITIES) => {
  const asker = createAsker()
  const host = await openPipeHost(asker)
  const talk = await talkOverPipe(host.port, revision, capabilities)
  const close = async () => {
    await talk[Symbol.asyncDispose]()
    await host[Symbol.asyncDispose]()
  }
  return { asker, talk, [Symbol.asyncDispose]: close }
}

const WAYS = [
  { way: 'http', revision: '2025-06-18', open: overHttp },
  { way: 'http', revision: '2025-11-25', open: overHttp },
  { way: 'pipe', revision: '2025-06-18', open: overPipe },
  { way: 'pipe', revision: '2025-11-25', open: overPipe },
]

test.each(WAYS)('$way $revision: several questions, answered in reverse', async ({ revision, open }) => {
  await using opened = await open(revision)
  const { talk, asker } = opened
  await talk.send(toolCall(1, { questions: [elicit('a'), elicit('b'), elicit('c'), ROOTS] }))
  await talk.send(toolCall('1', { questions: [elicit('d')] }))
  const questions = []
  for (let n = 0; n < 5; n++) questions.push(await talk.next(isRequest))
  const ids = questions.map(({ id }) => id)
  expect(new Set(ids).size).toBe(5)
  for (const id of ids) expect(id).toEqual(expect.stringMatching(/^mcpx-[\w-]{12}-\d+$/))
  expect(questions.map(({ method }) => method)).toContain('roots/list')
  for (const question of questions.toReversed()) {
    const isRoots = question['method'] === 'roots/list'
    await talk.send(
      answerTo(question, isRoots ? { roots: [{ uri: 'file:///r' }] } : accept(messageOf(question))),
    )
  }
  const first = JSON.parse(textOf(await talk.next(isAnswerTo(1)))) as unknown
  const results = ['a', 'b', 'c'].map((name) => ({ result: accept(name) }))
  expect(first).toEqual([...results, { result: { roots: [{ uri: 'file:///r' }] } }])
  const second = JSON.parse(textOf(await talk.next(isAnswerTo('1')))) as unknown
  expect(second).toEqual([{ result: accept('d') }])
  expect(asker.calls.at(-1)?.ask).toBeDefined()
})

test.each(WAYS)('$way $revision: the first answer counts, and only under its own id', async (row) => {
  await using opened = await row.open(row.revision)
  const { talk, asker } = opened
  await talk.send(toolCall(1, { questions: [elicit('a'), elicit('b')] }))
  const [a, b] = [await talk.next(isRequest), await talk.next(isRequest)]
  for (const id of [1, '1', 0, null, `${String(a['id'])} `]) {
    await talk.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'stray' } })
  }
  await talk.send(answerTo(a, accept('first')))
  await talk.send(answerTo(a, accept('second')))
  expect(asker.answers).toEqual([])
  await talk.send({ jsonrpc: '2.0', id: b['id'], error: { code: -7, message: 'no', data: [1] } })
  expect(JSON.parse(textOf(await talk.next(isAnswerTo(1))))).toEqual([
    { result: accept('first') },
    { error: { code: -7, message: 'no', data: [1] } },
  ])
  expect(talk.left).toBe(0)
})

test.each(WAYS)('$way $revision: what is no answer ends the question', async ({ revision, open }) => {
  await using opened = await open(revision)
  const { talk } = opened
  await talk.send(toolCall(1, { questions: [elicit('a')] }))
  const { id } = await talk.next(isRequest)
  await talk.send({ jsonrpc: '2.0', id, result: 'yes' })
  const text = textOf(await talk.next(isAnswerTo(1)))
  expect(text).toContain('no JSON-RPC response')
})

test.each(WAYS)('$way $revision: a question that is given up is taken back', async ({ revision, open }) => {
  await using opened = await open(revision)
  const { talk, asker } = opened
  await talk.send(toolCall(1, { questions: [elicit('a')] }))
  const { id } = await talk.next(isRequest)
  asker.givenUp.cancel('too late')
  const taken = await talk.next(isCalled('notifications/cancelled'))
  expect(taken['params']).toEqual({ requestId: id, reason: 'too late' })
  expect(textOf(await talk.next(isAnswerTo(1)))).toContain('too late')
  await talk.send({ jsonrpc: '2.0', id, result: accept('late') })
  await talk.send(toolCall(2, {}))
  await talk.next(isAnswerTo(2))
  expect(talk.left).toBe(0)
})

test.each(WAYS)('$way $revision: a cancelled call takes its questions along', async ({ revision, open }) => {
  await using opened = await open(revision)
  const { talk, asker } = opened
  await talk.send(toolCall(1, { own: true, questions: [elicit('a')] }))
  const { id } = await talk.next(isRequest)
  const params = { requestId: 1, reason: 'never mind' }
  await talk.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  const taken = await talk.next(isCalled('notifications/cancelled'))
  expect(taken['params']).toEqual({ requestId: id, reason: 'never mind' })
  await asker.answered(1)
  expect(asker.answers[0]).toMatchObject([{ error: { code: -32603 } }])
  expect(asker.remarks).toEqual([])
  await talk.send(toolCall(2, {}))
  await talk.next(isAnswerTo(2))
  expect(talk.left).toBe(0)
})

test.each(WAYS)('$way $revision: a call that ends takes back what it asks', async ({ revision, open }) => {
  await using opened = await open(revision)
  const { talk, asker } = opened
  await talk.send(toolCall(1, { leave: true, questions: [elicit('a')] }))
  const { id } = await talk.next(isRequest)
  expect(textOf(await talk.next(isAnswerTo(1)))).toBe('left')
  expect(await talk.next(isCalled('notifications/cancelled'))).toMatchObject({ params: { requestId: id } })
  await asker.answered(1)
  const late = await asker.calls.at(-1)?.ask?.(ROOTS, asker.givenUp)
  expect(late).toMatchObject({ error: { code: -32603 } })
})

test.each(WAYS)('$way $revision: what the client did not declare is not asked', async (row) => {
  await using opened = await row.open(row.revision, { roots: {} })
  const { talk } = opened
  const unknown = { method: 'tools/list' }
  await talk.send(toolCall(1, { questions: [elicit('a'), unknown] }))
  const answers = JSON.parse(textOf(await talk.next(isAnswerTo(1)))) as { error: { message: string } }[]
  expect(answers).toMatchObject([{ error: { code: -32601 } }, { error: { code: -32601 } }])
  expect(answers[0]?.error.message).toContain('The client cannot be asked elicitation/create')
  expect(talk.left).toBe(0)
})

// A thousand answers are a thousand POSTs over HTTP: the bound is the same, and a pipe is quicker.
test.each(WAYS.slice(2))('$way $revision: a thousand questions may be open, and no more', async (row) => {
  await using opened = await row.open(row.revision)
  const { talk } = opened
  await talk.send(toolCall(1, { questions: Array.from({ length: 1001 }, () => ROOTS) }))
  const questions = []
  for (let n = 0; n < 1000; n++) questions.push(await talk.next(isRequest))
  expect(talk.left).toBe(0)
  await Promise.all(questions.map((question) => talk.send(answerTo(question, { roots: [] }))))
  const answers = JSON.parse(textOf(await talk.next(isAnswerTo(1)))) as object[]
  expect(answers.filter((answer) => 'result' in answer)).toHaveLength(1000)
  expect(answers.at(-1)).toMatchObject({ error: { code: -32603 } })
})

test('a pipe that its client closes answers what was asked over it', async () => {
  await using opened = await overPipe('2025-11-25')
  const { asker } = opened
  const talk = opened.talk as Awaited<ReturnType<typeof talkOverPipe>>
  await talk.send(toolCall(1, { questions: [elicit('a')] }))
  await talk.next(isRequest)
  talk.end()
  // The client has closed its end only: it still reads what its call came to.
  expect(textOf(await talk.next(isAnswerTo(1)))).toContain('the client closed the pipe')
  expect(asker.answers).toHaveLength(1)
})

test.each(['2024-11-05', '2025-03-26'])('pipe %s: a batch is asked and answered in batches', async (rev) => {
  await using opened = await overPipe(rev, { roots: {}, sampling: {} })
  const { talk } = opened
  if (rev === '2024-11-05') {
    await talk.send(toolCall(1, { questions: [elicit('a'), ROOTS] }))
    await talk.send(answerTo(await talk.next(isRequest), { roots: [] }))
    const answers: unknown = JSON.parse(textOf(await talk.next(isAnswerTo(1))))
    expect(answers).toMatchObject([{ error: { code: -32601 } }, { result: { roots: [] } }])
    return
  }
  await talk.send([toolCall(1, { questions: [ROOTS] }), toolCall(2, { questions: [ROOTS] })])
  const questions = [await talk.next(isRequest), await talk.next(isRequest)]
  await talk.send(questions.map((question) => answerTo(question, { roots: [] })))
  const batch = (await talk.next(Array.isArray)) as unknown as object[]
  expect(batch).toMatchObject([{ id: 1 }, { id: 2 }])
})

test('a pipe hears what its client says, and may ask back', async () => {
  await using opened = await overPipe('2025-06-18')
  const { talk, asker } = opened
  await talk.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await talk.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed', params: { _meta: { a: 1 } } })
  await talk.send(toolCall(1, {}))
  await talk.next(isAnswerTo(1))
  expect(asker.remarks).toMatchObject([
    { method: 'notifications/roots/list_changed', params: { _meta: { a: 1 } } },
  ])
  const [remark] = asker.remarks
  const answer = remark?.ask?.(ROOTS, asker.givenUp)
  await talk.send(answerTo(await talk.next(isRequest), { roots: [] }))
  expect(await answer).toEqual({ result: { roots: [] } })
})
