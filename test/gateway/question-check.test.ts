// What is said of an answer before the server gets it, and that no schema of a stranger's can stop the check or hold it up.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { replyFaults } from '../../src/gateway/questions/check.ts'
import type { Question } from '../../src/wire/index.ts'
import { frozen } from '../wire/frozen.ts'

const form = (requestedSchema: unknown, mode?: string): Question => ({
  method: 'elicitation/create',
  params: { message: 'm', requestedSchema, ...(mode !== undefined && { mode }) },
})
const field = (schema: unknown): Question => form({ type: 'object', properties: { a: schema } })
const accepted = (content: unknown): object => ({ action: 'accept', content })

test.each<[string, unknown, unknown, string | undefined]>([
  ['text', { type: 'string' }, 'x', undefined],
  ['text', { type: 'string' }, 1, '/a must be text'],
  ['a length', { type: 'string', minLength: 2, maxLength: 3 }, 'x', '/a must have at least 2 characters'],
  ['a length', { type: 'string', maxLength: 1 }, 'xxx', '/a must have at most 1 character'],
  ['a length in code points', { type: 'string', maxLength: 1 }, '😀', undefined],
  ['a number', { type: 'number' }, '1', '/a must be a number'],
  ['a minimum', { type: 'number', minimum: 18 }, 12, '/a must be at least 18'],
  ['a minimum', { type: 'number', minimum: 18 }, 18, undefined],
  ['a maximum', { type: 'integer', maximum: 5 }, 6, '/a must be at most 5'],
  ['a whole number', { type: 'integer' }, 1.5, '/a must be a whole number'],
  ['bounds', { exclusiveMinimum: 1, exclusiveMaximum: 2 }, 1, '/a must be more than 1'],
  ['yes or no', { type: 'boolean' }, 'yes', '/a must be true or false'],
  ['one of two types', { type: ['string', 'null'] }, 1, '/a must be text or null'],
  ['a choice', { type: 'string', enum: ['red', 'green'] }, 'blue', '/a must be one of red, green'],
  ['a choice', { type: 'string', enum: ['red', 'green'] }, 'green', undefined],
  [
    'a titled choice',
    { oneOf: [{ const: 'r', title: 'Red' }, { const: 'g' }] },
    'x',
    '/a must be one of r, g',
  ],
  ['a titled choice', { oneOf: [{ const: 'r', title: 'Red' }, { const: 'g' }] }, 'r', undefined],
  ['a list', { type: 'array', items: { enum: ['r', 'g'] } }, ['r', 'x'], '/a/1 must be one of r, g'],
  ['a titled list', { items: { anyOf: [{ const: 'r' }] } }, ['x'], '/a/0 must be one of r'],
  ['a list', { type: 'array', minItems: 1, maxItems: 1 }, [], '/a must have at least 1 item'],
  ['a list', { type: 'array', maxItems: 1 }, ['r', 'g'], '/a must have at most 1 item'],
  [
    'another union',
    { anyOf: [{ type: 'string' }, { minimum: 3, type: 'number' }] },
    1,
    '/a is none of what is allowed',
  ],
  ['an e-mail address', { format: 'email' }, 'x', '/a must be an e-mail address'],
  ['an e-mail address', { format: 'email' }, 'a@example.test', undefined],
  ['a URI', { format: 'uri' }, 'x y', '/a must be a URI'],
  ['a date', { format: 'date' }, '2025-02-30', '/a must be a date (YYYY-MM-DD)'],
  ['a time', { format: 'date-time' }, '2025-02-03', '/a must be a date and time (RFC 3339)'],
  ['a format that is no one of forms', { format: 'ipv4' }, 'x', undefined],
  ['a constant', { const: 'yes' }, 'no', '/a must be yes'],
])('a field that is %s: %j with %j', (_, ...[schema, value, fault]) => {
  expect(replyFaults(frozen(field(schema)), frozen(accepted({ a: value })))).toEqual(
    fault === undefined ? [] : [fault],
  )
})

test('what is missing, what is not asked for, and several faults at once', () => {
  const question = form({
    type: 'object',
    properties: { name: { type: 'string' }, 'a/b ~ç': { type: 'number' }, anyOf: { type: 'boolean' } },
    required: ['name', 'toString', 'a/b ~ç'],
    additionalProperties: false,
  })
  expect(replyFaults(question, accepted({ anyOf: 1, x: 1 })).toSorted()).toEqual([
    '/anyOf must be true or false',
    '/a~1b ~0ç is missing',
    '/name is missing',
    '/toString is missing',
    '/x is not asked for',
  ])
  expect(replyFaults(question, accepted({ name: 'n', toString: 't', 'a/b ~ç': 'x' }))).toContain(
    '/a~1b ~0ç must be a number',
  )
  expect(replyFaults(question, { action: 'accept' })).toContain('/name is missing')
  expect(replyFaults(form({ type: 'object', minProperties: 1 }), { action: 'accept' })).toEqual([])
})

test('an elicitation', () => {
  const question = form({ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, 'form')
  for (const action of ['decline', 'cancel']) {
    expect(replyFaults(question, { action })).toEqual([])
    expect(replyFaults(question, { action, content: {} })).toEqual([])
  }
  for (const action of ['submit', undefined, 1]) {
    expect(replyFaults(question, { action })).toEqual(['/action must be accept, decline or cancel'])
  }
  for (const content of [null, [], 'x']) {
    expect(replyFaults(question, accepted(content))).toEqual(['/content must be an object'])
  }
  const url = {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'm', url: 'https://example.test' },
  }
  expect(replyFaults(url, { action: 'accept' })).toEqual([])
  for (const result of [undefined, null, [], 'accept']) {
    expect(replyFaults(question, result)).toEqual(['the answer must be an object'])
  }
})

test('sampling', () => {
  const question = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
  const text = { type: 'text', text: 'a' }
  const said = { role: 'assistant', model: 'm' }
  expect(replyFaults(question, { ...said, content: text })).toEqual([])
  expect(replyFaults(question, { ...said, content: [text, { type: 'tool_use' }] })).toEqual([])
  expect(replyFaults(question, {})).toEqual([
    '/role must be user or assistant',
    '/model must be text',
    '/content must be a content block with a type, or a list of them',
  ])
  expect(replyFaults(question, { ...said, content: [] })).toEqual(['/content must have at least 1 item'])
  expect(replyFaults(question, { ...said, content: [text, 'a', {}] })).toEqual([
    '/content/1 must be a content block with a type',
    '/content/2 must be a content block with a type',
  ])
})

test('roots', () => {
  const question = { method: 'roots/list', params: undefined }
  expect(replyFaults(question, { roots: [] })).toEqual([])
  expect(replyFaults(question, { roots: [{ uri: 'file:///a', name: 'a' }] })).toEqual([])
  expect(replyFaults(question, {})).toEqual(['/roots must be a list'])
  expect(replyFaults(question, { roots: [{ uri: 'file:///a' }, 'file:///b', { uri: 1 }] })).toEqual([
    '/roots/1 must be an object with a uri',
    '/roots/2 must be an object with a uri',
  ])
  expect(replyFaults({ method: 'constructor', params: {} }, {})).toEqual([])
})

test('faults are few and short, whatever is answered', () => {
  const long = 'x'.repeat(100_000)
  const names = Array.from({ length: 500 }, (_, at) => `${long.slice(0, 100)}${at}`)
  const faults = [
    ...replyFaults(field({ enum: [long, long, long] }), accepted({ a: long })),
    ...replyFaults(field({ const: long }), accepted({ a: 1 })),
    ...replyFaults(form({ required: names }), accepted({})),
    ...replyFaults(form({ additionalProperties: false }), accepted({ [long]: 1 })),
  ]
  expect(replyFaults(form({ required: names }), accepted({}))).toHaveLength(20)
  for (const fault of faults) expect(fault.length).toBeLessThan(300)
})

test('only the shape is checked where a schema is too large, too deep or too much work', () => {
  const wrong = accepted({ a: 1 })
  const text = { type: 'string' }
  expect(replyFaults(field(text), wrong)).toHaveLength(1)
  expect(replyFaults(field({ ...text, description: 'x'.repeat(70_000) }), wrong)).toEqual([])
  let deep: unknown = text
  for (let at = 0; at < 40; at++) deep = { allOf: [deep] }
  expect(replyFaults(field({ ...text, ...(deep as object) }), wrong)).toEqual([])
  const all = { allOf: Array.from({ length: 500 }, () => ({ type: 'number' })) }
  const many = Array.from({ length: 200 }, () => 'x')
  expect(replyFaults(field({ items: all }), accepted({ a: many }))).toEqual([])
  expect(replyFaults(field({ items: all }), accepted({ a: ['x'] }))).toEqual(['/a/0 must be a number'])
  let nested: unknown = {}
  for (let at = 0; at < 40_000; at++) nested = [nested]
  expect(replyFaults(field(text), accepted({ a: nested }))).toEqual(['the content is nested too deeply'])
})

test('what could take long or reach outside is not evaluated', () => {
  const slow = `${'a'.repeat(60)}!`
  expect(replyFaults(field({ type: 'string', pattern: '^(a+)+$' }), accepted({ a: slow }))).toEqual([])
  expect(replyFaults(form({ patternProperties: { '^(a+)+$': false } }), accepted({ [slow]: 1 }))).toEqual([])
  const doubling = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  )
  expect(replyFaults(form({ $ref: '#/$defs/d0', $defs: { ...doubling, d60: {} } }), accepted({}))).toEqual([])
  expect(replyFaults(field({ $ref: '#' }), accepted({ a: 1 }))).toEqual([])
  expect(replyFaults(field({ $ref: 'https://example.test/s.json' }), accepted({ a: 1 }))).toEqual([])
  for (const format of ['email', 'uri', 'date', 'date-time']) {
    expect(replyFaults(field({ format }), accepted({ a: `${'a:/@'.repeat(20_000)} ` }))).toHaveLength(1)
  }
})

test('what is left out of a schema refuses nothing', () => {
  const branch = (pattern: string): object => ({ type: 'string', pattern })
  const lenient = [
    { oneOf: [branch('^a'), branch('^b')] },
    { not: { pattern: '^b' } },
    JSON.parse('{"if":{"pattern":"^b"},"then":{"minLength":5},"else":{"maxLength":0}}') as unknown,
    { type: 'strnig' },
    { enum: 'a', minimum: '3', required: 'b', format: 3, items: 7, oneOf: [], properties: 'x' },
  ]
  for (const schema of lenient) expect(replyFaults(field(schema), accepted({ a: 'ab' }))).toEqual([])
  const named = form({ patternProperties: { '^x': {} }, additionalProperties: false })
  expect(replyFaults(named, accepted({ x: 1 }))).toEqual([])
  const tuple = { prefixItems: [{ type: 'string' }], items: { type: 'number' } }
  expect(replyFaults(field(tuple), accepted({ a: ['x', 1] }))).toEqual([])
})

test('no schema and no content make it throw, and neither is changed', () => {
  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<unknown>
  const keyword = fc.constantFrom(
    'type',
    'properties',
    'required',
    'enum',
    'items',
    'oneOf',
    'format',
    'minimum',
    '$ref',
  )
  const schema = fc.dictionary(fc.oneof(keyword, fc.string({ maxLength: 3 })), json, { maxKeys: 5 })
  fc.assert(
    fc.property(
      fc.oneof(schema, json),
      fc.dictionary(fc.string({ maxLength: 3 }), json),
      (given, content) => {
        frozen(given)
        frozen(content)
        for (const question of [form(given), field(given)]) {
          const faults = replyFaults(question, accepted(content))
          expect(Array.isArray(faults) && faults.every((fault) => fault.length < 2000)).toBe(true)
        }
      },
    ),
    { numRuns: 500 },
  )
})
