// Servers over HTTP as mcpx meets them: sessions of its own, refusals in any status, names that no header can carry.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import { post } from '../peers/exchange.ts'
import { startDaemon, startProgram } from '../peers/processes.ts'
import type { Child, Daemon } from '../peers/processes.ts'
import { fixturePath } from '../peers/workspace.ts'

const NAMES = ['stateful-http', 'refuses-with-200', 'modern-http'] as const

let programs: (Child & { readonly line: string })[]
let daemon: Daemon
beforeAll(async () => {
  programs = await Promise.all(NAMES.map((name) => startProgram([fixturePath(name)])))
  const servers = programs.map(({ line }, index) => [String(NAMES[index]).split('-')[0], { url: line }])
  daemon = await startDaemon({ mcpServers: Object.fromEntries(servers) })
})
afterAll(async () => {
  await daemon.stop()
  for (const program of programs) await program.stop('SIGTERM')
})

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const _meta = { [VERSION]: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }

function callTool(name: string, header: string | undefined, path = '') {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { message: 'hi' }, _meta },
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': header }
  return post(`${daemon.url}${path}`, body, headers)
}
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`

test('case C10: a modern client lists and calls without any handshake, on a server that wants a session', async () => {
  const answer = await callTool('stateful__echo', 'stateful__echo')
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.body)).toMatchObject({ id: 1, result: { content: [{ text: 'hi' }] } })
  await using client = await openRaw({ url: `${daemon.url}/stateful` }, '2026-07-28')
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo', 'fail', 'hold'])
})

test('case C06: a server that refuses discover with -32601 and HTTP 200 is legacy', async () => {
  await using client = await openRaw({ url: `${daemon.url}/refuses` }, '2025-11-25')
  expect(await client.callTool('echo', { message: 'hi' })).toMatchObject({ content: [{ text: 'hi' }] })
  const { servers } = (await (await fetch(`${daemon.v1}/servers`)).json()) as { servers: object[] }
  expect(servers).toMatchObject([{ era: 'legacy' }, { era: 'legacy', eraSource: 'probe' }, { era: 'modern' }])
})

const WEATHER = '天気 🌦'

test('case C34: a name that no header can carry goes encoded, up and down', async () => {
  const answer = await callTool(WEATHER, base64(WEATHER), '/modern')
  expect(answer.status).toBe(200)
  // The server answers with the header that it got.
  expect(JSON.parse(answer.body).result.content[0].text).toBe(base64(WEATHER))
})

const wrong = [
  { what: 'the same raw', header: Buffer.from(WEATHER).toString('latin1') },
  { what: 'base64 that is cut', header: base64(WEATHER).replace(/.\?=$/, '?=') },
  { what: 'base64 of nothing', header: '=?base64?=' },
  { what: 'base64 of bytes that are no UTF-8', header: '=?base64?/w==?=' },
  { what: 'nothing', header: undefined },
]

test.each(wrong)('case C34: $what in Mcp-Name is refused', async ({ header }) => {
  const answer = await callTool(WEATHER, header, '/modern')
  expect(answer.status).toBe(400)
  expect(JSON.parse(answer.body)).toMatchObject({ id: 1, error: { code: -32020 } })
})
