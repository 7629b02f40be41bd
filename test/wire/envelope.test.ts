import { expect, test } from 'vitest'
import { enveloped, progressTokenOf, repeatingHeaders } from '../../src/wire/index.ts'
import type { Envelope } from '../../src/wire/index.ts'
import { frozen } from './frozen.ts'

const client = { info: { name: 'mcpx', version: '1' }, capabilities: { roots: {} } }
const none = { progressToken: undefined, logLevel: undefined }
const modern: Envelope = { revision: '2026-07-28', client, ...none }
const legacy: Envelope = { revision: '2025-06-18', client: undefined, ...none }

const HOP = {
  'io.modelcontextprotocol/protocolVersion': '2025-06-18',
  'io.modelcontextprotocol/clientInfo': { name: 'caller' },
  'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
  'io.modelcontextprotocol/logLevel': 'debug',
  'io.modelcontextprotocol/subscriptionId': 's',
  'io.modelcontextprotocol/serverInfo': { name: 'server' },
  progressToken: 'theirs',
}
const OWN = {
  traceparent: '00-1',
  'example.com/x': [1],
  'io.modelcontextprotocol/related-task': { taskId: 't' },
}

test('a modern hop says who speaks, in every request', () => {
  expect(enveloped(undefined, modern)).toEqual({
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': client.info,
      'io.modelcontextprotocol/clientCapabilities': client.capabilities,
    },
  })
})

test('keys of the last hop go, keys of the caller stay', () => {
  const params = frozen({ name: 'add', _meta: { ...HOP, ...OWN } })
  expect(enveloped(params, legacy)).toEqual({ name: 'add', _meta: OWN })
  expect(enveloped(params, { ...modern, progressToken: 7, logLevel: 'error' })).toEqual({
    name: 'add',
    _meta: {
      ...OWN,
      progressToken: 7,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': client.info,
      'io.modelcontextprotocol/clientCapabilities': client.capabilities,
      'io.modelcontextprotocol/logLevel': 'error',
    },
  })
})

test('a legacy hop carries no level, and 0 is a progress token', () => {
  expect(enveloped(undefined, { ...legacy, logLevel: 'error' })).toBeUndefined()
  expect(enveloped(undefined, { ...legacy, progressToken: 0 })).toEqual({ _meta: { progressToken: 0 } })
})

test('an empty _meta is left out, and params that need nothing stay the same object', () => {
  const params = { name: 'add' }
  expect(enveloped(params, legacy)).toBe(params)
  expect(enveloped({ name: 'add', _meta: HOP }, legacy)).toEqual({ name: 'add' })
  expect(enveloped({ name: 'add', _meta: 'text' }, legacy)).toEqual({ name: 'add' })
})

test.each([
  [{ _meta: { progressToken: 0 } }, 0],
  [{ _meta: { progressToken: '0' } }, '0'],
  [{ _meta: { progressToken: {} } }, undefined],
  [{ _meta: 1 }, undefined],
  [undefined, undefined],
])('the progress token of %j', (params, token) => {
  expect(progressTokenOf(params)).toBe(token)
})

test.each<[Parameters<typeof repeatingHeaders>, Record<string, string>]>([
  [['2024-11-05', 'tools/call', { name: 'a' }], {}],
  [['2025-06-18', 'tools/call', { name: 'a' }], { 'MCP-Protocol-Version': '2025-06-18' }],
  [
    ['2026-07-28', 'tools/call', { name: '天気' }],
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': '=?base64?5aSp5rCX?=' },
  ],
  [
    ['2026-07-28', 'resources/read', { uri: 'file:///a b', name: 'no' }],
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'resources/read', 'Mcp-Name': 'file:///a b' },
  ],
  [
    ['2026-07-28', 'tools/list', { name: 'a' }],
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' },
  ],
  [
    ['2026-07-28', 'tools/call', { name: 1 }],
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call' },
  ],
])('the headers of %j', (given, headers) => {
  expect(repeatingHeaders(...given)).toEqual(headers)
})
