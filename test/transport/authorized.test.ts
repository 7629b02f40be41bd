// Requests whose credentials somebody else holds: what is sent, how often, and what is heard of a refusal.
import { afterEach, expect, test } from 'vitest'
import { McpxError, SILENT } from '../../src/base/index.ts'
import { createDialer, systemClock } from '../../src/transport/index.ts'
import type { OwningDialer } from '../../src/transport/index.ts'
import type { Authorizer, Refusal, RpcRequest, TransportKind } from '../../src/wire/index.ts'
import { event, json, result, serve, stream } from './http-server.ts'
import type { Handler } from './http-server.ts'
import { createRecorder, isFailed, isMessage } from './recorder.ts'

const opened: OwningDialer[] = []

afterEach(async () => {
  for (const dialer of opened.splice(0)) await dialer.close()
})

function open(url: string, authorizer: Authorizer, transport: TransportKind = 'streamable-http') {
  const dialer = createDialer({ clock: systemClock, log: SILENT, environment: {} })
  opened.push(dialer)
  const recorder = createRecorder()
  const target = { kind: 'http', url, headers: { 'x-own': 'a' }, authorizer } as const
  return dialer.dial(target, transport, recorder).then((channel) => ({ channel, recorder }))
}

const ASK: RpcRequest = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} }

/** Holds a token that is exchanged for the next one when it is refused. */
function holder(verdict: (refusal: Refusal) => 'again' | McpxError | undefined) {
  const refusals: Refusal[] = []
  let token = 0
  const authorizer: Authorizer = {
    header: () => (token % 2 === 0 ? `Bearer ${token}` : Promise.resolve(`Bearer ${token}`)),
    refused: async (refusal) => {
      refusals.push(refusal)
      token++
      return verdict(refusal)
    },
  }
  return { authorizer, refusals }
}

function wants(good: string, then: Handler): Handler {
  return (seen, response, request) => {
    if (seen.headers.authorization === good) return then(seen, response, request)
    response.writeHead(401, { 'www-authenticate': 'Bearer scope="a"', 'content-type': 'text/plain' })
    return response.end('who are you?')
  }
}

test('a request that is refused is sent again with the next token, whole, and nobody hears of the refusal', async () => {
  await using server = await serve(wants('Bearer 1', (_, response) => json(response, result(1))))
  const { authorizer, refusals } = holder(() => 'again')
  const { channel, recorder } = await open(server.url, authorizer)
  channel.send(ASK, { 'mcp-method': 'tools/call' })
  await recorder.until(isMessage)
  expect(recorder.heard).toHaveLength(1)
  expect(
    server.seen.map(({ headers, body }) => [
      headers.authorization,
      headers['x-own'],
      headers['mcp-method'],
      body,
    ]),
  ).toEqual(['Bearer 0', 'Bearer 1'].map((token) => [token, 'a', 'tools/call', JSON.stringify(ASK)]))
  expect(refusals).toEqual([{ status: 401, challenge: 'Bearer scope="a"', sent: 'Bearer 0', attempt: 1 }])
})

test('a request is sent three times at most', async () => {
  await using server = await serve(wants('never', () => {}))
  const { authorizer, refusals } = holder(() => 'again')
  const { channel, recorder } = await open(server.url, authorizer)
  channel.send(ASK)
  const [failed] = await recorder.until(isFailed)
  expect(failed?.failure).toMatchObject({ kind: 'status', status: 401, body: 'who are you?' })
  expect([server.seen.length, refusals.map(({ attempt }) => attempt)]).toEqual([3, [1, 2]])
})

test('what the holder says of a refusal comes with it', async () => {
  await using server = await serve(wants('never', () => {}))
  const error = new McpxError('AUTH_REQUIRED', 'log in')
  const { channel, recorder } = await open(server.url, holder(() => error).authorizer)
  channel.send(ASK)
  const [failed] = await recorder.until(isFailed)
  expect(failed?.failure).toMatchObject({ kind: 'status', status: 401, refusal: error })
})

test('a refusal that is not about credentials is heard as it is', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(403, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } }))
  })
  const { channel, recorder } = await open(server.url, holder(() => undefined).authorizer)
  channel.send(ASK)
  const [failed] = await recorder.until(isFailed)
  expect(failed?.failure).toMatchObject({
    status: 403,
    refusal: undefined,
    response: { error: { code: -1 } },
  })
})

test('a request that is given up while its token is fetched is not sent', async () => {
  await using server = await serve((_, response) => json(response, result(2)))
  let fetched: (header: string) => void = () => {}
  const header = new Promise<string>((resolve) => (fetched = resolve))
  let calls = 0
  const authorizer: Authorizer = {
    header: () => (calls++ === 0 ? header : 'Bearer 2'),
    refused: () => Promise.resolve(undefined),
  }
  const { channel, recorder } = await open(server.url, authorizer)
  channel.send(ASK)
  channel.abandon(1)
  fetched('Bearer 1')
  channel.send({ ...ASK, id: 2 })
  await recorder.until(isMessage)
  expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer 2'])
})

test('the stream of HTTP+SSE and its posts carry the token too', async () => {
  await using server = await serve(
    wants('Bearer 1', ({ method }, response) => {
      if (method === 'GET') return stream(response, 'event: endpoint\ndata: /messages\n\n', event(result(1)))
      return response.writeHead(202).end()
    }),
  )
  const { channel, recorder } = await open(server.url, holder(() => 'again').authorizer, 'http+sse')
  channel.send(ASK)
  await recorder.until(isMessage)
  expect(server.seen.map(({ method, headers }) => `${method} ${headers.authorization}`).slice(0, 2)).toEqual([
    'GET Bearer 0',
    'GET Bearer 1',
  ])
})

test('a stream of HTTP+SSE that is refused ends with what the holder says', async () => {
  await using server = await serve(wants('never', () => {}))
  const error = new McpxError('AUTH_REQUIRED', 'log in')
  await expect(open(server.url, holder(() => error).authorizer, 'http+sse')).rejects.toBe(error)
})
