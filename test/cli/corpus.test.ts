// What a corpus rests on: a file gives back every byte, and no byte can change unseen.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compare } from '../../src/cli/corpus/compare.ts'
import { formatExchange, parseExchange } from '../../src/cli/corpus/exchange-file.ts'
import type { Exchange } from '../../src/cli/corpus/exchange-file.ts'
import { createHttpReader } from '../../src/cli/corpus/http-reader.ts'
import { parseJson, placesIn } from '../../src/cli/corpus/json-places.ts'
import { parseSelector } from '../../src/cli/corpus/selector.ts'
import { fill, segmentsOf } from '../../src/cli/corpus/template.ts'
import { chunked, http } from './raw-server.ts'

/** Bytes of all kinds, and text with what the format has to be careful with. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '\r\n',
          '\n',
          '\r',
          '{{host}}',
          '{{',
          '| x',
          '\t',
          ' ',
          'é',
          '\u202e',
          '"a","b":[1,2],',
          'request',
        ),
        fc.string(),
      ),
      { maxLength: 60 },
    )
    .map((parts) => Buffer.from(parts.join(''))),
)

test('a file gives back every byte, also with the line ends of another system', () => {
  fc.assert(
    fc.property(bytes, bytes, (request, response) => {
      const exchange: Exchange = {
        name: '001-a',
        captures: [{ name: 'session-1', selector: 'header:mcp-session-id' }],
        overlaps: [
          { name: '000-b', passed: 2 },
          { name: '000-c', passed: 'head' },
          { name: '000-d', passed: 'request' },
        ],
        request: segmentsOf(request),
        response,
        end: { kind: 'quiet', ms: 1500 },
      }
      const text = formatExchange(exchange)
      for (const file of [text, text.replaceAll('\n', '\r\n')]) {
        const again = parseExchange('001-a', file)
        expect(again).toEqual(exchange)
        expect(fill(again.request, () => 'filled')).toEqual({ bytes: request })
      }
    }),
    { numRuns: 500 },
  )
})

test('every end is read as it was written', () => {
  const ends = [
    { kind: 'complete' },
    { kind: 'closed' },
    { kind: 'events', count: 3 },
    { kind: 'quiet', ms: 250 },
    { kind: 'timeout', ms: 30_000 },
  ] as const
  for (const end of ends) {
    const exchange: Exchange = {
      name: 'a',
      captures: [],
      overlaps: [],
      request: [],
      response: Buffer.alloc(0),
      end,
    }
    expect(parseExchange('a', formatExchange(exchange)).end).toEqual(end)
  }
})

const JSON_FIELDS = ['Content-Type: application/json', 'X-A: 1', 'X-B: 2']
const responses = {
  json: http('200 OK', JSON_FIELDS, '{"a": [1, "é\\n", null], "b": {"c": true}}'),
  text: http('404 Not Found', ['Content-Type: text/plain'], 'There is nothing.\r\n'),
  events: chunked(
    ['Content-Type: text/event-stream'],
    ['id: 1\ndata: {"a":1}\n\n', ': x\n\ndata: [2]\r\n\r\n'],
  ),
  interim: `HTTP/1.1 100 Continue\r\n\r\n${http('202 Accepted', [])}`,
  cut: chunked(['Content-Type: text/event-stream'], ['data: {"a":1}\n\n']).slice(0, -12),
  closed: 'HTTP/1.1 200 OK\r\n\r\nuntil the end',
  bare: 'HTTP/1.1 200 OK\nContent-Length: 1\n\nx',
  other: 'SSH-2.0-OpenSSH_9.6\r\n',
}

const how = {
  verb: 'POST',
  masks: [],
  chunks: 'exact',
  addresses: { expected: 'a:1', got: 'b:1' },
  hidden: () => undefined,
} as const
const end = { kind: 'complete' } as const

test.each(Object.entries(responses))('no byte can change, come or go unseen: %s', (_, text) => {
  const expected = Buffer.from(text)
  expect(compare({ bytes: expected, end }, { bytes: Buffer.from(expected), end }, how)).toEqual([])
  const changed = [...expected.keys()].flatMap((at) => {
    const [before, after] = [expected.subarray(0, at), expected.subarray(at + 1)]
    const other = [0x20, 0x58, 0x0a, 0xff, (expected[at] ?? 0) ^ 1].filter((byte) => byte !== expected[at])
    return [
      Buffer.concat([before, after]),
      Buffer.concat([before, Buffer.from('x'), expected.subarray(at)]),
      ...other.map((byte) => Buffer.concat([before, Buffer.from([byte]), after])),
    ]
  })
  // A byte that is taken out or doubled within a run of equal ones gives equal bytes.
  for (const got of changed.filter((candidate) => !candidate.equals(expected))) {
    expect(
      compare({ bytes: expected, end }, { bytes: got, end }, how),
      JSON.stringify(got.toString('latin1')),
    ).not.toEqual([])
  }
})

test('a mask hides its own value, of any length, wherever chunks divide it', () => {
  const masks = [parseSelector('json:/id'), parseSelector('address')]
  const event = (id: string, host: string) => `data: {"id":"${id}","at":"http://${host}/x","n":1}\n\n`
  const fields = ['Content-Type: text/event-stream']
  const one = Buffer.from(chunked(fields, ['data: {"id":"ab', event('abc', 'a:1').slice(15)]))
  const hidden: string[] = []
  const masked = (text: string) =>
    compare(
      { bytes: one, end },
      { bytes: Buffer.from(text), end },
      {
        ...how,
        masks,
        addresses: { expected: 'a:1', got: 'host:80' },
        hidden: ({ text: name }) => hidden.push(name),
      },
    )
  const other = event('longer than it was', 'host:80')
  expect(masked(chunked(fields, [other.slice(0, 20), other.slice(20)]))).toEqual([])
  expect(hidden).toEqual(['json:/id', 'address'])
  expect(
    masked(
      chunked(fields, [
        other.replace('"n":1', '"n":2').slice(0, 20),
        other.replace('"n":1', '"n":2').slice(20),
      ]),
    ),
  ).toMatchObject([{ at: 'event 1 /n', expected: '1', got: '2' }])
  expect(masked(chunked(fields, [other]))).toMatchObject([{ at: 'chunks' }])
})

test('a message ends where its framing says, however its bytes come', () => {
  const next = 'HTTP/1.1 200 OK\r\n\r\n'
  fc.assert(
    fc.property(
      fc.constantFrom(responses.json, responses.text, responses.events, responses.interim),
      fc.array(fc.nat(300), { maxLength: 8 }),
      (text, cuts) => {
        const all = Buffer.from(text + next)
        const reader = createHttpReader({ answering: 'POST' }, {})
        let taken = 0
        const places = [...new Set([0, ...cuts.filter((cut) => cut < all.length), all.length])].sort(
          (a, b) => a - b,
        )
        for (const [index, from] of places.entries())
          taken += reader.take(all.subarray(from, places[index + 1] ?? all.length))
        expect({ taken, state: reader.state }).toEqual({ taken: Buffer.byteLength(text), state: 'done' })
      },
    ),
  )
})

test('a place of JSON holds its value', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 2), (json, indent) => {
      const text = Buffer.from(JSON.stringify(JSON.parse(json), null, indent)).toString('latin1')
      for (const { path, start, end: behind } of placesIn(text) ?? []) {
        const wanted = path.reduce<unknown>(
          (value, step) => (value as Record<string, unknown>)[step],
          JSON.parse(json),
        )
        expect(parseJson(text.slice(start, behind))).toEqual(wanted)
      }
    }),
  )
})
