import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import { createSseReader } from '../../src/transport/sse-reader.ts'
import type { SseEvent } from '../../src/transport/sse-reader.ts'
import { formatComment, formatSse } from '../../src/wire/index.ts'

const encoder = new TextEncoder()

interface Read {
  events: SseEvent[]
  retries: number[]
  oversize: number
}

function read(bytes: Uint8Array, cuts: readonly number[] = [], maxEvent?: number): Read {
  const result: Read = { events: [], retries: [], oversize: 0 }
  const reader = createSseReader({
    onEvent: (event) => result.events.push(event),
    onRetry: (ms) => result.retries.push(ms),
    onOversize: () => result.oversize++,
    ...(maxEvent === undefined ? {} : { maxEvent }),
  })
  const edges = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  for (const [index, edge] of edges.entries()) reader.feed(bytes.subarray(edges[index - 1] ?? 0, edge))
  return result
}

const cuts = fc.array(fc.nat(), { maxLength: 60 })
const line = fc
  .string({ unit: 'grapheme', minLength: 1 })
  .map((text) => text.replace(/[\r\n\0]/g, '_').trim() || 'x')
const event = fc.record({
  data: fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.array(line, { minLength: 1 }).map((lines) => lines.join('\n')),
  ),
  event: fc.option(line, { nil: undefined }),
  id: fc.option(line, { nil: undefined }),
})

function format({ data, event: type, id }: SseEvent): string {
  return formatSse({
    data,
    ...(type === undefined ? {} : { event: type }),
    ...(id === undefined ? {} : { id }),
  })
}

test('what is formatted is read back, under any split of the bytes and any line end', () => {
  fc.assert(
    fc.property(fc.array(event), cuts, fc.constantFrom('\n', '\r\n', '\r'), (events, where, end) => {
      const stream = events.map((one) => formatComment() + format(one)).join('') + formatComment('tail')
      const { events: got, oversize } = read(encoder.encode(stream.replaceAll('\n', end)), where)
      expect(got).toEqual(events)
      expect(oversize).toBe(0)
    }),
  )
})

test('a BOM and U+2028 are no line ends; an emoji may be split anywhere', () => {
  const bytes = encoder.encode(`\uFEFF${formatSse({ data: 'a\u2028b🌦', id: '1', retry: 250 })}`)
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { events, retries } = read(bytes, [cut])
    expect(events).toEqual([{ event: undefined, id: '1', data: 'a\u2028b🌦' }])
    expect(retries).toEqual([250])
  }
})

test('an event over the limit is dropped and told once, and the next one is read', () => {
  fc.assert(
    fc.property(cuts, fc.constantFrom('\n', '\r\n', '\r'), fc.boolean(), (where, end, many) => {
      const large = many ? Array.from({ length: 300 }, () => 'b'.repeat(9)).join('\n') : 'b'.repeat(3000)
      const stream =
        formatSse({ data: 'a' }) + formatSse({ data: large }) + formatSse({ data: 'c' }) + formatComment()
      const { events, oversize } = read(encoder.encode(stream.replaceAll('\n', end)), where, 1000)
      expect(events.map(({ data }) => data)).toEqual(['a', 'c'])
      expect(oversize).toBe(1)
    }),
    { numRuns: 500 },
  )
})

test.each(['\n', '\r\n', '\r'])(
  'an event that is found too large just before its blank line ends there (%j)',
  (end) => {
    const large = `data: ${'b'.repeat(2000)}${end}`
    const bytes = encoder.encode(`${large}${end}data: c${end}${end}:${end}`)
    const { events, oversize } = read(bytes, [large.length], 1000)
    expect(events.map(({ data }) => data)).toEqual(['c'])
    expect(oversize).toBe(1)
  },
)

test('no field can break out of its line', () => {
  const text =
    formatSse({ data: 'x', event: 'a\ndata: forged', id: '1\r\n\r\ndata: forged' }) +
    formatComment('a\n\ndata: forged')
  const { events } = read(encoder.encode(text))
  expect(events.map(({ data }) => data)).toEqual(['x'])
})
