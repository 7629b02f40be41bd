// The matrix is only as good as what it expects: the expectation itself, against literals.
import { expect, test } from 'vitest'
import { difference, spelledFor, withoutEnvelope } from './expectation.ts'
import type { JsonObject } from './peer.ts'
import type { Survey } from './survey.ts'

const EMPTY: Survey = { tools: [], prompts: [], resources: [], templates: [], outcomes: {} }
const withResult = (result: JsonObject): Survey => ({ ...EMPTY, outcomes: { call: { result } } })
const LINK = { type: 'resource_link', uri: 'a://b', name: 'b' }
const TOOL = {
  name: 't',
  title: 'T',
  inputSchema: { title: 'kept', type: 'object' },
  outputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
  icons: [],
  execution: {},
}

test('a tool has the fields of the revision, and its schemas are left alone', () => {
  const fields = (revision: Parameters<typeof spelledFor>[0]) =>
    Object.keys(spelledFor(revision, { ...EMPTY, tools: [TOOL] }).tools[0] ?? {}).join(' ')
  expect(fields('2024-11-05')).toBe('name inputSchema')
  expect(fields('2025-03-26')).toBe('name inputSchema annotations')
  expect(fields('2025-06-18')).toBe('name title inputSchema outputSchema annotations')
  expect(fields('2025-11-25')).toBe('name title inputSchema outputSchema annotations icons execution')
  expect(fields('2026-07-28')).toBe('name title inputSchema outputSchema annotations icons')
  expect(spelledFor('2024-11-05', { ...EMPTY, tools: [TOOL] }).tools[0]?.['inputSchema']).toEqual(
    TOOL.inputSchema,
  )
})

test('structured content is text for those who cannot read it, once', () => {
  const unsaid = spelledFor('2025-03-26', withResult({ content: [], structuredContent: { n: 1 } }))
  expect(difference(unsaid, withResult({ content: [{ type: 'text', text: '{"n":1}' }] }))).toBeUndefined()
  expect(difference(unsaid, withResult({ content: [] }))).toContain('expected')
  const text = { type: 'text', text: '{ "n": 1 }' }
  const said = spelledFor('2025-03-26', withResult({ content: [text], structuredContent: { n: 1 } }))
  expect(said).toEqual(withResult({ content: [text] }))
})

test('a resource link is an embedded resource with the same URI before there were links', () => {
  const expected = spelledFor('2025-03-26', withResult({ content: [LINK] }))
  const embedded = (uri: string) =>
    withResult({ content: [{ type: 'resource', resource: { uri, text: '' } }] })
  expect(difference(expected, embedded('a://b'))).toBeUndefined()
  expect(difference(expected, embedded('a://c'))).toContain('a://b')
  expect(spelledFor('2025-06-18', withResult({ content: [LINK] }))).toEqual(withResult({ content: [LINK] }))
})

test('the envelope of a hop is no part of what is compared, other _meta is', () => {
  const _meta = { 'io.modelcontextprotocol/serverInfo': {}, 'example.com/kept': 1 }
  const seen = withoutEnvelope(withResult({ resultType: 'complete', ttlMs: 1, cacheScope: 'public', _meta }))
  expect(seen).toEqual(withResult({ _meta: { 'example.com/kept': 1 } }))
})

test.each([
  ['a changed value', { content: [{ type: 'text', text: 'b' }] }],
  ['a missing field', { content: [{ type: 'text' }] }],
  ['an added field', { content: [{ type: 'text', text: 'a' }], isError: true }],
  ['an added item', { content: [{ type: 'text', text: 'a' }, {}] }],
  ['a missing item', { content: [] }],
])('%s is a difference', (_, seen) => {
  const expected = withResult({ content: [{ type: 'text', text: 'a' }] })
  expect(difference(expected, expected)).toBeUndefined()
  expect(difference(expected, withResult(seen))).toMatch(/^survey\.outcomes\.call\.result/)
})

test('a missing tool is a difference, unless it is optional', () => {
  const expected = { ...EMPTY, tools: [TOOL] }
  expect(difference(expected, EMPTY)).toContain('tools')
  expect(difference(expected, EMPTY, ['t'])).toBeUndefined()
})
