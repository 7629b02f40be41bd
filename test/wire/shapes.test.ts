// Each feature, in a revision that has it and in those that lack it.
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/index.ts'
import { FEATURES, hasFeature, REVISIONS } from '../../src/spec/index.ts'
import type { FeatureName, RevisionId } from '../../src/spec/index.ts'
import { lowerError, raiseError } from '../../src/wire/error-shape.ts'
import { lower, lowerCapabilities, lowerImplementation, lowerNotification } from '../../src/wire/lower.ts'
import { raise } from '../../src/wire/raise.ts'
import { frozen } from './frozen.ts'

interface Row {
  /** The newest shape, and what is left where the feature is lacking. The same function spells both. */
  readonly newest: JsonObject
  readonly older: JsonObject
  readonly spell: (value: JsonObject, to: RevisionId) => JsonObject | undefined
}

const schema = { type: 'object', properties: { q: { type: 'string' } } }
const icon = { src: 'https://example.test/i.png' }
const ofResult = (method: string) => (value: JsonObject, to: RevisionId) => lower(method, value, to)
const listing = ([method, list]: readonly [string, string], newest: JsonObject, older: JsonObject): Row => ({
  newest: { [list]: [newest] },
  older: { [list]: [older] },
  spell: ofResult(method),
})
const answering = (newest: JsonObject, older: JsonObject): Row => ({
  newest: { content: [newest] },
  older: { content: [older] },
  spell: ofResult('tools/call'),
})

/** At least one row for each feature that a result, notification or capability can hold. */
const ROWS: Partial<Record<FeatureName, readonly Row[]>> = {
  audio: [
    answering(
      { type: 'audio', data: 'AAECAw==', mimeType: 'audio/wav', annotations: { priority: 1 }, 'x-vendor': 1 },
      { type: 'text', text: '[audio: audio/wav, 4 bytes]', annotations: { priority: 1 }, 'x-vendor': 1 },
    ),
    {
      newest: {
        messages: [{ role: 'user', content: { type: 'audio', data: 'AAEC', mimeType: 'audio/mpeg' } }],
      },
      older: {
        messages: [{ role: 'user', content: { type: 'text', text: '[audio: audio/mpeg, 3 bytes]' } }],
      },
      spell: ofResult('prompts/get'),
    },
  ],
  toolAnnotations: [
    listing(
      ['tools/list', 'tools'],
      { name: 't', inputSchema: schema, annotations: { readOnlyHint: true } },
      { name: 't', inputSchema: schema },
    ),
  ],
  completions: [{ newest: { tools: {}, completions: {} }, older: { tools: {} }, spell: lowerCapabilities }],
  progressMessage: [
    {
      newest: { progressToken: 'p', progress: 1, message: 'half' },
      older: { progressToken: 'p', progress: 1 },
      spell: (value, to) => lowerNotification('notifications/progress', value, to),
    },
  ],
  structuredContent: [
    {
      newest: { content: [{ type: 'text', text: 'It is 20.' }], structuredContent: { degrees: 20 } },
      older: {
        content: [
          { type: 'text', text: 'It is 20.' },
          { type: 'text', text: '{"degrees":20}' },
        ],
      },
      spell: ofResult('tools/call'),
    },
    {
      newest: {
        content: [{ type: 'text', text: ' {\n "b": [1], "a": 20 }' }],
        structuredContent: { a: 20, b: [1] },
      },
      older: { content: [{ type: 'text', text: ' {\n "b": [1], "a": 20 }' }] },
      spell: ofResult('tools/call'),
    },
  ],
  structuredValue: [
    {
      newest: { content: [], structuredContent: [1, 2], isError: true },
      older: { content: [{ type: 'text', text: '[1,2]' }], isError: true },
      spell: ofResult('tools/call'),
    },
    {
      newest: { content: [{ type: 'text', text: 'yes' }], structuredContent: 'yes' },
      older: { content: [{ type: 'text', text: 'yes' }] },
      spell: ofResult('tools/call'),
    },
    {
      newest: { content: [{ type: 'text', text: 'none' }], structuredContent: null },
      older: {
        content: [
          { type: 'text', text: 'none' },
          { type: 'text', text: 'null' },
        ],
      },
      spell: ofResult('tools/call'),
    },
  ],
  resourceLink: [
    answering(
      {
        type: 'resource_link',
        uri: 'file:///a.pdf',
        name: 'a.pdf',
        title: 'Report',
        description: 'Of March',
        mimeType: 'application/pdf',
        size: 12,
        annotations: { audience: ['user'] },
      },
      {
        type: 'resource',
        resource: {
          uri: 'file:///a.pdf',
          mimeType: 'text/plain',
          text: '[resource: Report, application/pdf, 12 bytes]\nfile:///a.pdf\nOf March',
        },
        annotations: { audience: ['user'] },
      },
    ),
    {
      newest: { messages: [{ role: 'user', content: { type: 'resource_link', uri: 'x:y', name: 'n' } }] },
      older: {
        messages: [
          {
            role: 'user',
            content: {
              type: 'resource',
              resource: { uri: 'x:y', mimeType: 'text/plain', text: '[resource: n]\nx:y' },
            },
          },
        ],
      },
      spell: ofResult('prompts/get'),
    },
  ],
  outputSchema: [
    listing(
      ['tools/list', 'tools'],
      { name: 't', inputSchema: schema, outputSchema: schema },
      { name: 't', inputSchema: schema },
    ),
  ],
  lastModified: [
    answering(
      { type: 'text', text: 'a', annotations: { priority: 1, lastModified: '2025-01-01' } },
      { type: 'text', text: 'a', annotations: { priority: 1 } },
    ),
    listing(
      ['resources/templates/list', 'resourceTemplates'],
      { uriTemplate: 'x:{y}', name: 'x', annotations: { lastModified: '2025-01-01' } },
      { uriTemplate: 'x:{y}', name: 'x', annotations: {} },
    ),
  ],
  contentMeta: [
    answering(
      { type: 'resource', resource: { uri: 'x:y', text: 'z', _meta: { a: 1 } }, _meta: { b: 2 } },
      { type: 'resource', resource: { uri: 'x:y', text: 'z' } },
    ),
    {
      newest: { contents: [{ uri: 'x:y', blob: 'AA==', _meta: { a: 1 } }] },
      older: { contents: [{ uri: 'x:y', blob: 'AA==' }] },
      spell: ofResult('resources/read'),
    },
  ],
  listedMeta: [
    listing(['prompts/list', 'prompts'], { name: 'p', _meta: { a: 1 } }, { name: 'p' }),
    listing(
      ['tools/list', 'tools'],
      { name: 't', inputSchema: schema, _meta: {} },
      { name: 't', inputSchema: schema },
    ),
  ],
  title: [
    listing(
      ['prompts/list', 'prompts'],
      { name: 'p', title: 'P', arguments: [{ name: 'a', title: 'A', required: true }, { name: 'b' }] },
      { name: 'p', arguments: [{ name: 'a', required: true }, { name: 'b' }] },
    ),
    listing(
      ['resources/list', 'resources'],
      { uri: 'x:y', name: 'x', title: 'X' },
      { uri: 'x:y', name: 'x' },
    ),
    {
      newest: { name: 's', version: '1', title: 'S' },
      older: { name: 's', version: '1' },
      spell: lowerImplementation,
    },
  ],
  icons: [
    listing(
      ['resources/list', 'resources'],
      { uri: 'x:y', name: 'x', icons: [icon] },
      { uri: 'x:y', name: 'x' },
    ),
    {
      newest: { name: 's', version: '1', icons: [icon] },
      older: { name: 's', version: '1' },
      spell: lowerImplementation,
    },
  ],
  implementationDescription: [
    {
      newest: { name: 's', version: '1', description: 'd' },
      older: { name: 's', version: '1' },
      spell: lowerImplementation,
    },
  ],
  websiteUrl: [
    {
      newest: { name: 's', version: '1', websiteUrl: 'https://example.test' },
      older: { name: 's', version: '1' },
      spell: lowerImplementation,
    },
  ],
  coreTasks: [{ newest: { tools: {}, tasks: { list: {} } }, older: { tools: {} }, spell: lowerCapabilities }],
  extensions: [
    { newest: { tools: {}, extensions: { 'x.y/z': {} } }, older: { tools: {} }, spell: lowerCapabilities },
  ],
  resultType: [
    {
      newest: { resultType: 'complete', content: [] },
      older: { content: [] },
      spell: ofResult('tools/call'),
    },
    { newest: { resultType: 'complete', x: 1 }, older: { x: 1 }, spell: ofResult('vendor/unknown') },
  ],
  ttlMs: [{ newest: { contents: [], ttlMs: 5 }, older: { contents: [] }, spell: ofResult('resources/read') }],
  cacheScope: [
    { newest: { tools: [], cacheScope: 'public' }, older: { tools: [] }, spell: ofResult('tools/list') },
  ],
  serverInfo: [
    {
      newest: {
        content: [],
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' }, a: 1 },
      },
      older: { content: [], _meta: { a: 1 } },
      spell: ofResult('tools/call'),
    },
    {
      newest: { content: [], _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' } } },
      older: { content: [] },
      spell: ofResult('tools/call'),
    },
  ],
  subscriptionId: [
    {
      newest: { uri: 'x:y', _meta: { 'io.modelcontextprotocol/subscriptionId': 4 } },
      older: { uri: 'x:y' },
      spell: (value, to) => lowerNotification('notifications/resources/updated', value, to),
    },
  ],
  jsonSchema: [
    listing(
      ['tools/list', 'tools'],
      { name: 't', inputSchema: { type: 'object', properties: { a: true, b: false, c: {} } } },
      { name: 't', inputSchema: { type: 'object', properties: { a: {}, b: { not: {} }, c: {} } } },
    ),
    listing(
      ['tools/list', 'tools'],
      { name: 't', inputSchema: { oneOf: [{ required: ['a'] }] } },
      { name: 't', inputSchema: { oneOf: [{ required: ['a'] }], type: 'object' } },
    ),
  ],
}

/** Rows whose translation is not one of a result's, a notification's or a capability's shape. */
const ELSEWHERE: readonly FeatureName[] = [
  'execution',
  'resourceNotFound',
  'urlElicitation',
  'elicitationId',
  'elicitationMode',
  'schemaDialect',
  'formDefaults',
  'titledEnums',
  'multiSelect',
  'samplingTools',
  'samplingContext',
  'samplingBlocks',
  'samplingMessageMeta',
  'taskQuestion',
  'replyMeta',
]

test('each feature has a row', () => {
  expect([...Object.keys(ROWS), ...ELSEWHERE].sort()).toEqual(Object.keys(FEATURES).sort())
})

for (const [name, rows] of Object.entries(ROWS) as [FeatureName, Row[]][]) {
  test.each(REVISIONS.map(({ id }) => id))(`${name} for %s`, (id) => {
    for (const { newest, older, spell } of rows) {
      const spelled = spell(frozen(newest), id)
      if (hasFeature(id, name)) expect(spelled).toBe(newest)
      else expect(spelled).toEqual(older)
    }
  })
}

test('execution is left out before 2025-11-25, and after it, where the newest shape still holds it', () => {
  const listed = frozen({
    tools: [{ name: 't', inputSchema: schema, execution: { taskSupport: 'optional' } }],
  })
  expect(lower('tools/list', listed, '2025-06-18')).toEqual({ tools: [{ name: 't', inputSchema: schema }] })
  expect(lower('tools/list', listed, '2025-11-25')).toBe(listed)
  expect(lower('tools/list', listed, '2026-07-28')).toEqual({ tools: [{ name: 't', inputSchema: schema }] })
  const without = frozen({ tools: [{ name: 't', inputSchema: schema }] })
  expect(lower('tools/list', without, '2026-07-28')).toBe(without)
})

test('a link keeps its type and loses its icons where it came before them', () => {
  const link = { type: 'resource_link', uri: 'x:y', name: 'n', title: 'N', icons: [icon], 'x-vendor': 1 }
  const { icons: _, ...rest } = link
  expect(lower('tools/call', frozen({ content: [link] }), '2025-06-18')).toEqual({ content: [rest] })
})

test.each([
  ['an object', { type: 'object' }, { type: 'object' }],
  ['properties', { properties: { a: {} } }, { properties: { a: {} }, type: 'object' }],
  ['a union of objects', { anyOf: [{ type: 'object' }, { properties: {} }] }, 'type'],
  ['a reference to an object', { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'object' } } }, 'type'],
  ['all of, one of them an object', { allOf: [{ minProperties: 1 }, { type: 'object' }] }, 'type'],
  ['an array', { type: 'array' }, undefined],
  ['an object or null', { type: ['object', 'null'] }, undefined],
  ['a union with an array', { oneOf: [{ type: 'object' }, { type: 'array' }] }, undefined],
  ['anything', {}, undefined],
  ['a union of nothing', { anyOf: [] }, undefined],
  ['a reference to itself', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }, undefined],
  ['a reference elsewhere', { $ref: 'https://example.test/s.json' }, undefined],
  ['not a schema', 'object', undefined],
])('an output schema that is %s, for 2025-11-25', (_, outputSchema, expected) => {
  const listed = frozen({ tools: [{ name: 't', inputSchema: schema, outputSchema }] })
  const [tool] = lower('tools/list', listed, '2025-11-25')['tools'] as JsonObject[]
  const kept = expected === 'type' ? { ...(outputSchema as JsonObject), type: 'object' } : expected
  expect(tool?.['outputSchema']).toEqual(kept)
  expect(lower('tools/list', listed, '2026-07-28')).toBe(listed)
})

test('what a legacy server answers gets what the newest revision demands, and no more', () => {
  const result = frozen({ content: [{ type: 'text', text: 'a' }], 'x-vendor': 1 })
  expect(raise('tools/call', result, '2025-11-25')).toEqual({ ...result, resultType: 'complete' })
  const hints = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  for (const method of ['tools/list', 'resources/read', 'resources/templates/list']) {
    expect(raise(method, frozen({}), '2024-11-05')).toEqual(hints)
  }
  expect(raise('completion/complete', frozen({}), '2024-11-05')).toEqual({ resultType: 'complete' })
  const given = frozen({ tools: [], resultType: 'complete', ttlMs: 9, cacheScope: 'public' })
  expect(raise('tools/list', given, '2025-06-18')).toBe(given)
  const asking = frozen({ resultType: 'input_required', requestState: 's' })
  expect(raise('resources/read', asking, '2025-11-25')).toBe(asking)
  expect(raise('tools/list', frozen({}), '2026-07-28')).toEqual({})
})

test('what is not of the expected kind passes untouched', () => {
  for (const odd of [
    { content: 'x' },
    { content: [null, 3, 'x', { type: 'vendor' }] },
    { content: [{}] },
    {},
  ]) {
    frozen(odd)
    expect(lower('tools/call', odd, '2024-11-05')).toBe(odd)
  }
  const broken = frozen({ content: [{ type: 'resource_link', name: 'no uri' }] })
  expect(lower('tools/call', broken, '2024-11-05')).toBe(broken)
  expect(lowerNotification('notifications/tools/list_changed', undefined, '2024-11-05')).toBeUndefined()
})

test('a vendor result keeps members that only look like caching hints', () => {
  const result = frozen({ ttlMs: 5, cacheScope: 'mine' })
  expect(lower('vendor/method', result, '2025-06-18')).toBe(result)
})

test('a member named __proto__ is data like any other', () => {
  const result = frozen(
    JSON.parse('{"content":[],"resultType":"complete","__proto__":{"a":1}}') as JsonObject,
  )
  expect(JSON.stringify(lower('tools/call', result, '2025-06-18'))).toBe('{"content":[],"__proto__":{"a":1}}')
})

const notFound = frozen({ code: -32602, message: 'Resource not found', data: { uri: 'x:y', hint: 1 } })

test('resource not found, to older callers', () => {
  for (const id of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const) {
    expect(lowerError(notFound, id)).toEqual({ ...notFound, code: -32002 })
    expect(lowerError(notFound, id, { method: 'resources/read' })).toEqual({ ...notFound, code: -32002 })
    expect(lowerError(notFound, id, { method: 'tools/call' })).toBe(notFound)
  }
  expect(lowerError(notFound, '2026-07-28')).toBe(notFound)
  const invalid = frozen({ code: -32602, message: 'Invalid params', data: { cursor: 'x' } })
  expect(lowerError(invalid, '2025-11-25', { method: 'resources/read' })).toBe(invalid)
})

test('resource not found, from older servers', () => {
  const old = frozen({ code: -32002, message: 'm', data: { uri: 'x:y', hint: 1 } })
  expect(raiseError(old, '2025-06-18')).toEqual({ ...old, code: -32602 })
  expect(raiseError(old, '2025-06-18', { method: 'tools/call' })).toBe(old)
  expect(raiseError(old, '2026-07-28')).toBe(old)
  const read = { method: 'resources/read', uri: 'a:b' }
  const raised = { code: -32602, message: 'm' }
  expect(raiseError({ code: -32002, message: 'm' }, '2024-11-05', read)).toEqual({
    ...raised,
    data: { uri: 'a:b' },
  })
  expect(raiseError({ ...raised, code: -32002, data: { n: 1 } }, '2024-11-05', read)).toEqual({
    ...raised,
    data: { n: 1, uri: 'a:b' },
  })
  expect(raiseError({ ...raised, code: -32002, data: 'gone' }, '2024-11-05', read)).toEqual({
    ...raised,
    data: { uri: 'a:b', detail: 'gone' },
  })
  expect(raiseError(old, '2025-06-18', read)).toEqual({ ...old, code: -32602 })
  const bare = frozen({ code: -32002, message: 'Server not ready' })
  expect(raiseError(bare, '2025-11-25')).toBe(bare)
})
