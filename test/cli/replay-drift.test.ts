// What a replay finds: each kind of change by its place, and nothing where nothing changed.
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { Corpus } from '../../src/cli/corpus/folder.ts'
import { openProxy } from '../../src/cli/corpus/proxy.ts'
import { recordDrafts } from '../../src/cli/corpus/recorder.ts'
import { replayCorpus } from '../../src/cli/corpus/replayer.ts'
import { chunked, http, openRawServer } from './raw-server.ts'

const BODY = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}]}}'
const FIELDS = ['Content-Type: application/json', 'X-Build: 7', 'Vary: Accept']
const SAME = http('200 OK', FIELDS, BODY)
const STREAM = ['Content-Type: text/event-stream']
const EVENTS = [
  'event: message\ndata: {"id":1}\n\n',
  ': still here\n\n',
  'id: 2\ndata: {"id":[2]}\n\n',
] as const

interface Change {
  readonly what: string
  readonly was?: string
  readonly now: string
  readonly at: readonly object[]
}
const changes: readonly Change[] = [
  {
    what: 'the status',
    now: http('201 Created', FIELDS, BODY),
    at: [{ at: 'status line', expected: 'HTTP/1.1 200 OK\r\n', got: 'HTTP/1.1 201 Created\r\n' }],
  },
  {
    what: 'the value of a header',
    now: SAME.replace('X-Build: 7', 'X-Build: 8'),
    at: [{ at: 'header x-build', expected: '7', got: '8' }],
  },
  {
    what: 'a header that is gone',
    now: SAME.replace('X-Build: 7\r\n', ''),
    at: [{ at: 'header x-build', expected: '7', got: null }],
  },
  {
    what: 'a header that is new',
    now: SAME.replace('X-Build: 7', 'X-Build: 7\r\nX-Era: legacy'),
    at: [{ at: 'header x-era', expected: null, got: 'legacy' }],
  },
  {
    what: 'the order of the headers',
    now: http('200 OK', FIELDS.toReversed(), BODY),
    at: [
      {
        at: 'order of headers',
        expected: 'content-type, x-build, vary, content-length',
        got: 'vary, x-build, content-type, content-length',
      },
    ],
  },
  {
    what: 'the case of a header',
    now: SAME.replace('X-Build', 'x-build'),
    at: [{ at: 'header x-build', expected: 'X-Build: 7\r\n', got: 'x-build: 7\r\n' }],
  },
  {
    what: 'one byte of a value',
    now: SAME.replace('"b"', '"c"'),
    at: [{ at: 'body /result/tools/1/name', byte: 64, expected: '"b"', got: '"c"' }],
  },
  {
    what: 'the order of members',
    now: SAME.replace('"jsonrpc":"2.0","id":1', '"id":1,"jsonrpc":"2.0"'),
    at: [
      {
        at: 'body',
        byte: 0,
        expected: 'members in the order jsonrpc, id, result',
        got: 'members in the order id, jsonrpc, result',
      },
    ],
  },
  {
    what: 'a spelling of the same value',
    now: SAME.replace('"a"', '"\\u0061"').replace(String(BODY.length), String(BODY.length + 5)),
    at: [
      { at: 'header content-length' },
      {
        at: 'body',
        byte: 52,
        expected: expect.stringContaining('"a"'),
        got: expect.stringContaining('\\u0061'),
      },
    ],
  },
  {
    what: 'an event',
    was: chunked(STREAM, EVENTS),
    now: chunked(STREAM, EVENTS).replace('[2]', '[3]'),
    at: [{ at: 'event 2 /id/0', expected: '2', got: '3' }],
  },
  {
    what: 'a comment between events',
    was: chunked(STREAM, EVENTS),
    now: chunked(STREAM, EVENTS).replace('still', 'STILL'),
    at: [{ at: 'body', expected: expect.stringContaining('still'), got: expect.stringContaining('STILL') }],
  },
  {
    what: 'the chunks',
    was: chunked(STREAM, EVENTS),
    now: chunked(STREAM, [EVENTS.join('')]),
    at: [{ at: 'chunks', got: expect.stringMatching(/^[0-9a-f]+\\r\\n 0\\r\\n$/) }],
  },
]

test.each(changes)('$what is named', async ({ was = SAME, now, at }) => {
  await using server = await openRawServer(() => was)
  const corpus = await recorded(server.url)
  const again = () =>
    replayCorpus(corpus, { url: new URL(server.url), headers: [], masks: [], timeout: 20_000 })
  expect((await again()).exchanges).toMatchObject([{ differences: [] }])
  server.answer = () => now
  const [replayed] = (await again()).exchanges
  expect(replayed?.differences).toMatchObject(at)
  expect(replayed?.differences).toHaveLength(at.length)
})

/** A corpus of one exchange, in memory. */
async function recorded(address: string): Promise<Corpus> {
  const draft = {
    name: 'ping',
    verb: 'POST',
    path: '{{path}}',
    fields: [['Host', '{{host}}']],
    body: '1',
  } as const
  const exchanges = await recordDrafts([draft], {
    url: new URL(address),
    headers: [],
    events: undefined,
    quiet: 100,
    timeout: 20_000,
    lenient: false,
    plain: new Set(),
  })
  return { url: address, server: undefined, chunks: 'exact', volatile: [], exchanges }
}

test('what is said on a stream because of another request is waited for', async () => {
  let stream: Socket | undefined
  let speaks = true
  await using server = await openRawServer((request) => {
    if (request.head.startsWith('GET')) {
      return (socket) => {
        stream = socket.setNoDelay()
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n')
      }
    }
    if (speaks) stream?.write('data: {"said":"hello"}\n\n')
    return http('202 Accepted', [])
  })
  const ends: unknown[] = []
  const onExchange = (label: string, end: unknown) => void ends.push([label, end])
  const proxy = await openProxy({ url: new URL(server.url), port: 0, quiet: 100, onExchange })
  const leaving = new AbortController()
  const listening = await fetch(proxy.url, { signal: leaving.signal })
  expect(await fetch(proxy.url, { method: 'POST', body: '{"method":"say"}' })).toMatchObject({ status: 202 })
  const reader = listening.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('hello')
  leaving.abort()
  const exchanges = await proxy.stop()
  expect(ends).toEqual([
    ['post-say', { kind: 'complete' }],
    ['get', { kind: 'quiet', ms: 100 }],
  ])
  expect(exchanges.map(({ name, overlaps }) => ({ name, overlaps }))).toEqual([
    { name: '001-get', overlaps: [] },
    { name: '002-post-say', overlaps: [{ name: '001-get', passed: 'head' }] },
  ])
  const corpus: Corpus = { url: server.url, server: undefined, chunks: 'exact', volatile: [], exchanges }
  const again = async () => {
    const options = { url: new URL(server.url), headers: [], masks: [], timeout: 500 }
    const report = await replayCorpus(corpus, options)
    return report.exchanges.map(({ differences }) => differences.map(({ at }) => at))
  }
  expect(await again()).toEqual([[], []])
  speaks = false
  expect(await again()).toEqual([['event 1', 'end'], []])
})
