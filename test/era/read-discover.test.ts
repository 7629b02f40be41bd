import { expect, test } from 'vitest'
import { isModernError, readDiscover } from '../../src/era/index.ts'
import type { Answer } from '../../src/wire/index.ts'
import { agreesOn, error, result, supports, unsupported } from './answers.ts'

// The rows of "Reading an answer to server/discover".
test.each<[string, Answer, object]>([
  ['shares a modern revision', supports('2026-07-28'), { kind: 'modern', revision: '2026-07-28' }],
  [
    'shares it among unknown ones',
    supports('2031-01-01', '2026-07-28', '2025-06-18', 7),
    { kind: 'modern', revision: '2026-07-28' },
  ],
  ['shares legacy ones only', supports('2025-06-18'), { kind: 'legacy' }],
  ['shares nothing', supports('2031-01-01'), { kind: 'no-mutual-version', theirs: ['2031-01-01'] }],
  ['names nothing', supports(), { kind: 'no-mutual-version', theirs: [] }],
  ['names no strings', supports(1, null), { kind: 'no-mutual-version', theirs: [] }],
  ['-32022 with a modern one', unsupported('2026-07-28'), { kind: 'ask-again', revision: '2026-07-28' }],
  ['-32022 with legacy ones only', unsupported('2025-11-25', '2024-11-05'), { kind: 'legacy' }],
  [
    '-32022 with nothing shared',
    unsupported('2031-01-01'),
    { kind: 'no-mutual-version', theirs: ['2031-01-01'] },
  ],
  ['-32022 without a list', error(-32022), { kind: 'legacy' }],
  ['-32022 with another list', error(-32022, { supported: 'all' }), { kind: 'legacy' }],
  ['-32020', error(-32020), { kind: 'modern-error', error: { code: -32020 } }],
  ['-32021', error(-32021), { kind: 'modern-error', error: { code: -32021 } }],
  ['a catch-all handler', result({ ok: true }), { kind: 'legacy' }],
  ['versions that are no list', result({ supportedVersions: '2026-07-28' }), { kind: 'legacy' }],
  ['an initialize result', agreesOn('2026-07-28'), { kind: 'legacy' }],
  [
    'a protocolVersion from a shim beside the list',
    result({ supportedVersions: ['2026-07-28'], protocolVersion: '2025-06-18' }),
    { kind: 'modern', revision: '2026-07-28' },
  ],
])('%s', (_, answer, reading) => {
  expect(readDiscover(answer)).toMatchObject(reading)
})

test.each([-32601, -32602, -32000, -32600, -32603, -32700, -32001, -32002, -32023, 0, 404])(
  'any other error is legacy: %i',
  (code) => {
    expect(readDiscover(error(code, { supported: ['2026-07-28'] }))).toMatchObject({ kind: 'legacy' })
    expect(isModernError({ code, message: '' })).toBe(false)
  },
)

test('a modern reading keeps the result that it was read from', () => {
  const opening = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, x: 1 }
  expect(readDiscover({ result: opening })).toMatchObject({ result: opening })
})
