// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
import { expect, test } from 'vitest'
import { paramHeadersOf, readParamHeaders } from '../../src/wire/index.ts'

const marked = (type: unknown, name: unknown = 'Region'): Record<string, unknown> => ({
  type,
  'x-mcp-header': name,
})
const object = (properties: Record<string, unknown>): Record<string, unknown> => ({
  type: 'object',
  properties,
})

test('the example of the specification', () => {
  const read = readParamHeaders(object({ region: marked('string'), query: { type: 'string' } }))
  expect(read).toEqual({
    ok: true,
    params: [{ path: ['region'], header: 'Mcp-Param-Region', type: 'string' }],
  })
  const params = read.ok ? read.params : []
  expect(paramHeadersOf(params, { region: 'us-west1', query: 'q' })).toEqual({
    'Mcp-Param-Region': 'us-west1',
  })
})

test.each([
  ['no schema', undefined],
  ['a boolean schema', true],
  ['a schema without annotations', object({ a: { type: 'number' } })],
  ['a parameter that has the name of the keyword', object({ 'x-mcp-header': { type: 'string' } })],
  [
    'the keyword in data',
    object({ a: { type: 'object', default: { 'x-mcp-header': 'A' }, enum: [{ 'x-mcp-header': 1 }] } }),
  ],
  ['the keyword in examples', { ...object({}), examples: [{ 'x-mcp-header': 'A' }] }],
])('nothing to repeat: %s', (_, schema) => {
  expect(readParamHeaders(schema)).toEqual({ ok: true, params: [] })
})

test('integers, booleans and nested properties may be marked', () => {
  const schema = object({
    n: marked('integer', 'N'),
    where: object({ deep: object({ flag: marked('boolean', "!#$%&'*+-.^_`|~09Az") }) }),
  })
  expect(readParamHeaders(schema)).toEqual({
    ok: true,
    params: [
      { path: ['n'], header: 'Mcp-Param-N', type: 'integer' },
      { path: ['where', 'deep', 'flag'], header: "Mcp-Param-!#$%&'*+-.^_`|~09Az", type: 'boolean' },
    ],
  })
})

test.each([
  '',
  ' ',
  'a b',
  'a:b',
  'a\r\nX: 1',
  'a\n',
  'é',
  '天',
  'a(b)',
  'a/b',
  '"a"',
  'a\u0000',
  7,
  null,
  {},
])('no header name: %j', (name) => {
  expect(readParamHeaders(object({ a: marked('string', name) }))).toMatchObject({ ok: false })
})

test.each(['number', 'object', 'array', 'null', undefined, ['string', 'integer']])(
  'not on a parameter of type %j',
  (type) => {
    expect(readParamHeaders(object({ a: marked(type) }))).toMatchObject({ ok: false })
  },
)

test('names are unique whatever their case, at any depth', () => {
  const schema = object({ a: marked('string', 'Region'), b: object({ c: marked('string', 'rEGION') }) })
  expect(readParamHeaders(schema)).toMatchObject({ ok: false, reason: expect.stringContaining('twice') })
})

test.each([
  ['items', object({ a: { type: 'array', items: marked('string') } })],
  ['prefixItems', object({ a: { type: 'array', prefixItems: [marked('string')] } })],
  ['oneOf', object({ a: { oneOf: [marked('string')] } })],
  ['anyOf', { ...object({}), anyOf: [object({ a: marked('string') })] }],
  ['allOf', { ...object({}), allOf: [object({ a: marked('string') })] }],
  ['not', object({ a: { not: marked('string') } })],
  ['$defs', { ...object({ a: { $ref: '#/$defs/a' } }), $defs: { a: marked('string') } }],
  ['additionalProperties', { ...object({}), additionalProperties: marked('string') }],
  ['patternProperties', { ...object({}), patternProperties: { '^a': marked('string') } }],
  [
    'items below a property',
    object({ a: object({ b: { type: 'array', items: object({ c: marked('string') }) } }) }),
  ],
  ['the root', { ...object({}), 'x-mcp-header': 'Root' }],
])('not statically reachable: %s', (_, schema) => {
  expect(readParamHeaders(schema)).toMatchObject({ ok: false })
})

test.each(['if', 'then', 'else', 'dependentSchemas', 'contains', 'unevaluatedProperties'])(
  'not statically reachable: %s',
  (keyword) => {
    const schema = { ...object({}), [keyword]: object({ a: marked('string') }) }
    expect(readParamHeaders(schema)).toMatchObject({ ok: false })
  },
)

test('a schema that is too deep ends the reading, not the process', () => {
  let schema: unknown = marked('string')
  for (let i = 0; i < 40; i++) schema = object({ a: schema })
  expect(readParamHeaders(schema)).toMatchObject({ ok: false })
  let plain: unknown = { type: 'string' }
  for (let i = 0; i < 5000; i++) plain = object({ a: plain })
  expect(readParamHeaders(plain)).toEqual({ ok: true, params: [] })
})

test('values are spelled as headers; what is absent or null has none', () => {
  const read = readParamHeaders(
    object({
      s: marked('string', 'S'),
      n: marked('integer', 'N'),
      b: marked('boolean', 'B'),
      o: object({ s: marked('string', 'O') }),
    }),
  )
  const params = read.ok ? read.params : []
  expect(paramHeadersOf(params, { s: ' 天', n: -7, b: false, o: { s: '' } })).toEqual({
    'Mcp-Param-S': '=?base64?IOWkqQ==?=',
    'Mcp-Param-N': '-7',
    'Mcp-Param-B': 'false',
    'Mcp-Param-O': '=?base64??=',
  })
  for (const args of [
    undefined,
    null,
    [],
    {},
    { s: null, n: undefined, o: null },
    { o: 'text' },
    { s: {} },
  ]) {
    expect(paramHeadersOf(params, args)).toEqual({})
  }
})

test('only own properties count', () => {
  const read = readParamHeaders(
    object({ constructor: object({ name: marked('string') }), toString: marked('string', 'B') }),
  )
  const params = read.ok ? read.params : []
  expect(params).toHaveLength(2)
  expect(paramHeadersOf(params, {})).toEqual({})
  expect(paramHeadersOf(params, { constructor: { name: 'a' } })).toEqual({ 'Mcp-Param-Region': 'a' })
})
