import { expect, test, vi } from 'vitest'
import * as fc from 'fast-check'
import { createLineFramer } from '../../src/wire/ndjson.ts'
import type { OversizeLine } from '../../src/wire/ndjson.ts'
import { answeredBy } from '../../src/wire/oversize.ts'

const encoder = new TextEncoder()

interface Read {
  lines: string[]
  oversize: OversizeLine[]
}

/** Frames the bytes in the given pieces; without `cuts`, as one. */
function read(bytes: Uint8Array, cuts: readonly number[] = [], maxLine?: number): Read {
  const result: Read = { lines: [], oversize: [] }
  const framer = createLineFramer(
    { onLine: (text) => result.lines.push(text), onOversize: (line) => result.oversize.push(line) },
    maxLine,
  )
  const edges = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  for (const [index, edge] of edges.entries()) {
    // The framer keeps nothing of what it was fed: a buffer that is reused must not matter.
    const piece = bytes.slice(edges[index - 1] ?? 0, edge)
    framer.feed(piece)
    piece.fill(0x58)
  }
  framer.end()
  return result
}

const text = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\n', ''))
const cuts = fc.array(fc.nat(), { maxLength: 60 })

test('any text survives any split of its bytes, as one JSON line each', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), cuts, (values, where) => {
      const bytes = encoder.encode(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
      expect(read(bytes, where).lines.map((line) => JSON.parse(line) as unknown)).toEqual(
        values.map((value) => JSON.parse(JSON.stringify(value)) as unknown),
      )
    }),
  )
})

test('raw lines survive any split, whichever end they have', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.constantFrom('\n', '\r\n'))), cuts, (lines, where) => {
      const stream = lines.map(([line, end]) => line + end).join('')
      // The BOM is the stream's only at its start, and a CR before the end belongs to the end.
      const expected = lines.map(([line, end]) => (end === '\n' ? line.replace(/\r$/, '') : line))
      if (expected[0]?.startsWith('\uFEFF')) expected[0] = expected[0].slice(1)
      expect(read(encoder.encode(stream), where).lines).toEqual(expected.filter((line) => line !== ''))
    }),
  )
})

test('C38: separators of Unicode, an escaped newline, CRLF, a BOM and a split emoji', () => {
  const value = { text: 'a\u2028b\u2029c\u0085d\ne 🌦 f' }
  const line = JSON.stringify(value)
  const bytes = encoder.encode(`\uFEFF${line}\r\n\r\n${line}\n`)
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { lines } = read(bytes, [cut, cut + 1])
    expect(lines).toEqual([line, line])
  }
})

test('the last line needs no newline, and an empty stream has no line', () => {
  expect(read(encoder.encode('a\nb')).lines).toEqual(['a', 'b'])
  expect(read(new Uint8Array(0)).lines).toEqual([])
})

test('a line over the limit is dropped and told once, and its neighbours are read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9000 }), cuts, (beyond, where) => {
      const limit = 5000
      const bytes = encoder.encode(`${'a'.repeat(limit)}\n${'b'.repeat(limit + beyond)}\nc\n`)
      const { lines, oversize } = read(bytes, where, limit)
      expect(lines).toEqual(['a'.repeat(limit), 'c'])
      expect(oversize.map((line) => line.bytes)).toEqual([limit + beyond])
      expect(oversize[0]?.head).toBe('b'.repeat(4096))
      expect(oversize[0]?.tail).toBe('b'.repeat(512))
    }),
  )
})

test('a line over the limit that the stream ends in is told', () => {
  expect(read(encoder.encode('a'.repeat(20)), [3, 9], 10).oversize.map((line) => line.bytes)).toEqual([20])
})

test('the bytes copied stay in proportion to the bytes fed, however small the pieces', () => {
  // A buffer that is joined anew for each piece would copy the square of the pieces' number.
  const set = vi.spyOn(Uint8Array.prototype, 'set')
  const framer = createLineFramer({ onLine() {}, onOversize() {} })
  const piece = new Uint8Array(1024).fill(0x61)
  for (let index = 0; index < 4096; index++) framer.feed(piece)
  framer.end()
  const copied = set.mock.calls.reduce((sum, [source]) => sum + source.length, 0)
  set.mockRestore()
  expect(copied).toBeGreaterThanOrEqual(4096 * 1024)
  expect(copied).toBeLessThan(4 * 4096 * 1024)
})

test.each([
  ['{"jsonrpc":"2.0","id":7,"result":{"a":"XXX', '', 7],
  ['{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":"XXX', '', '7'],
  ['{ "_meta" : {"a":[1,{"id":3}]}, "id" : "q\\"1", "result" : [', '', 'q"1'],
  ['{"result":{"id":5,"XXX', 'XXX"},"jsonrpc":"2.0","id":12}', 12],
  ['{"result":{"id":5,"XXX', 'XXX"},"id":"x","jsonrpc":"2.0"}', 'x'],
  ['{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"XXX', 'XXX"}}', undefined],
  ['{"jsonrpc":"2.0","id":7,"params":{"XXX', 'XXX"},"method":"roots/list"}', undefined],
  ['{"jsonrpc":"2.0","method":"notifications/message","params":{"XXX', 'XXX","id":4}', undefined],
  ['{"result":{"text":"XXX', 'XXX ,\\"id\\":4}"},"jsonrpc":"2.0"}', undefined],
  ['XXXXX', 'XXX,"id":4}', undefined],
])('whose answer %s…%s is', (head, tail, id) => {
  expect(answeredBy({ bytes: 1e9, head, tail })).toBe(id)
})
