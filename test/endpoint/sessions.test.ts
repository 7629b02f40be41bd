// Legacy sessions from the outside: they outlive the process, their streams outlive a connection, and their ids cannot be made up.
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, test } from 'vitest'
import { openGate } from '../peers/gate.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'
import { ROOT } from '../peers/processes.ts'

const fixture = { command: process.execPath, args: ['test/fixtures/servers/legacy-stdio.mjs'], cwd: ROOT }
const config = { mcpServers: { fixture } }

async function startOn(workspace: Workspace, port = '0'): Promise<{ daemon: Running; url: string }> {
  const daemon = await workspace.start('daemon', '--config', workspace.config, '--port', port, '--json')
  const line = /\{.*\}\n/.exec(await daemon.printed(/\}\n/))?.[0] ?? '{}'
  return { daemon, url: (JSON.parse(line) as { mcp: string }).mcp }
}

interface Sent {
  readonly method?: 'POST' | 'GET' | 'DELETE'
  readonly session?: string | undefined
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

function send(url: string, { method = 'POST', session, headers, body }: Sent): Promise<Response> {
  return fetch(url, {
    method,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify({ jsonrpc: '2.0', ...(body as object) }) }),
  })
}

async function openSession(url: string, protocolVersion = '2025-11-25'): Promise<string> {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  const response = await send(url, { body: { id: 1, method: 'initialize', params } })
  await response.text()
  return response.headers.get('mcp-session-id') ?? ''
}

/** Reads a stream until the text holds the pattern. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, pattern: RegExp): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  while (!pattern.test(text)) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`the stream ended: ${text}`)
    text += decoder.decode(value, { stream: true })
  }
  return text
}

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (response.body === null) throw new Error('the response has no body')
  return response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
}

test('a client of SDK v1 goes on after a restart without noticing', async () => {
  await using workspace = await openWorkspace(config)
  const first = await startOn(workspace)
  const client = new Client({ name: 'old', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(first.url)))
  const call = () => client.callTool({ name: 'echo', arguments: { message: 'hi' } })
  expect((await call()).content).toEqual([{ type: 'text', text: 'hi' }])
  await first.daemon.end('SIGTERM')
  const second = await startOn(workspace, new URL(first.url).port)
  expect((await call()).content).toEqual([{ type: 'text', text: 'hi' }])
  await client.close()
  await second.daemon.end('SIGTERM')
})

test('a client of SDK v2 in its legacy mode goes on after a restart without noticing', async () => {
  await using workspace = await openWorkspace(config)
  const first = await startOn(workspace)
  const client = new ClientV2({ name: 'new', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  const transport = new HttpV2(new URL(first.url))
  await client.connect(transport)
  expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
  const { sessionId } = transport
  expect(sessionId).toBeDefined()
  const call = () => client.callTool({ name: 'echo', arguments: { message: 'hi' } })
  expect((await call()).content).toEqual([{ type: 'text', text: 'hi' }])
  await first.daemon.end('SIGTERM')
  const second = await startOn(workspace, new URL(first.url).port)
  expect((await call()).content).toEqual([{ type: 'text', text: 'hi' }])
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo')
  // A client that was closed in between has no transport any more.
  expect(client.transport).toBe(transport)
  expect(transport.sessionId).toBe(sessionId)
  await client.close()
  await second.daemon.end('SIGTERM')
})

test('an answer whose connection broke is fetched with Last-Event-ID', async () => {
  await using gate = await openGate()
  await using workspace = await openWorkspace(config)
  const { daemon, url } = await startOn(workspace)
  const session = await openSession(url)
  const call = {
    id: 7,
    method: 'tools/call',
    params: { name: 'hold', arguments: { gate: gate.url('held') } },
  }
  const broken = readerOf(await send(url, { session, body: call }))
  const primed = await readUntil(broken, /id: .*\n[\s\S]*\n\n/)
  expect(primed).toMatch(/retry: \d+/)
  const lastEventId = /id: (.*)\n/.exec(primed)?.[1] ?? ''
  await gate.reached('held')
  await broken.cancel()
  gate.open('held', 'late')
  const resumed = await send(url, { method: 'GET', session, headers: { 'last-event-id': lastEventId } })
  expect(resumed.status).toBe(200)
  const text = await resumed.text()
  expect(text).toContain('"id":7')
  expect(text).toContain('late')
  // What was fetched once can be fetched again, for as long as it is kept.
  const again = await send(url, { method: 'GET', session, headers: { 'last-event-id': lastEventId } })
  expect(await again.text()).toBe(text)
  await daemon.end('SIGTERM')
})

test('a session has one stream of its own; a second GET takes its place', async () => {
  await using workspace = await openWorkspace(config)
  const { daemon, url } = await startOn(workspace)
  const session = await openSession(url)
  const first = await send(url, { method: 'GET', session })
  expect(first.headers.get('content-type')).toBe('text/event-stream')
  const second = await send(url, { method: 'GET', session })
  expect(await first.text()).toBe('')
  expect(second.status).toBe(200)
  await second.body?.cancel()
  await daemon.end('SIGTERM')
})

test('what is unknown, changed or ended is not found', async () => {
  await using workspace = await openWorkspace(config)
  const { daemon, url } = await startOn(workspace)
  const session = await openSession(url)
  const list = { body: { id: 2, method: 'tools/list' } }
  const flipped = `${session.slice(0, -2)}${session.endsWith('AA') ? 'BB' : 'AA'}`
  for (const id of ['nobody', flipped]) expect((await send(url, { ...list, session: id })).status).toBe(404)
  expect((await send(url, { ...list, session })).status).toBe(200)
  const stale = await send(url, { method: 'GET', session, headers: { 'last-event-id': 'p9-1' } })
  expect(stale.status).toBe(404)
  expect((await send(url, { method: 'DELETE', session })).status).toBe(200)
  expect((await send(url, { ...list, session })).status).toBe(404)
  expect((await send(url, { method: 'DELETE', session })).status).toBe(404)
  expect((await send(url, { method: 'GET' })).status).toBe(405)
  await daemon.end('SIGTERM')
})

test.each(['2025-03-26', '2025-06-18'])('%s has no priming events', async (revision) => {
  await using workspace = await openWorkspace(config)
  const { daemon, url } = await startOn(workspace)
  const session = await openSession(url, revision)
  const response = await send(url, { session, body: { id: 2, method: 'tools/list' } })
  expect(response.headers.get('content-type')).toBe('application/json')
  await response.text()
  await daemon.end('SIGTERM')
})
