// Where two bodies differ: by path where they are JSON, by event where they are a stream, else by byte.
import { isObject } from '../../base/index.ts'
import type { Difference } from './difference.ts'
import { dataOf, eventsIn } from './event-reader.ts'
import type { EventBlock } from './event-reader.ts'
import { parseJson, placesIn, pointer } from './json-places.ts'
import { contentOf, headOf } from './response.ts'
import type { Response } from './response.ts'

/** At least one difference for bodies that are not the same bytes, and at most MOST. */
export function differencesInBody(expected: Response, got: Response): Difference[] {
  if (expected.body.equals(got.body)) return []
  const [one, other] = [expected.body.toString('latin1'), got.body.toString('latin1')]
  const kinds = [contentOf(headOf(expected)), contentOf(headOf(got))]
  if (kinds.every((kind) => kind === 'events')) {
    const found = inEvents(expected.body, got.body)
    if (found.length > 0) return found.slice(0, MOST)
  }
  return inTexts('body', one, other)
}

const MOST = 20
/** How much of a text around its first difference is shown, in characters. */
const AROUND = 40

function inEvents(expected: Buffer, got: Buffer): Difference[] {
  const [ones, others] = [eventsIn(expected), eventsIn(got)]
  const bytesOf = (body: Buffer, block: EventBlock): string => body.toString('latin1', block.start, block.end)
  return Array.from({ length: Math.max(ones.length, others.length) }, (_, index) => index).flatMap(
    (index) => {
      const [one, other] = [ones[index], others[index]]
      const at = `event ${index + 1}`
      if (one === undefined)
        return other === undefined ? [] : [{ at, expected: null, got: dataOf(other).text }]
      if (other === undefined) return [{ at, expected: dataOf(one).text, got: null }]
      const [bytes, otherBytes] = [bytesOf(expected, one), bytesOf(got, other)]
      if (bytes === otherBytes) return []
      const inData = inTexts(at, dataOf(one).text, dataOf(other).text)
      const found = inData.length > 0 ? inData : inBytes(at, bytes, otherBytes)
      // Their bytes are counted from the event's beginning, not from the body's.
      return found.map((change) => ({ at: change.at, expected: change.expected, got: change.got }))
    },
  )
}

function inTexts(at: string, one: string, other: string): Difference[] {
  if (one === other) return []
  const [value, otherValue] = [parseJson(one), parseJson(other)]
  if (value === undefined || otherValue === undefined) return inBytes(at, one, other)
  const places = new Map((placesIn(one) ?? []).map(({ path, start }) => [pointer(path), start]))
  const found = inValues([], value, otherValue).map(({ path, expected, got }) => {
    const byte = places.get(pointer(path))
    return { at: `${at} ${pointer(path)}`.trimEnd(), expected, got, ...(byte === undefined ? {} : { byte }) }
  })
  // Equal values that are written differently: spaces, escapes, numbers.
  return found.length > 0 ? found.slice(0, MOST) : inBytes(at, one, other)
}

interface Change {
  readonly path: readonly string[]
  readonly expected: string | null
  readonly got: string | null
}

function inValues(path: readonly string[], one: unknown, other: unknown): Change[] {
  if (Array.isArray(one) && Array.isArray(other)) {
    return Array.from({ length: Math.max(one.length, other.length) }, (_, index) => index).flatMap((index) =>
      inMember(
        [...path, String(index)],
        [one[index], index < one.length],
        [other[index], index < other.length],
      ),
    )
  }
  if (isObject(one) && isObject(other)) {
    const [keys, otherKeys] = [Object.keys(one), Object.keys(other)]
    const found = [...new Set([...keys, ...otherKeys])].flatMap((key) =>
      inMember([...path, key], [one[key], Object.hasOwn(one, key)], [other[key], Object.hasOwn(other, key)]),
    )
    const [order, otherOrder] = [keys.join(', '), otherKeys.join(', ')]
    if (found.length > 0 || order === otherOrder) return found
    return [{ path, expected: `members in the order ${order}`, got: `members in the order ${otherOrder}` }]
  }
  if (Object.is(one, other)) return []
  return [{ path, expected: JSON.stringify(one), got: JSON.stringify(other) }]
}

function inMember(path: readonly string[], one: Member, other: Member): Change[] {
  if (one[1] && other[1]) return inValues(path, one[0], other[0])
  const shown = ([value, there]: Member): string | null => (there ? JSON.stringify(value) : null)
  return [{ path, expected: shown(one), got: shown(other) }]
}

type Member = readonly [value: unknown, there: boolean]

function inBytes(at: string, one: string, other: string): Difference[] {
  let byte = 0
  while (byte < one.length && one[byte] === other[byte]) byte++
  const from = Math.max(0, byte - AROUND / 2)
  const shown = (text: string): string => {
    const part = Buffer.from(text.slice(from, byte + AROUND), 'latin1').toString('utf8')
    return `${from > 0 ? '…' : ''}${part}${byte + AROUND < text.length ? '…' : ''}`
  }
  return [{ at, byte, expected: shown(one), got: shown(other) }]
}
