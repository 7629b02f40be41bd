import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import { configJsonSchema, parseConfigFile } from '../../src/config/index.ts'
import { goldenCases, outcomeOf } from './golden.ts'

const cases = goldenCases()
const validate = new Ajv2020({ strict: false }).compile(configJsonSchema())

test('there are golden files', () => {
  expect(cases.length).toBeGreaterThan(20)
})

test.each(cases)('golden: $name', ({ input, expected }) => {
  expect(outcomeOf(input)).toBe(expected)
})

// An oracle: the reader and the schema that editors use are made from the same tables and must agree. They differ only where
// the schema cannot say it (a number in another unit, the host's own rules for a URL) and in the case of words.
const SCHEMA_CANNOT_SAY = ['invalid-duplicate', 'own-keys']

test.each(cases.filter(({ name }) => !name.startsWith('syntax-') && !SCHEMA_CANNOT_SAY.includes(name)))(
  'the schema agrees: $name',
  ({ name, input }) => {
    const valid = validate(parse(input, [], { allowTrailingComma: true }))
    expect(valid, JSON.stringify(validate.errors)).toBe(!name.startsWith('invalid-'))
  },
)

test('a failure lists each problem as data, with its place', () => {
  const text = '{\r\n  "upstream": { "protocol": 1 },\r\n  "servers": { "a": {} }\r\n}'
  expect(() => parseConfigFile(text, { path: 'x.json' })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      data: {
        path: 'x.json',
        problems: [
          expect.objectContaining({ path: 'upstream.protocol', line: 2, column: 17 }),
          expect.objectContaining({ path: 'servers.a', line: 3, column: 16 }),
        ],
      },
    }),
  )
})

test('a byte order mark is skipped', () => {
  expect(parseConfigFile('\uFEFF{"naming":"none"}', { path: 'x' }).settings).toEqual({ naming: 'none' })
})

test.each([500, 2_000, 5_000, 20_000, 200_000])('a file nested %i deep is refused, not a crash', (depth) => {
  const text = `{"inputs":${'['.repeat(depth)}${']'.repeat(depth)}}`
  expect(() => parseConfigFile(text, { path: 'x' })).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^CONFIG_(SYNTAX|INVALID)$/) as string }),
  )
})

test('names that objects have by themselves are names like any other', () => {
  const { servers } = parseConfigFile(
    '{"mcpServers":{"__proto__":{"command":"a","env":{"__proto__":"x"}},"constructor":{"command":"b"}}}',
    { path: 'x' },
  )
  expect([...servers.keys()]).toEqual(['__proto__', 'constructor'])
  const process = servers.get('__proto__')?.process
  expect(process?.kind === 'stdio' && Object.getOwnPropertyNames(process.env)).toEqual(['__proto__'])
  for (const name of ['__proto__', 'constructor', 'toString']) {
    expect(outcomeOf(`{"${name}": 1}`)).toContain('unknown key')
    expect(outcomeOf(`{"upstream": {"${name}": 1}}`)).toContain('unknown key')
    expect(outcomeOf(`{"servers": {"a": {"command": "x", "${name}": 1}}}`)).toContain('unknown key')
  }
})
