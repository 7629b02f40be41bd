// A failure of mcpx itself is an answer: no client waits for one that never comes.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { SILENT } from '../../src/base/index.ts'
import { HttpEndpoint } from '../../src/endpoint/index.ts'
import { systemClock } from '../../src/transport/index.ts'

test('what fails after the body was read is answered with 500', async () => {
  const logged: string[] = []
  const endpoint = new HttpEndpoint({
    handler: { handle: () => Promise.resolve({ result: { capabilities: {} } }) },
    serverInfo: { name: 'mcpx', version: '0' },
    open: false,
    clock: systemClock,
    log: { ...SILENT, error: (message) => logged.push(message) },
    limits: {
      maxBody: () => 1000,
      keepAlive: () => 1000,
      sessionIdle: () => 1000,
      streamTime: () => 0,
      drain: () => 1000,
    },
    access: { allowedHosts: () => [], allowedOrigins: () => [], loopback: true },
    sealer: {
      sealSame: () => '',
      seal: () => {
        throw new Error('no key')
      },
      open: () => undefined,
      digest: () => '',
    },
  })
  const server = createServer((request, response) => void endpoint.handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE }),
      signal: AbortSignal.timeout(4000),
    })
    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({ error: { code: -32603 } })
    expect(logged).toHaveLength(1)
  } finally {
    endpoint.stop('the test ends')
    server.close()
  }
})

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '0' },
}
