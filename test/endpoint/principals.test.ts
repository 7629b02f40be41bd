// Whose a request is: by its key, before anything of it is read.
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { LOCAL_USER } from '../../src/endpoint/index.ts'
import type { Principals } from '../../src/endpoint/index.ts'
import { createAsker, openHost, openPipeHost } from './asker.ts'
import { answerTo, initialize, isAnswerTo, isRequest, talkOverHttp, talkOverPipe, toolCall } from './talk.ts'

const KEYS: Readonly<Record<string, string>> = { 'Bearer key-a': 'ada', 'Bearer key-b': 'bob' }
const UNKNOWN = { fault: 'unknown', message: 'not known' } as const
const principals: Principals = {
  of: (authorization) => (authorization === undefined ? LOCAL_USER : (KEYS[authorization] ?? UNKNOWN)),
}
const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}
const modernList = {
  jsonrpc: '2.0',
  id: 5,
  method: 'tools/list',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}
const MODERN_HEADERS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }

const WHO = [
  { key: 'key-a', principal: 'ada' },
  { key: 'key-b', principal: 'bob' },
  { key: undefined, principal: LOCAL_USER },
]

test.each(WHO)('$key stands for $principal, in both eras', async ({ key, principal }) => {
  const asker = createAsker()
  await using host = await openHost(asker, { principals })
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const modern = await fetch(host.url, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...MODERN_HEADERS, ...authorization },
    body: JSON.stringify(modernList),
  })
  expect(modern.status).toBe(200)
  const stateless = await fetch(host.url, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...authorization },
    body: JSON.stringify(toolCall(1, {})),
  })
  expect(stateless.status).toBe(200)
  const talk = await talkOverHttp(host.url, '2025-11-25', key === undefined ? {} : { key })
  await talk.send(toolCall(1, {}))
  await talk.next(isAnswerTo(1))
  await talk.exchange({ body: { jsonrpc: '2.0', method: 'notifications/roots/list_changed' } })
  expect(asker.calls.map(({ caller }) => caller.principal)).toEqual(Array(4).fill(principal))
  expect(asker.remarks.map(({ caller }) => caller.principal)).toEqual([principal])
  expect(host.outcomes.length).toBeGreaterThanOrEqual(5)
  expect(new Set(host.outcomes.map((outcome) => outcome.principal))).toEqual(new Set([principal]))
})

test.each(['Bearer nobody', 'Basic a2V5LWE=', 'Bearer ', 'key-a'])(
  'the credential "%s" is refused for every verb',
  async (authorization) => {
    const asker = createAsker()
    await using host = await openHost(asker, { principals })
    const body = JSON.stringify(initialize('2025-11-25'))
    for (const [method, path] of [
      ['POST', '/'],
      ['GET', '/'],
      ['DELETE', '/'],
      ['GET', '/sse'],
      ['POST', '/messages?sessionId=x'],
    ] as const) {
      const response = await fetch(new URL(path, host.url), {
        method,
        headers: { ...JSON_HEADERS, authorization },
        ...(method === 'POST' ? { body } : {}),
      })
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
      const answer = (await response.json()) as { error: { code: number; message: string } }
      expect(answer).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
      expect(answer.error.message).toContain('not known')
    }
    expect(asker.calls).toEqual([])
    expect(host.outcomes).toHaveLength(5)
    for (const outcome of host.outcomes) {
      expect(outcome).toMatchObject({ status: 401, code: -32600, refused: true, principal: '(unknown)' })
    }
    const preflight = await fetch(host.url, {
      method: 'OPTIONS',
      headers: { authorization, origin: 'http://localhost:1' },
    })
    expect(preflight.status).toBe(204)
  },
)

test('a bad credential is refused before the body has come', async () => {
  await using host = await openHost(createAsker(), { principals })
  const headers = { ...JSON_HEADERS, authorization: 'Bearer nobody', 'content-length': '1000' }
  const sent = request(host.url, { method: 'POST', headers })
  const status = new Promise((resolve, reject) => {
    sent.once('response', (response) => resolve(response.statusCode))
    sent.once('error', reject)
  })
  sent.flushHeaders()
  expect(await status).toBe(401)
  sent.destroy()
})

test('without principals no credential is looked at', async () => {
  const asker = createAsker()
  await using host = await openHost(asker)
  const talk = await talkOverHttp(host.url, '2025-11-25', { key: 'whatever' })
  await talk.send(toolCall(1, {}))
  await talk.next(isAnswerTo(1))
  expect(asker.calls.at(-1)?.caller.principal).toBe(LOCAL_USER)
})

test.each(['key-b', undefined])("a session is not found with another's key (%s)", async (key) => {
  const asker = createAsker()
  await using host = await openHost(asker, { principals })
  const ada = await talkOverHttp(host.url, '2025-11-25', { key: 'key-a' })
  const thief = await talkOverHttp(host.url, '2025-11-25', key === undefined ? {} : { key })
  const headers = { 'mcp-session-id': ada.session }
  await ada.send(toolCall(1, { questions: [{ method: 'roots/list' }] }))
  const question = await ada.next(isRequest)
  for (const sent of [
    { body: toolCall(2, {}) },
    { method: 'GET' },
    { method: 'GET', headers: { 'last-event-id': String(question['_eventId']) } },
    { method: 'DELETE' },
  ] as const) {
    const more = 'headers' in sent ? sent.headers : {}
    expect((await thief.exchange({ ...sent, headers: { ...headers, ...more } })).status).toBe(404)
  }
  await thief.exchange({ body: answerTo(question, { roots: [{ uri: 'file:///stolen' }] }), headers })
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  await thief.exchange({ body: cancelled, headers })
  expect(asker.answers).toEqual([])
  await ada.send(answerTo(question, { roots: [] }))
  await ada.next(isAnswerTo(1))
  expect(asker.answers).toEqual([[{ result: { roots: [] } }]])
})

test("HTTP+SSE takes a stream's messages with the key of the stream only", async () => {
  const asker = createAsker()
  await using host = await openHost(asker, { principals })
  const leaving = new AbortController()
  const stream = await fetch(new URL('/sse', host.url), {
    headers: { authorization: 'Bearer key-a' },
    signal: leaving.signal,
  })
  const reader = stream.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
  const first = new TextDecoder().decode((await reader.read()).value)
  const path = /data: (.*)/.exec(first)?.[1] ?? ''
  const post = async (key: string | undefined): Promise<number> => {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const response = await fetch(new URL(path, host.url), {
      method: 'POST',
      headers: { ...JSON_HEADERS, ...authorization },
      body: JSON.stringify(toolCall(1, {})),
    })
    return response.status
  }
  expect(await post('key-b')).toBe(404)
  expect(await post(undefined)).toBe(404)
  expect(await post('key-c')).toBe(401)
  expect(asker.calls).toEqual([])
  expect(await post('key-a')).toBe(202)
  await reader.read()
  expect(asker.calls.map(({ caller }) => caller.principal)).toEqual(['ada'])
  expect(host.outcomes.map(({ status, principal }) => [status, principal])).toEqual([
    [404, 'bob'],
    [404, 'local'],
    [401, '(unknown)'],
    [null, 'ada'],
  ])
  leaving.abort()
})

test.each([{ principal: 'ada' }, {}])('a pipe is whose its owner says: %j', async (more) => {
  const asker = createAsker()
  await using host = await openPipeHost(asker, more)
  await using talk = await talkOverPipe(host.port, '2025-11-25')
  await talk.send(toolCall(1, {}))
  await talk.next(isAnswerTo(1))
  await talk.send(modernList)
  await talk.next(isAnswerTo(5))
  const expected = more.principal ?? LOCAL_USER
  expect(asker.calls.map(({ caller }) => caller.principal)).toEqual(Array(3).fill(expected))
})
