// Questions and answers, each spelling in the revisions that have it and in those that lack it.
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/index.ts'
import { REVISIONS } from '../../src/spec/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'
import {
  answerable,
  capabilityFor,
  isQuestion,
  lowerQuestion,
  lowerReply,
  raiseQuestion,
  raiseReply,
  readInputRequired,
  whyNot,
} from '../../src/wire/index.ts'
import type { Question } from '../../src/wire/index.ts'
import { frozen } from './frozen.ts'

const IDS = REVISIONS.map(({ id }) => id)
const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} }
const ELICIT = 'elicitation/create'
const SAMPLE = 'sampling/createMessage'

/** The params that a client of each revision gets, oldest first; undefined where it cannot be asked. */
function spelledFor(method: string, params: JsonObject, answers: JsonObject = ALL): unknown[] {
  const question = frozen({ method, params })
  return IDS.map((to) => lowerQuestion(question, { to, answerable: answers, newId: () => 'new' })?.params)
}

test.each<[string, JsonObject, readonly unknown[]]>([
  ['none', {}, [{}, {}, {}, {}, {}]],
  [
    'elicitation without a mode',
    { elicitation: {} },
    [{}, {}, { elicitation: { form: {} } }, { elicitation: { form: {} } }, { elicitation: { form: {} } }],
  ],
  [
    'both modes',
    { elicitation: { url: {}, form: { applyDefaults: true } } },
    [
      {},
      {},
      { elicitation: { form: {} } },
      { elicitation: { form: {}, url: {} } },
      { elicitation: { form: {}, url: {} } },
    ],
  ],
  [
    'elicitation by URL only',
    { elicitation: { url: {} } },
    [{}, {}, {}, { elicitation: { url: {} } }, { elicitation: { url: {} } }],
  ],
  [
    'sampling',
    { sampling: {} },
    [
      { sampling: { context: {} } },
      { sampling: { context: {} } },
      { sampling: { context: {} } },
      { sampling: {} },
      { sampling: {} },
    ],
  ],
  [
    'sampling with everything',
    { sampling: { tools: {}, context: {}, other: {} } },
    [
      { sampling: { context: {} } },
      { sampling: { context: {} } },
      { sampling: { context: {} } },
      { sampling: { tools: {}, context: {} } },
      { sampling: { tools: {}, context: {} } },
    ],
  ],
  [
    'roots, and what is no question',
    { roots: { listChanged: true }, tasks: {}, experimental: {}, extensions: {} },
    IDS.map(() => ({ roots: {} })),
  ],
  [
    'extensions',
    { extensions: { 'test.example/ui': { a: 1 }, 'io.modelcontextprotocol/tasks': {} } },
    [{}, {}, {}, {}, { extensions: { 'test.example/ui': { a: 1 } } }],
  ],
  [
    'what is not declared as the schema says',
    { roots: true, sampling: null, elicitation: [] },
    IDS.map(() => ({})),
  ],
])('what a client that declares %s can be asked', (_, capabilities, expected) => {
  frozen(capabilities)
  expect(IDS.map((id) => answerable(capabilities, id))).toEqual(expected)
})

const URL_QUESTION = { method: ELICIT, params: { mode: 'url', message: 'm', url: 'https://example.test/' } }
const TOOL_QUESTION = { method: SAMPLE, params: { messages: [], maxTokens: 1, tools: [] } }

test.each<[string, Question, JsonObject]>([
  ['', { method: ELICIT, params: { message: 'm' } }, { elicitation: { form: {} } }],
  [' by form', { method: ELICIT, params: { mode: 'form' } }, { elicitation: { form: {} } }],
  [' by URL', URL_QUESTION, { elicitation: { url: {} } }],
  [
    ' by __proto__',
    { method: ELICIT, params: { mode: '__proto__' } },
    { elicitation: { ['__proto__']: {} } },
  ],
  [' by voice', { method: ELICIT, params: { mode: 'voice' } }, { elicitation: { voice: {} } }],
])('elicitation%s needs a capability', (words, question, needed) => {
  expect(capabilityFor(question)).toEqual(needed)
  expect(whyNot(question, needed)).toBeUndefined()
  expect(whyNot(question, {})).toBe('the client does not answer elicitation')
  const others = { elicitation: { other: {} } }
  expect(whyNot(question, others)).toBe(
    `the client does not answer elicitation${words === '' ? ' by form' : words}`,
  )
})

test('sampling and roots need their capabilities', () => {
  const using = {
    messages: [{ role: 'assistant', content: { type: 'tool_use', id: '1', name: 't', input: {} } }],
  }
  for (const question of [TOOL_QUESTION, { method: SAMPLE, params: using }]) {
    expect(capabilityFor(question)).toEqual({ sampling: { tools: {} } })
    expect(whyNot(question, { sampling: { context: {} } })).toBe(
      'the client does not answer sampling with tools',
    )
  }
  const plain = { method: SAMPLE, params: { messages: [], maxTokens: 1, includeContext: 'allServers' } }
  expect(capabilityFor(plain)).toEqual({ sampling: {} })
  expect(whyNot(plain, { sampling: {} })).toBeUndefined()
  expect(whyNot(plain, { roots: {} })).toBe('the client does not answer sampling')
  const roots = { method: 'roots/list', params: undefined }
  expect(capabilityFor(roots)).toEqual({ roots: {} })
  expect(whyNot(roots, {})).toBe('the client does not answer roots')
  expect(whyNot({ method: 'constructor', params: {} }, ALL)).toBe('no client can be asked "constructor"')
  expect(capabilityFor({ method: 'tools/call', params: {} })).toEqual({})
})

test('which methods ask', () => {
  expect([ELICIT, SAMPLE, 'roots/list'].every(isQuestion)).toBe(true)
  expect(['ping', 'tools/call', 'constructor', ''].some(isQuestion)).toBe(false)
})

test('a question by URL has a name where the revision demands one', () => {
  const { params } = URL_QUESTION
  expect(spelledFor(ELICIT, params)).toEqual([
    undefined,
    undefined,
    undefined,
    { ...params, elicitationId: 'new' },
    params,
  ])
  const named = { ...params, elicitationId: 'e1' }
  expect(spelledFor(ELICIT, named)).toEqual([undefined, undefined, undefined, named, params])
})

test('a form', () => {
  const schema = { type: 'object', properties: { a: { type: 'string', title: 'A' } }, required: ['a'] }
  const params = { message: 'm', requestedSchema: schema, 'x-vendor': 1 }
  expect(spelledFor(ELICIT, params)).toEqual([undefined, undefined, params, params, params])
  const newer = {
    ...params,
    mode: 'form',
    task: { ttl: 1 },
    requestedSchema: { $schema: 'https://json-schema.org/x', ...schema },
  }
  const { task: _, ...untasked } = newer
  expect(spelledFor(ELICIT, newer)).toEqual([undefined, undefined, params, newer, untasked])
  const voice = { ...params, mode: 'voice' }
  expect(spelledFor(ELICIT, voice)).toEqual([undefined, undefined, undefined, voice, voice])
})

const oneOf = [{ const: 'r', title: 'Red' }, { const: 'g' }]
test.each<[string, JsonObject, JsonObject | undefined]>([
  ['text', { type: 'string', default: 'd', pattern: '^a' }, { type: 'string', pattern: '^a' }],
  ['a number', { type: 'number', default: 0, minimum: 1 }, { type: 'number', minimum: 1 }],
  ['yes or no', { type: 'boolean', default: true }, { type: 'boolean', default: true }],
  ['a choice', { type: 'string', enum: ['r'], default: 'r' }, { type: 'string', enum: ['r'] }],
  [
    'a choice with names',
    { type: 'string', enum: ['r'], enumNames: ['Red'] },
    { type: 'string', enum: ['r'], enumNames: ['Red'] },
  ],
  [
    'a choice with titles',
    { type: 'string', title: 'Colour', oneOf, default: 'r' },
    { type: 'string', title: 'Colour', enum: ['r', 'g'], enumNames: ['Red', 'g'] },
  ],
  ['another union', { oneOf: [{ type: 'string' }] }, { oneOf: [{ type: 'string' }] }],
  ['several of a choice', { type: 'array', items: { type: 'string', enum: ['r'] } }, undefined],
])('a field that is %s', (_, field, older) => {
  const form = (property: JsonObject): JsonObject => ({
    message: 'm',
    requestedSchema: { type: 'object', properties: { __proto__x: { type: 'boolean' }, field: property } },
  })
  const first = older === undefined ? undefined : form(older)
  expect(spelledFor(ELICIT, form(field))).toEqual([undefined, undefined, first, form(field), form(field)])
})

test('context is asked for only where it is answerable', () => {
  const bare = { messages: [], maxTokens: 1 }
  for (const includeContext of ['thisServer', 'allServers', 'new']) {
    const params = { ...bare, includeContext }
    expect(spelledFor(SAMPLE, params)).toEqual(IDS.map(() => params))
    expect(spelledFor(SAMPLE, params, { sampling: { tools: {} } })).toEqual(IDS.map(() => bare))
  }
  const none = { ...bare, includeContext: 'none' }
  expect(spelledFor(SAMPLE, none, { sampling: {} })).toEqual(IDS.map(() => none))
})

test('sampling with tools', () => {
  const { params } = TOOL_QUESTION
  expect(spelledFor(SAMPLE, params)).toEqual([undefined, undefined, undefined, params, params])
  const tool = { name: 't', inputSchema: { type: 'object' } }
  const listing = (outputSchema: JsonObject): JsonObject => ({
    ...params,
    tools: [{ ...tool, outputSchema }],
  })
  const array = listing({ type: 'array' })
  expect(spelledFor(SAMPLE, array).slice(3)).toEqual([{ ...params, tools: [tool] }, array])
  const came = (rest: JsonObject): JsonObject => ({
    maxTokens: 1,
    messages: [{ role: 'user', content: [{ type: 'tool_result', toolUseId: '1', ...rest }] }],
  })
  const value = came({ content: [], structuredContent: [1] })
  expect(spelledFor(SAMPLE, value)).toEqual([
    undefined,
    undefined,
    undefined,
    came({ content: [{ type: 'text', text: '[1]' }] }),
    value,
  ])
})

test('several blocks of a message are several messages where a message has one', () => {
  const text = { type: 'text', text: 'a' }
  const audio = { type: 'audio', data: 'AAEC', mimeType: 'audio/wav' }
  const said = { type: 'text', text: '[audio: audio/wav, 3 bytes]' }
  const asked = (...messages: JsonObject[]): JsonObject => ({ messages, maxTokens: 1 })
  const several = asked({ role: 'user', content: [text, audio], _meta: { a: 1 } })
  const single = (second: JsonObject): JsonObject =>
    asked({ role: 'user', content: text }, { role: 'user', content: second })
  expect(spelledFor(SAMPLE, several)).toEqual([single(said), single(audio), single(audio), several, several])
  const plain = asked({ role: 'user', content: text })
  const question = frozen({ method: SAMPLE, params: plain })
  for (const to of IDS) {
    expect(lowerQuestion(question, { to, answerable: ALL, newId: () => 'new' })).toBe(question)
  }
})

test('roots, and what is no question', () => {
  const roots = frozen({ method: 'roots/list', params: { _meta: { a: 1 } } })
  const bare = frozen({ method: 'roots/list', params: undefined })
  for (const to of IDS) {
    const target = { to, answerable: ALL, newId: () => 'new' }
    expect(lowerQuestion(roots, target)).toBe(roots)
    expect(lowerQuestion(bare, target)).toBe(bare)
    expect(lowerQuestion({ method: 'tools/call', params: {} }, target)).toBeUndefined()
  }
})

test('what an older server asks is asked in its own words, without the task that nobody declared', () => {
  const url = frozen({ ...URL_QUESTION, params: { ...URL_QUESTION.params, elicitationId: 'e1' } })
  for (const from of IDS) expect(raiseQuestion(url, from)).toBe(url)
  const tasked = frozen({ method: SAMPLE, params: { messages: [], maxTokens: 1, task: { ttl: 1 } } })
  expect(raiseQuestion(tasked, '2025-11-25')).toEqual({
    method: SAMPLE,
    params: { messages: [], maxTokens: 1 },
  })
  expect(raiseQuestion(tasked, '2025-06-18')).toBe(tasked)
})

const said = { role: 'assistant', model: 'm', stopReason: 'endTurn', _meta: { a: 1 } }
const text = { type: 'text', text: 'a' }
const use = { type: 'tool_use', id: '1', name: 't', input: {} }
test.each<[string, string, JsonObject, readonly unknown[]]>([
  ['one block', SAMPLE, { ...said, content: text }, IDS.map(() => ({ ...said, content: text }))],
  [
    'one block in a list',
    SAMPLE,
    { ...said, content: [text] },
    [
      ...IDS.slice(0, 3).map(() => ({ ...said, content: text })),
      ...IDS.slice(3).map(() => ({ ...said, content: [text] })),
    ],
  ],
  [
    'two blocks',
    SAMPLE,
    { ...said, content: [text, text] },
    [undefined, undefined, undefined, ...IDS.slice(3).map(() => ({ ...said, content: [text, text] }))],
  ],
  [
    'no block',
    SAMPLE,
    { ...said, content: [] },
    [undefined, undefined, undefined, ...IDS.slice(3).map(() => ({ ...said, content: [] }))],
  ],
  [
    'the use of a tool',
    SAMPLE,
    { ...said, content: use },
    [undefined, undefined, undefined, ...IDS.slice(3).map(() => ({ ...said, content: use }))],
  ],
  [
    'a form',
    ELICIT,
    { action: 'accept', content: { a: 1 } },
    [undefined, undefined, ...IDS.slice(2).map(() => ({ action: 'accept', content: { a: 1 } }))],
  ],
  [
    'a form with a list',
    ELICIT,
    { action: 'accept', content: { a: ['r'] } },
    [
      undefined,
      undefined,
      undefined,
      ...IDS.slice(3).map(() => ({ action: 'accept', content: { a: ['r'] } })),
    ],
  ],
  [
    'roots',
    'roots/list',
    { roots: [{ uri: 'file:///a', name: 'a', _meta: { a: 1 } }] },
    [
      ...IDS.slice(0, 2).map(() => ({ roots: [{ uri: 'file:///a', name: 'a' }] })),
      ...IDS.slice(2).map(() => ({ roots: [{ uri: 'file:///a', name: 'a', _meta: { a: 1 } }] })),
    ],
  ],
  ['what answers no question', 'tools/call', { content: [] }, IDS.map(() => undefined)],
])('an answer that is %s', (_, ...[method, result, expected]) => {
  frozen(result)
  expect(IDS.map((to) => lowerReply(method, result, to))).toEqual(expected)
  for (const from of IDS) expect(raiseReply(method, result, from)).toBe(result)
})

test('a client that declines with null says nothing', () => {
  const declined = frozen({ action: 'decline', content: null })
  const raise = (from: RevisionId): JsonObject => raiseReply(ELICIT, declined, from)
  expect(IDS.map(raise)).toEqual([...IDS.slice(0, 4).map(() => ({ action: 'decline' })), declined])
})

test('what a result that requires input asks', () => {
  const roots = { method: 'roots/list' }
  const result = JSON.parse(
    `{"resultType":"input_required","requestState":"s","inputRequests":{"b":${JSON.stringify(URL_QUESTION)},` +
      `"__proto__":${JSON.stringify(roots)},"odd":7}}`,
  ) as JsonObject
  const read = readInputRequired(frozen(result))
  expect([...(read?.questions ?? [])]).toEqual([
    ['b', URL_QUESTION],
    ['__proto__', { method: 'roots/list', params: undefined }],
    ['odd', { method: '', params: undefined }],
  ])
  expect(read?.state).toBe('s')
  expect(readInputRequired({ resultType: 'input_required' })).toEqual({
    questions: new Map(),
    state: undefined,
  })
  expect(readInputRequired({ resultType: 'complete', inputRequests: {} })).toBeUndefined()
  expect(readInputRequired({ inputRequests: {}, requestState: 's' })).toBeUndefined()
})
