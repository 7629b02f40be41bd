import { expect, test } from 'vitest'
import {
  canAsk,
  ERRORS,
  eraOf,
  eraOfDate,
  FEATURES,
  fieldsAbsent,
  hasFeature,
  HEADERS,
  isRevisionId,
  LOG_LEVELS,
  META,
  METHOD,
  methodIn,
  newest,
  QUESTIONS,
  revision,
  REVISIONS,
  revisionsOf,
} from '../../src/spec/index.ts'
import type { FeatureFacts, RevisionId } from '../../src/spec/index.ts'

test('the revisions, oldest first', () => {
  expect(REVISIONS.map(({ id }) => id)).toEqual([
    '2024-11-05',
    '2025-03-26',
    '2025-06-18',
    '2025-11-25',
    '2026-07-28',
  ])
  expect(revisionsOf('legacy')).toEqual(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
  expect(revisionsOf('modern')).toEqual(['2026-07-28'])
  expect([newest(), newest('modern'), newest('legacy')]).toEqual(['2026-07-28', '2026-07-28', '2025-11-25'])
})

test('what HTTP looks like in each revision', () => {
  const rows = REVISIONS.map(({ id, http }) => [id, ...Object.values(http)])
  expect(Object.keys(REVISIONS[0].http)).toEqual([
    'transport',
    'sessions',
    'versionHeader',
    'methodHeaders',
    'batches',
    'getStream',
    'resumable',
    'cancelBy',
  ])
  expect(rows).toEqual([
    ['2024-11-05', 'http+sse', false, 'absent', false, false, true, 'never', 'notification'],
    ['2025-03-26', 'streamable-http', true, 'absent', false, true, true, 'by-event-id', 'notification'],
    [
      '2025-06-18',
      'streamable-http',
      true,
      'after-initialize',
      false,
      false,
      true,
      'by-event-id',
      'notification',
    ],
    ['2025-11-25', 'streamable-http', true, 'after-initialize', false, false, true, 'primed', 'notification'],
    ['2026-07-28', 'streamable-http', false, 'required', true, false, false, 'never', 'closing-the-stream'],
  ])
})

test('how each revision opens and asks', () => {
  for (const { id, era, opening, asks } of REVISIONS) {
    const expected =
      id === '2026-07-28'
        ? ['modern', 'server/discover', 'by-result']
        : ['legacy', 'initialize', 'by-request']
    expect([era, opening, asks]).toEqual(expected)
    expect(eraOf(id)).toBe(expected[0])
  }
})

test.each([
  ['2026-07-28', 'modern'],
  ['2026-07-29', 'modern'],
  ['2031-01-01', 'modern'],
  ['2026-07-27', 'legacy'],
  ['2025-11-25', 'legacy'],
  ['1999-12-31', 'legacy'],
  ['2026-13-01', undefined],
  ['2026-00-10', undefined],
  ['2026-01-32', undefined],
  ['2026-7-28', undefined],
  ['2026-07-28 ', undefined],
  ['DRAFT-2026-v1', undefined],
  ['latest', undefined],
  ['', undefined],
] as const)('the era of %j is %s', (text, era) => {
  expect(eraOfDate(text)).toBe(era)
})

test('only known ids are revisions', () => {
  expect(['2025-06-18', '2025-06-19', '', 'constructor', '__proto__'].map(isRevisionId)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
  expect(() => revision('2027-01-01' as RevisionId)).toThrow('2027-01-01')
})

test('a method is looked up in its revision', () => {
  expect(methodIn('2026-07-28', 'tools/call')).toEqual({
    kind: 'request',
    sentBy: 'client',
    capability: 'tools',
    nameFrom: 'name',
    carries: 'content',
    mayAsk: true,
  })
  expect(methodIn('2026-07-28', 'resources/read')).toMatchObject({
    nameFrom: 'uri',
    cacheable: true,
    mayAsk: true,
  })
  expect(methodIn('2025-11-25', 'tools/call')).not.toHaveProperty('nameFrom')
  expect(methodIn('2026-07-28', 'initialize')).toBeUndefined()
  expect(methodIn('2026-07-28', 'elicitation/create')).toBeUndefined()
  expect(methodIn('2025-03-26', 'elicitation/create')).toBeUndefined()
  expect(methodIn('2025-06-18', 'elicitation/create')).toMatchObject({
    sentBy: 'server',
    capability: 'elicitation',
  })
  expect(methodIn('2025-11-25', 'constructor')).toBeUndefined()
})

test('capabilities that methods need, where revisions differ or name a part', () => {
  expect(methodIn('2024-11-05', 'completion/complete')).not.toHaveProperty('capability')
  expect(methodIn('2025-03-26', 'completion/complete')).toMatchObject({ capability: 'completions' })
  expect(methodIn('2025-11-25', 'tasks/list')).toMatchObject({ capability: 'tasks.list', lists: 'tasks' })
  expect(methodIn('2025-06-18', 'resources/subscribe')).toMatchObject({ capability: 'resources.subscribe' })
  expect(methodIn('2026-07-28', 'notifications/message')).toMatchObject({
    capability: 'logging',
    sentBy: 'server',
  })
})

test('resource not found has another code since 2026-07-28', () => {
  expect(REVISIONS.map(({ errors }) => errors.resourceNotFound)).toEqual([
    -32002, -32002, -32002, -32002, -32602,
  ])
})

test('the names and numbers on the wire', () => {
  expect({ META, HEADERS, ERRORS, LOG_LEVELS, QUESTIONS }).toEqual({
    META: {
      progressToken: 'progressToken',
      protocolVersion: 'io.modelcontextprotocol/protocolVersion',
      clientInfo: 'io.modelcontextprotocol/clientInfo',
      clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
      logLevel: 'io.modelcontextprotocol/logLevel',
      subscriptionId: 'io.modelcontextprotocol/subscriptionId',
      serverInfo: 'io.modelcontextprotocol/serverInfo',
      relatedTask: 'io.modelcontextprotocol/related-task',
    },
    HEADERS: {
      protocolVersion: 'MCP-Protocol-Version',
      method: 'Mcp-Method',
      name: 'Mcp-Name',
      paramPrefix: 'Mcp-Param-',
      sessionId: 'Mcp-Session-Id',
      lastEventId: 'Last-Event-ID',
    },
    ERRORS: {
      parse: -32700,
      invalidRequest: -32600,
      methodNotFound: -32601,
      invalidParams: -32602,
      internal: -32603,
      resourceNotFound: -32002,
      urlElicitationRequired: -32042,
      headerMismatch: -32020,
      missingClientCapability: -32021,
      unsupportedProtocolVersion: -32022,
    },
    LOG_LEVELS: ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'],
    QUESTIONS: {
      'sampling/createMessage': { capability: 'sampling', since: '2024-11-05' },
      'roots/list': { capability: 'roots', since: '2024-11-05' },
      'elicitation/create': { capability: 'elicitation', since: '2025-06-18' },
    },
  })
})

test('every method that the code names is in some revision', () => {
  const unknown = Object.values(METHOD).filter((method) => !REVISIONS.some(({ id }) => methodIn(id, method)))
  expect(unknown).toEqual([])
})

test('each feature in the revisions that have it', () => {
  const rows = Object.keys(FEATURES).map((name) => {
    const having = REVISIONS.filter(({ id }) => hasFeature(id, name as keyof typeof FEATURES))
    return [name, having.at(0)?.id, having.at(-1)?.id, having.length]
  })
  const from = { '2024-11-05': 5, '2025-03-26': 4, '2025-06-18': 3, '2025-11-25': 2, '2026-07-28': 1 }
  for (const [name, row] of Object.entries(FEATURES) as [string, FeatureFacts][]) {
    const only = row.until === '2025-11-25'
    const length = from[row.since] - (only ? 1 : 0)
    expect(rows).toContainEqual([name, row.since, only ? '2025-11-25' : '2026-07-28', length])
  }
  expect(Object.entries(FEATURES).flatMap(([name, row]) => ('until' in row ? [name] : []))).toEqual([
    'replyMeta',
    'execution',
    'coreTasks',
    'elicitationId',
    'taskQuestion',
  ])
})

test('what a client can be asked, by requests or in results', () => {
  const since = (method: string): string[] => REVISIONS.map(({ id }) => id).filter((id) => canAsk(id, method))
  expect(since('roots/list')).toHaveLength(5)
  expect(since('sampling/createMessage')).toHaveLength(5)
  expect(since('elicitation/create')).toEqual(['2025-06-18', '2025-11-25', '2026-07-28'])
  expect(since('tools/call')).toEqual([])
})

test('the members that each revision lacks', () => {
  expect(REVISIONS.map(({ id }) => fieldsAbsent(id, 'tool'))).toEqual([
    ['annotations', 'outputSchema', '_meta', 'title', 'icons', 'execution'],
    ['outputSchema', '_meta', 'title', 'icons', 'execution'],
    ['icons', 'execution'],
    [],
    ['execution'],
  ])
  expect(REVISIONS.map(({ id }) => fieldsAbsent(id, 'serverCapabilities'))).toEqual([
    ['completions', 'tasks', 'extensions'],
    ['tasks', 'extensions'],
    ['tasks', 'extensions'],
    ['extensions'],
    ['tasks'],
  ])
  expect(fieldsAbsent('2025-11-25', 'resultMeta')).toEqual(['io.modelcontextprotocol/serverInfo'])
})
