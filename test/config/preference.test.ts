import { expect, test } from 'vitest'
import { createSettings, normalisePreference, parseConfigFile, PREFERENCES } from '../../src/config/index.ts'
import type { Preference } from '../../src/config/index.ts'

// Written out, not taken from the table: what users may write is a promise.
const SPELLINGS: readonly (readonly [Preference, string])[] = [
  ['prefer-discover', 'prefer-discover'],
  ['prefer-discover', 'modern'],
  ['prefer-discover', 'prefer-modern'],
  ['prefer-discover', 'prefer-stateless'],
  ['prefer-discover', 'prefer-newest'],
  ['prefer-initialize', 'prefer-initialize'],
  ['prefer-initialize', 'legacy'],
  ['prefer-initialize', 'prefer-legacy'],
  ['prefer-initialize', 'prefer-session'],
  ['prefer-initialize', 'prefer-oldest'],
  ['force-discover', 'force-discover'],
  ['force-discover', 'force-modern'],
  ['force-discover', 'force-stateless'],
  ['force-initialize', 'force-initialize'],
  ['force-initialize', 'force-legacy'],
  ['force-initialize', 'force-session'],
  ['follow', 'follow'],
]

const CASES = [
  (text: string) => text,
  (text: string) => text.toUpperCase(),
  (text: string) => text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()),
  (text: string) => ` ${text}\n`,
]

test.each(
  SPELLINGS.flatMap(([value, spelling]) => CASES.map((change) => [change(spelling), value] as const)),
)('%j is %s wherever it is read', (text, value) => {
  expect(normalisePreference(text)).toBe(value)
  const path = 'upstream.protocol'
  expect(createSettings({ env: { MCPX_UPSTREAM_PROTOCOL: text } }).get(path)).toBe(value)
  expect(createSettings({ flags: { [path]: text } }).get(path)).toBe(value)
  const runtime = createSettings()
  runtime.set(path, text)
  expect(runtime.get(path)).toBe(value)
  const protocol = JSON.stringify(text)
  const file = parseConfigFile(
    `{"upstream":{"protocol":${protocol}},"servers":{"a":{"command":"a","protocol":${protocol}}}}`,
    {
      path: 'x',
    },
  )
  expect(createSettings({ file }).get(path)).toBe(value)
  expect(file.servers.get('a')?.protocol).toBe(value)
})

test('the table holds these spellings and no others', () => {
  const table = Object.entries(PREFERENCES).flatMap(([value, { aliases }]) => [
    [value, value],
    ...aliases.map((alias) => [value, alias]),
  ])
  expect(table).toEqual(SPELLINGS)
})

test.each(['', 'newest', 'prefer', 'prefer_discover', 'constructor', '__proto__', 'auto', 'x'.repeat(500)])(
  '%j is refused with the whole list',
  (text) => {
    expect(() => normalisePreference(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    for (const [value, spelling] of SPELLINGS) {
      expect(() => normalisePreference(text)).toThrow(value)
      expect(() => normalisePreference(text)).toThrow(spelling)
    }
    expect(() => normalisePreference(text)).not.toThrow('x'.repeat(100))
  },
)
