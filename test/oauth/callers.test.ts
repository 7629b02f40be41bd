// How callers are told of a login: each in the way that its revision and its capabilities have.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import type { JsonObject } from '../peers/peer.ts'
import { addressIn, callEcho, startProtected, visit } from './setup.ts'
import type { Protected } from './setup.ts'

const NAMES = ['modern', 'early', 'declined', 'legacy', 'plain', 'keyed'] as const
const KEYS = { alice: 'mcpx_alice', bob: 'mcpx_bob' }

let servers: Record<string, Protected>
let daemon: Daemon
beforeAll(async () => {
  const started = await Promise.all(NAMES.map(async (name) => [name, await startProtected()] as const))
  servers = Object.fromEntries(started)
  const entries = started.map(([name, { mcp }]) => [
    name,
    { url: mcp, ...(name === 'keyed' && { scope: 'principal' }) },
  ])
  const keys = Object.entries(KEYS).map(
    ([name, key]) => `${name}:sha256:${createHash('sha256').update(key).digest('hex')}`,
  )
  daemon = await startDaemon({ mcpServers: Object.fromEntries(entries), auth: { keys } })
})
afterAll(async () => {
  await daemon.stop()
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]()
})

const VERSION = '2026-07-28'
const meta = (capabilities: JsonObject): JsonObject => ({
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
})

async function send(
  server: string,
  message: JsonObject,
  headers: Record<string, string>,
): Promise<JsonObject> {
  const response = await fetch(`${daemon.url}/${server}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
  const text = await response.text()
  const session = response.headers.get('mcp-session-id')
  const line = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '{}')
  return { ...(JSON.parse(line) as JsonObject), ...(session !== null && { session }) }
}

function modernCall(server: string, more: JsonObject = {}): Promise<JsonObject> {
  const params = { name: 'echo', arguments: {}, _meta: meta({ elicitation: { form: {}, url: {} } }), ...more }
  const headers = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  return send(server, { method: 'tools/call', params }, headers)
}

interface Required {
  readonly result: {
    readonly resultType: string
    readonly inputRequests: {
      readonly login: { readonly method: string; readonly params: Record<string, string> }
    }
    readonly requestState: string
  }
}

async function asked(server: string): Promise<{ readonly url: string; readonly requestState: string }> {
  const { result } = (await modernCall(server)) as unknown as Required
  expect(result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { login: { method: 'elicitation/create', params: { mode: 'url' } } },
  })
  const { url = '' } = result.inputRequests.login.params
  return { url, requestState: result.requestState }
}

const reply = (action: string) => ({ inputResponses: { login: { action } } })

test('a modern caller is asked to open the address, and the call goes on afterwards', async () => {
  const { url, requestState } = await asked('modern')
  await visit(url)
  expect(await modernCall('modern', { requestState, ...reply('accept') })).toMatchObject({
    result: { content: [{ text: 'entered' }] },
  })
})

test('a caller that comes back while its user still logs in is waited with', async () => {
  const { url, requestState } = await asked('early')
  const early = modernCall('early', { requestState, ...reply('accept') })
  await visit(url)
  expect(await early).toMatchObject({ result: { content: [{ text: 'entered' }] } })
})

test('a caller whose user declines is refused', async () => {
  const { requestState } = await asked('declined')
  expect(await modernCall('declined', { requestState, ...reply('decline') })).toMatchObject({
    error: { message: expect.stringContaining('needs a login'), data: { code: 'AUTH_REQUIRED' } },
  })
})

test('a caller of 2025-11-25 that opens addresses gets -32042, and one that does not gets the address in words', async () => {
  const protocolVersion = '2025-11-25'
  const clientInfo = { name: 'legacy', version: '1' }
  for (const capabilities of [{ elicitation: { url: {} } }, {}]) {
    const params = { protocolVersion, capabilities, clientInfo }
    const { session } = await send('legacy', { method: 'initialize', params }, {})
    const headers = { 'mcp-session-id': String(session), 'mcp-protocol-version': protocolVersion }
    const { error } = (await send(
      'legacy',
      { method: 'tools/call', params: { name: 'echo', arguments: {} } },
      headers,
    )) as { error: { code: number; message: string; data: JsonObject } }
    if (capabilities.elicitation === undefined) {
      expect(error).toMatchObject({ code: -32603, data: { code: 'AUTH_REQUIRED' } })
      await visit(addressIn(error.message))
      continue
    }
    expect(error).toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', elicitationId: expect.any(String), url: expect.any(String) }] },
    })
  }
  expect((await callEcho(daemon.v1, 'legacy')).status).toBe(200)
})

test('a server that nobody has logged in to is of its era all the same, and its list says where to log in', async () => {
  const headers = (method: string) => ({ 'mcp-protocol-version': VERSION, 'mcp-method': method })
  const params = { _meta: meta({}) }
  expect(
    await send('plain', { method: 'server/discover', params }, headers('server/discover')),
  ).toMatchObject({
    result: { capabilities: { tools: { listChanged: true } } },
  })
  const list = () => send('plain', { method: 'tools/list', params }, headers('tools/list'))
  const { error } = (await list()) as { error: { message: string } }
  await visit(addressIn(error.message))
  expect(await list()).toMatchObject({ result: { tools: [{ name: 'echo' }] } })
})

test('each principal logs in for itself, and no token of a caller goes up', async () => {
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const alice = await callEcho(daemon.v1, 'keyed', bearer(KEYS.alice))
  await visit(addressIn(String(alice.body['detail'])))
  expect((await callEcho(daemon.v1, 'keyed', bearer(KEYS.alice))).status).toBe(200)
  expect((await callEcho(daemon.v1, 'keyed', bearer(KEYS.bob))).body).toMatchObject({ code: 'AUTH_REQUIRED' })
  expect((await callEcho(daemon.v1, 'keyed')).body).toMatchObject({ code: 'AUTH_REQUIRED' })
  const { calls } = (await servers['keyed']?.seen()) ?? { calls: [] }
  expect(calls).toEqual([{ tool: 'echo', authorization: expect.stringMatching(/^Bearer access-/) }])
})
