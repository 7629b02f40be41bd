import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import { decodeHeaderValue, encodeHeaderValue } from '../../src/wire/header-codec.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme-ascii' }),
  fc.string().map((text) => `=?base64?${text}?=`),
  fc.constantFrom('', ' ', '\t', ' a', 'a ', '=?base64?', '?=', '=?base64?=', '=?base64??=', '\uFEFFa'),
)

test('any text comes back, through a header that is visible ASCII without white space at its edges', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const encoded = encodeHeaderValue(text)
      expect(encoded).toMatch(/^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/)
      expect(decodeHeaderValue(encoded)).toEqual({ ok: true, value: text })
    }),
    { numRuns: 2000 },
  )
})

// The examples of the specification.
test.each([
  ['us-west1', 'us-west1'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['file:///projects/myapp/config.json', 'file:///projects/myapp/config.json'],
])('%s is sent as %s', (text, header) => {
  expect(encodeHeaderValue(text)).toBe(header)
})

test('base64 of what could have been plain is taken', () => {
  expect(decodeHeaderValue('=?base64?SGVsbG8=?=')).toEqual({ ok: true, value: 'Hello' })
})

test.each([
  ['=?base64?='],
  ['=?base64?SGVsbG8?='],
  ['=?base64?SGVs bG8=?='],
  ['=?base64?SGVsbG9=?='],
  ['=?base64?!!!!?='],
  ['=?base64?/w==?='],
  ['=?base64?7aCA?='],
  ['天気 🌦'],
  ['a\u0000b'],
  ['a\nb'],
  ['\u00e9'],
])('%j is refused', (header) => {
  expect(decodeHeaderValue(header)).toMatchObject({ ok: false })
})

test('only the exact sentinels count', () => {
  for (const text of ['=?BASE64?SGVsbG8=?=', '=?base64?SGVsbG8=', 'x=?base64?SGVsbG8=?=']) {
    expect(decodeHeaderValue(text)).toEqual({ ok: true, value: text })
  }
})
