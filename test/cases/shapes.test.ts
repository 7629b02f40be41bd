// What a server says of a tool and answers with it: all of it reaches a client whose revision has it, and an older one
// misses nothing but what its revision lacks.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCaller, overHttp, overPipe } from '../bridge/caller.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { REVISIONS } from '../peers/raw.ts'
import type { Revision } from '../peers/raw.ts'
import { openHost, toolsOf } from './host.ts'
import type { Host } from './host.ts'

const META = { 'com.example/rank': 3, ui: { resourceUri: 'ui://chart' } }
const ICONS = [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] }]
const SCHEMA = { type: 'object', properties: { sum: { type: 'number' } }, 'x-note': 'kept' }

/** Members of a tool, and the revisions since which clients have them; undefined where no revision knows them. */
const TOOL: Record<
  string,
  { readonly value: unknown; readonly since?: Revision; readonly until?: Revision }
> = {
  name: { value: 'add' },
  description: { value: 'Adds up' },
  inputSchema: { value: { ...SCHEMA, required: ['sum'] } },
  annotations: { value: { readOnlyHint: true, title: 'Add', 'x-hint': 1 }, since: '2025-03-26' },
  title: { value: 'Add numbers', since: '2025-06-18' },
  outputSchema: { value: SCHEMA, since: '2025-06-18' },
  _meta: { value: META, since: '2025-06-18' },
  icons: { value: ICONS, since: '2025-11-25' },
  'x-vendor': { value: { any: ['thing', 1, null] } },
}

const DATA = { sum: 3, 'x-more': [1] }
const RESULT = {
  content: [
    { type: 'text', text: 'three', annotations: { priority: 1 }, 'x-block': true },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'file:///a', name: 'a', mimeType: 'text/plain' },
  ],
  structuredContent: DATA,
  isError: false,
  _meta: { 'com.example/trace': 'abc', ui: { a: 1 } },
  'x-vendor': { deep: { deeper: [0] } },
}

const has = (
  revision: Revision,
  { since, until }: { readonly since?: Revision; readonly until?: Revision },
) =>
  (since === undefined || REVISIONS.indexOf(revision) >= REVISIONS.indexOf(since)) &&
  (until === undefined || REVISIONS.indexOf(revision) <= REVISIONS.indexOf(until))

const ERAS = ['legacy', 'modern'] as const
let hosts: Host[]
let daemon: Daemon
beforeAll(async () => {
  const whole: JsonObject = Object.fromEntries(Object.entries(TOOL).map(([name, { value }]) => [name, value]))
  const answer = toolsOf(
    () => [whole],
    ({ method }) => (method === 'tools/call' ? RESULT : undefined),
  )
  hosts = await Promise.all(ERAS.map((era) => openHost({ era, answer })))
  const servers = ERAS.map((era, at) => [era, { url: hosts[at]?.url }])
  daemon = await startDaemon({ mcpServers: Object.fromEntries(servers) as JsonObject })
})
afterAll(async () => {
  await daemon.stop()
  for (const host of hosts) await host.close()
})

const WAYS = REVISIONS.flatMap((revision) =>
  ERAS.flatMap((server) => (['http', 'stdio'] as const).map((by) => ({ revision, server, by }))),
)

test.each(WAYS)('case C33: $revision by $by to a $server server', async ({ revision, server, by }) => {
  const connect =
    by === 'http' ? overHttp(`${daemon.url}/${server}`) : overPipe(daemon.serve('--server', server))
  await using caller = await openCaller(revision, connect)
  const listed = await caller.ask('list', 'tools/list')
  const { tools } = listed['result'] as { tools: JsonObject[] }
  const expected = Object.entries(TOOL).filter(([, fact]) => has(revision, fact))
  expect(tools).toEqual([Object.fromEntries(expected.map(([name, { value }]) => [name, value]))])

  const called = await caller.ask('call', 'tools/call', { name: 'add', arguments: { sum: 3 } })
  const { content, structuredContent, resultType, _meta, ...rest } = called['result'] as JsonObject
  const { 'io.modelcontextprotocol/serverInfo': by_, ...meta } = _meta as JsonObject
  expect({ ...rest, _meta: meta }).toEqual({
    isError: false,
    _meta: RESULT._meta,
    'x-vendor': RESULT['x-vendor'],
  })
  expect([resultType, by_ !== undefined]).toEqual(
    revision === '2026-07-28' ? ['complete', true] : [undefined, false],
  )
  const [words, audio] = RESULT.content
  const asText = { type: 'text', text: JSON.stringify(DATA) }
  const embedded = {
    type: 'resource',
    resource: { uri: 'file:///a', mimeType: 'text/plain', text: expect.any(String) },
  }
  const blocks = {
    '2024-11-05': [words, { type: 'text', text: expect.stringContaining('audio/wav') }, embedded, asText],
    '2025-03-26': [words, audio, embedded, asText],
  }
  expect(content).toEqual((blocks as Record<string, unknown>)[revision] ?? RESULT.content)
  expect(structuredContent).toEqual(has(revision, { since: '2025-06-18' }) ? DATA : undefined)
})
