// HTTP+SSE as hosted by the daemon, met by the official client of that time.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { expect, test } from 'vitest'
import { startDaemon } from '../peers/processes.ts'

const everything = {
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
  cwd: process.cwd(),
}

test('a client of 2024-11-05 lists and calls over /sse', async () => {
  await using daemon = await startDaemon({ mcpServers: { everything }, legacy: { sse: true } })
  const client = new Client({ name: 'old', version: '1' })
  await client.connect(new SSEClientTransport(new URL('/sse', daemon.url)))
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('echo')
  const result = await client.callTool({ name: 'echo', arguments: { message: 'hello\nthere' } })
  expect(result.content).toEqual([{ type: 'text', text: 'Echo: hello\nthere' }])
  await client.close()
})

test('it is not there unless it is asked for, and knows no strangers', async () => {
  await using off = await startDaemon({ mcpServers: { everything } })
  expect((await fetch(new URL('/sse', off.url))).status).toBe(404)
  await using on = await startDaemon({ mcpServers: { everything }, legacy: { sse: true } })
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  expect((await fetch(new URL('/messages?sessionId=nobody', on.url), post)).status).toBe(404)
  const evil = await fetch(new URL('/sse', on.url), { headers: { origin: 'https://evil.example' } })
  expect(evil.status).toBe(403)
  await evil.body?.cancel()
})
