// Asking over HTTP: what a session can carry, what outlives a connection, and what the official client makes of it.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, test } from 'vitest'
import { Cancellation } from '../../src/base/index.ts'
import { createSealer } from '../../src/endpoint/index.ts'
import { createAsker, openHost, openPipeHost, textOf } from './asker.ts'
import { answerTo, isAnswerTo, isCalled, isRequest, talkOverHttp, toolCall } from './talk.ts'

const ROOTS = { method: 'roots/list', params: undefined }
const ASKING = { questions: [ROOTS] }
const JSON_ONLY = { accept: 'application/json' }

test.each(['2025-06-18', '2025-11-25'])('%s: a question outlives its connection', async (revision) => {
  const asker = createAsker()
  await using host = await openHost(asker)
  const talk = await talkOverHttp(host.url, revision)
  const leaving = new AbortController()
  const call = toolCall(1, { progress: true, ...ASKING })
  await talk.exchange({ body: { ...call }, signal: leaving.signal })
  const seen = await talk.next(isRequest)
  leaving.abort()
  const before = `${String(seen['_eventId']).split('-')[0]}-0`
  const resumed = await talk.exchange({ method: 'GET', headers: { 'last-event-id': before } })
  expect(resumed.status).toBe(200)
  const again = await talk.next(isRequest)
  expect(again).toEqual(seen)
  const posted = await talk.exchange({ body: answerTo(again, { roots: [] }) })
  expect(posted.status).toBe(202)
  expect(textOf(await talk.next(isAnswerTo(1)))).toBe('[{"result":{"roots":[]}}]')
})

test('a session that ends, or an endpoint that stops, leaves no question open', async () => {
  const asker = createAsker()
  await using host = await openHost(asker)
  const [ends, stays] = [
    await talkOverHttp(host.url, '2025-11-25'),
    await talkOverHttp(host.url, '2025-11-25'),
  ]
  for (const talk of [ends, stays]) {
    await talk.send(toolCall(1, ASKING))
    await talk.next(isRequest)
  }
  expect((await ends.exchange({ method: 'DELETE' })).status).toBe(200)
  await asker.answered(1)
  expect(asker.answers).toMatchObject([[{ error: { code: -32603 } }]])
  host.endpoint.stop('mcpx stops')
  await asker.answered(2)
  expect(asker.answers[1]).toMatchObject([{ error: { message: expect.stringContaining('mcpx stops') } }])
})

test('whoever takes no stream, or has no session, or is modern, cannot be asked', async () => {
  const asker = createAsker()
  await using host = await openHost(asker)
  const talk = await talkOverHttp(host.url, '2025-06-18')
  await talk.exchange({ body: toolCall(1, { progress: true, ...ASKING }), headers: JSON_ONLY })
  expect(textOf(await talk.next(isAnswerTo(1)))).toBe('nobody to ask')
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = async (body: object, more: Record<string, string> = {}) => {
    const response = await fetch(host.url, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    })
    return textOf((await response.json()) as { [key: string]: unknown })
  }
  expect(await post(toolCall(2, ASKING))).toBe('nobody to ask')
  const modern = toolCall(3, ASKING) as { params: object }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { roots: {} },
  }
  const body = { ...modern, params: { ...modern.params, _meta } }
  const named = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'ask',
  }
  expect(await post(body, named)).toBe('nobody to ask')
  expect(asker.calls.filter(({ method }) => method === 'tools/call').map(({ ask }) => ask)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('a batch of 2025-03-26 is asked on its stream and answers in a batch', async () => {
  await using host = await openHost(createAsker())
  const talk = await talkOverHttp(host.url, '2025-03-26')
  await talk.send([toolCall(1, ASKING), toolCall(2, ASKING), { jsonrpc: '2.0', id: 3, method: 'ping' }])
  const questions = [await talk.next(isRequest), await talk.next(isRequest)]
  const answers = questions.map((question) => answerTo(question, { roots: [] }))
  const posted = await talk.exchange({ body: answers })
  expect(posted.status).toBe(202)
  for (const id of [1, 2]) {
    expect(textOf(await talk.next(isAnswerTo(id)))).toBe('[{"result":{"roots":[]}}]')
  }
  await talk.next(isAnswerTo(3))
})

test('outside of calls a session is asked on its own stream, while that is open', async () => {
  const asker = createAsker()
  await using host = await openHost(asker)
  const talk = await talkOverHttp(host.url, '2025-11-25')
  const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }
  expect((await talk.exchange({ body: changed })).status).toBe(202)
  expect(asker.remarks[0]).toMatchObject({ method: changed.method, caller: { session: talk.session } })
  expect(asker.remarks[0]?.ask).toBeUndefined()
  await talk.exchange({ method: 'GET' })
  await talk.exchange({ body: changed })
  const ask = asker.remarks[1]?.ask
  const answer = ask?.(ROOTS, asker.givenUp)
  await talk.send(answerTo(await talk.next(isRequest), { roots: [] }))
  expect(await answer).toEqual({ result: { roots: [] } })
  const other = ask?.(ROOTS, new Cancellation())
  await talk.next(isRequest)
  const given = ask?.(ROOTS, asker.givenUp)
  const { id } = await talk.next(isRequest)
  asker.givenUp.cancel('enough')
  expect(await given).toMatchObject({ error: { code: -32603 } })
  expect(await talk.next(isCalled('notifications/cancelled'))).toMatchObject({ params: { requestId: id } })
  await talk.exchange({ method: 'DELETE' })
  expect(await other).toMatchObject({ error: { message: expect.stringContaining('ended the session') } })
})

test('a client that left its own stream cannot be asked on it', async () => {
  const asker = createAsker()
  await using host = await openHost(asker)
  const talk = await talkOverHttp(host.url, '2025-06-18')
  const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }
  const leaving = new AbortController()
  await talk.exchange({ method: 'GET', signal: leaving.signal })
  await talk.exchange({ body: changed })
  const early = asker.remarks[0]?.ask
  expect(early).toBeDefined()
  leaving.abort()
  // The endpoint learns of it when the socket closes, some messages later.
  do await talk.exchange({ body: changed })
  while (asker.remarks.at(-1)?.ask !== undefined)
  expect(await early?.(ROOTS, asker.givenUp)).toMatchObject({ error: { code: -32603 } })
})

test('the questions of a session have ids of their own after a restart', async () => {
  const sealer = createSealer()
  const asker = createAsker()
  await using before = await openHost(asker, { sealer })
  const talk = await talkOverHttp(before.url, '2025-11-25')
  await talk.send(toolCall(1, ASKING))
  const first = await talk.next(isRequest)
  await using after = await openHost(asker, { sealer })
  const revived = await talkOverHttp(after.url, '2025-11-25')
  const headers = { 'mcp-session-id': talk.session }
  void revived.exchange({ body: toolCall(1, ASKING), headers })
  const second = await revived.next(isRequest)
  expect(second['id']).not.toBe(first['id'])
  for (const question of [first, second]) {
    await revived.exchange({
      body: answerTo(question, { roots: [{ uri: `${String(question['id'])}:` }] }),
      headers,
    })
  }
  const text = textOf(await revived.next(isAnswerTo(1)))
  expect(JSON.parse(text)).toEqual([{ result: { roots: [{ uri: `${String(second['id'])}:` }] } }])
})

const OFFICIAL = ['streamable http', 'http+sse', 'pipe'] as const

test.each(OFFICIAL)('the official client answers an elicitation over %s', async (way) => {
  const asker = createAsker()
  await using host = await openHost(asker)
  await using pipe = await openPipeHost(asker)
  const client = new Client({ name: 'official', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept',
    content: { name: `answer to ${params.message}` },
  }))
  const args = ['test/fixtures/transport/to-port.mjs', String(pipe.port)]
  const transport =
    way === 'pipe'
      ? new StdioClientTransport({ command: process.execPath, args })
      : way === 'http+sse'
        ? new SSEClientTransport(new URL('/sse', host.url))
        : new StreamableHTTPClientTransport(new URL(host.url))
  await client.connect(transport)
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const questions = ['a', 'b'].map((message) => ({
    method: 'elicitation/create',
    params: { message, requestedSchema },
  }))
  const result = await client.callTool({ name: 'ask', arguments: { questions } })
  expect(JSON.parse(textOf({ result }))).toEqual(
    ['a', 'b'].map((name) => ({ result: { action: 'accept', content: { name: `answer to ${name}` } } })),
  )
  await client.close()
})
