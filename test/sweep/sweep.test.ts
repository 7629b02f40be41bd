// The sweep itself: what it finds, and what it lets pass. Needs the official schemas.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RevisionId } from '../../src/spec/index.ts'
import { startDaemon } from '../peers/processes.ts'
import { fixture } from '../peers/workspace.ts'
import { WITHOUT_SCHEMAS } from '../spec/published.ts'
import { createReader } from './frames.ts'
import type { Frame, Recorded } from './frames.ts'
import { Judge } from './judge.ts'
import { judged } from './sweep.ts'

if (WITHOUT_SCHEMAS !== undefined) {
  test('published schemas', (context) => context.skip(WITHOUT_SCHEMAS))
}

const check = test.skipIf(WITHOUT_SCHEMAS !== undefined)
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } }
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const tool = { name: 't', inputSchema: { type: 'object' } }

function frame(message: object, more: Partial<Frame> = {}): Frame {
  const revisions: RevisionId[] = ['2025-06-18']
  return { test: 'a.test.ts', message, sentBy: 'server', ours: true, revisions, batch: false, ...more }
}

function answer(result: object, request: object = LIST): Partial<Frame> & { message: object } {
  return { message: { jsonrpc: '2.0', id: 1, result }, request: { ...request } }
}

function faultsIn(...frames: Frame[]): string[] {
  const judge = new Judge()
  for (const one of frames) judge.take(one)
  return judge.offences().map(({ fault }) => fault)
}

check.each([
  ['a member that mcpx made up', { tools: [], 'x-mcpx': 1 }, '/ must NOT have additional properties: x-mcpx'],
  ['a member of a newer revision', { tools: [], ttlMs: 1 }, '/ must NOT have additional properties: ttlMs'],
  [
    'a member of a newer revision, deep inside',
    { tools: [{ ...tool, icons: [] }] },
    '/tools/0 must NOT have additional properties: icons',
  ],
  ['a member that is missing', {}, "/ must have required property 'tools'"],
])('%s is found', (_, result, fault) => {
  const { message, request } = answer(result)
  expect(faultsIn(frame(message, { request }))).toEqual([fault])
})

check('what is free is let alone', () => {
  const inputSchema = { type: 'object', properties: { a: { type: 'string', 'x-a': 1 } }, anyOf: [{}] }
  const { message, request } = answer({
    tools: [{ ...tool, inputSchema, _meta: { 'a.test/b': 1 } }],
    _meta: { c: {} },
  })
  expect(faultsIn(frame(message, { request }))).toEqual([])
})

check('what a peer got wrong by its own revision may pass, what was right there may not', () => {
  const { message, request } = answer({
    tools: [],
    resultType: 'complete',
    ttlMs: 1,
    cacheScope: 'public',
    'x-own': 1,
  })
  const theirs = frame(message, { request, ours: false, revisions: ['2026-07-28'] })
  const { message: passed } = answer({ tools: [], ttlMs: 1, 'x-own': 1 })
  expect(faultsIn(theirs, frame(passed, { request }))).toEqual([
    '/ must NOT have additional properties: ttlMs',
  ])
  const elsewhere = { ...theirs, test: 'b.test.ts' }
  expect(faultsIn(elsewhere, frame(passed, { request }))[0]).toContain('x-own')
})

check('a frame of another mcpx excuses nothing', () => {
  const { message, request } = answer({ tools: [], 'x-mcpx': 1 })
  const sent = frame(message, { request })
  expect(faultsIn(sent, { ...sent, ours: false })).toHaveLength(1)
})

check.each<[string, object, Partial<Frame>]>([
  ['a method of another revision', { jsonrpc: '2.0', id: 1, method: 'tasks/list' }, { sentBy: 'client' }],
  ['a request of the other side', CALL, {}],
  ['an answer to nothing', { jsonrpc: '2.0', id: 1, result: {} }, {}],
  ['a batch where there are none', CALL, { sentBy: 'client', batch: true }],
  ['an error without a message', { jsonrpc: '2.0', id: 1, error: { code: 1 } }, {}],
  ['a modern request without its envelope', CALL, { sentBy: 'client', revisions: ['2026-07-28'] }],
])('%s is found', (_, message, more) => {
  expect(faultsIn(frame(message, more))).toHaveLength(1)
})

test('messages are cut from any pieces, and know their revision', () => {
  const frames: Frame[] = []
  const read = createReader((one) => frames.push(one))
  const line = { test: 't', id: '1', kind: 'pipe', role: 'server' } as const satisfies Partial<Recorded>
  const initialize = {
    protocolVersion: '2025-03-26',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  }
  const said = `${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize })}\n`
  for (const text of said) read({ ...line, dir: 'in', text })
  const agreed = { jsonrpc: '2.0', id: 0, result: { ...initialize, protocolVersion: '2025-06-18' } }
  read({ ...line, dir: 'out', text: `${JSON.stringify(agreed)}\n` })
  read({ ...line, dir: 'in', text: `${JSON.stringify(LIST)}\n` })
  read({ ...line, dir: 'out', text: `${JSON.stringify(answer({}).message)}\n` })
  expect(frames.map(({ ours, sentBy, revisions }) => [ours, sentBy, ...revisions])).toEqual([
    [false, 'client', '2025-03-26'],
    [true, 'server', '2025-06-18'],
    [false, 'client', '2025-06-18'],
    [true, 'server', '2025-06-18'],
  ])
  expect(frames.at(-1)?.request).toEqual(LIST)
})

check('a daemon and an mcpx serve that a test starts are recorded, on both sides', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcpx-sweep-'))
  const mark = 'a test of the sweep'
  const env = { MCPX_SWEEP_DIR: folder, MCPX_SWEEP_TEST: mark }
  {
    await using daemon = await startDaemon({ mcpServers: { one: fixture('legacy-stdio') } }, env)
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    await (await fetch(daemon.url, { method: 'POST', headers, body: JSON.stringify(LIST) })).text()
    const { command, args, env: more } = daemon.serve('--standalone')
    execFileSync(command, args, { env: { ...process.env, ...more }, input: `${JSON.stringify(LIST)}\n` })
  }
  const frames: Frame[] = []
  const judge = await judged(folder, (one) => frames.push(one))
  await rm(folder, { recursive: true })
  const ours = frames.filter((one) => one.ours && one.test === mark)
  const told = ours.map(({ sentBy, message }) => [sentBy, (message as { method?: string }).method])
  expect(told.filter(([sentBy, method]) => sentBy === 'server' && method === undefined)).toHaveLength(2)
  expect(told).toContainEqual(['client', 'initialize'])
  expect(told).toContainEqual(['client', 'server/discover'])
  expect(judge.offences()).toEqual([])
})
