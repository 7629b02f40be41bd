import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, formatSize, parseDuration, parseSize } from '../../src/config/index.ts'

test.each([
  ['500ms', 500],
  ['2s', 2_000],
  ['1.5m', 90_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  ['0', 0],
  ['250', 250],
  [' 2s ', 2_000],
  ['0.4ms', 0],
  ['0.0015s', 2],
  [2_000, 2_000],
  [1.5, 2],
])('duration %j is %i ms', (given, ms) => {
  expect(parseDuration(given)).toBe(ms)
})

test.each([
  '',
  's',
  '2 s',
  '2S',
  '5M',
  '-1s',
  '+1s',
  '1e3',
  '.5s',
  '5.s',
  '1h30m',
  'soon',
  '１s',
  '9'.repeat(400),
  -1,
])('duration %j is refused', (given) => {
  expect(parseDuration(given)).toBeUndefined()
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, null, undefined, true, [], {}, ['2s']])(
  '%j is no quantity',
  (given) => {
    expect(parseDuration(given)).toBeUndefined()
    expect(parseSize(given)).toBeUndefined()
  },
)

test.each([
  ['4MiB', 4_194_304],
  ['64mib', 67_108_864],
  ['1KiB', 1_024],
  ['1kB', 1_000],
  ['1.5GiB', 1_610_612_736],
  ['2GB', 2_000_000_000],
  ['512B', 512],
  ['512', 512],
  [4_096, 4_096],
])('size %j is %i bytes', (given, bytes) => {
  expect(parseSize(given)).toBe(bytes)
})

test.each(['', 'MiB', '4 MiB', '4M', '4TiB', '-1B', '4 miles'])('size %j is refused', (given) => {
  expect(parseSize(given)).toBeUndefined()
})

test.each([
  [0, '0ms'],
  [1_500, '1500ms'],
  [90_000, '90s'],
  [86_400_000, '24h'],
  [172_800_000, '2d'],
])('%i ms is written %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

const whole = fc.maxSafeNat()

test('what is written is read back as the same', () => {
  fc.assert(
    fc.property(whole, (quantity) => {
      expect(parseDuration(formatDuration(quantity))).toBe(quantity)
      expect(parseSize(formatSize(quantity))).toBe(quantity)
    }),
  )
})

test('a bare number means the same as a number and as text', () => {
  fc.assert(
    fc.property(whole, (quantity) => {
      expect(parseDuration(quantity)).toBe(quantity)
      expect(parseDuration(String(quantity))).toBe(quantity)
      expect(parseSize(String(quantity))).toBe(quantity)
    }),
  )
})

test('a unit multiplies', () => {
  const units = fc.constantFrom(
    ...([
      ['ms', 1],
      ['s', 1_000],
      ['m', 60_000],
      ['h', 3_600_000],
      ['d', 86_400_000],
    ] as const),
  )
  fc.assert(
    fc.property(fc.nat(100_000), units, (count, [unit, factor]) => {
      expect(parseDuration(`${count}${unit}`)).toBe(count * factor)
    }),
  )
})

test('no text at all becomes anything but undefined or a whole number from 0', () => {
  const texts = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,20}[A-Za-z]{0,3}$/))
  fc.assert(
    fc.property(texts, (text) => {
      for (const value of [parseDuration(text), parseSize(text)]) {
        expect(value === undefined || (Number.isSafeInteger(value) && value >= 0)).toBe(true)
      }
    }),
  )
})
