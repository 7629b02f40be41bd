// From a refusal to an answered call: who is told what, and what the authorization server sees.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { callEcho, addressIn, enter, startProtected, visit } from './setup.ts'
import type { Protected } from './setup.ts'

test('a call that needs a login is refused with its address, and passes once somebody has been there', async () => {
  await using server = await startProtected()
  await using daemon = await startDaemon({ mcpServers: { guarded: { url: server.mcp } } })
  const refused = await callEcho(daemon.v1, 'guarded')
  expect(refused.status).toBe(502)
  expect(refused.body).toMatchObject({ code: 'AUTH_REQUIRED' })
  expect(refused.body['detail']).toContain('Server "guarded" needs a login')
  expect(refused.body['detail']).toContain('mcpx login guarded')
  const page = await visit(addressIn(String(refused.body['detail'])))
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('logged in to guarded') })
  expect(await callEcho(daemon.v1, 'guarded')).toMatchObject({
    status: 200,
    body: { content: [{ text: 'entered' }] },
  })
  const { registrations, authorizations, grants } = await server.seen()
  expect(registrations).toMatchObject([
    {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
  ])
  expect(authorizations).toMatchObject([
    { resource: server.mcp, code_challenge_method: 'S256', client_id: 'client-1' },
  ])
  expect(grants).toMatchObject([
    { grant_type: 'authorization_code', resource: server.mcp, client_id: 'client-1' },
  ])
})

test('a daemon that starts begins no login: nobody could be told of it', async () => {
  await using server = await startProtected()
  await using daemon = await startDaemon({ mcpServers: { guarded: { url: server.mcp } } })
  // The warm start is over once its failure is reported.
  for (let error: unknown; error === undefined || error === null;) {
    const response = await fetch(`${daemon.v1}/servers/guarded`)
    error = ((await response.json()) as { error: unknown }).error
  }
  expect((await server.seen()).registrations).toEqual([])
  await callEcho(daemon.v1, 'guarded')
  expect((await server.seen()).registrations).toHaveLength(1)
})

test('many calls at once are given one login', async () => {
  await using server = await startProtected()
  await using daemon = await startDaemon({ mcpServers: { guarded: { url: server.mcp } } })
  const refused = await Promise.all(Array.from({ length: 5 }, () => callEcho(daemon.v1, 'guarded')))
  const addresses = new Set(refused.map(({ body }) => addressIn(String(body['detail']))))
  expect(addresses.size).toBe(1)
  expect((await server.seen()).registrations).toHaveLength(1)
})

test('an answer of another issuer is refused before its code is used, and says nothing of what came with it', async () => {
  await using server = await startProtected({ iss: 'https://evil.example', deny: 'access_denied' })
  await using daemon = await startDaemon({ mcpServers: { guarded: { url: server.mcp } } })
  const refused = await callEcho(daemon.v1, 'guarded')
  const page = await visit(addressIn(String(refused.body['detail'])))
  expect(page.status).toBe(400)
  expect(page.text).not.toContain('access_denied')
  expect((await server.seen()).grants).toEqual([])
})

test('a login that is declined ends, and the next call offers another one', async () => {
  await using server = await startProtected({ deny: 'access_denied' })
  await using daemon = await startDaemon({ mcpServers: { guarded: { url: server.mcp } } })
  const first = addressIn(String((await callEcho(daemon.v1, 'guarded')).body['detail']))
  expect(await visit(first)).toMatchObject({ status: 400, text: expect.stringContaining('access_denied') })
  await server.set({ deny: null })
  // The state is good once.
  await expect(visit(first)).rejects.toThrow()
  await enter(daemon.v1, 'guarded')
})

test('a server that is called with its own Authorization is not logged in to', async () => {
  await using server = await startProtected()
  const headers = { Authorization: 'Bearer fixed' }
  await using daemon = await startDaemon({ mcpServers: { guarded: { url: server.mcp, headers } } })
  const { body } = await callEcho(daemon.v1, 'guarded')
  expect(body).toMatchObject({ code: 'AUTH_REQUIRED', detail: expect.stringContaining('"headers"') })
  expect((await server.seen()).registrations).toEqual([])
})

test('more is asked for once a call needs it, beside what was asked for before, and not twice', async () => {
  await using server = await startProtected({ scopes: ['read'], callScope: 'write' })
  await using daemon = await startDaemon({ mcpServers: { guarded: { url: server.mcp } } })
  const first = await callEcho(daemon.v1, 'guarded')
  await visit(addressIn(String(first.body['detail'])))
  const second = await callEcho(daemon.v1, 'guarded')
  expect(second.body['detail']).toContain('wants more permission (write)')
  await visit(addressIn(String(second.body['detail'])))
  expect((await callEcho(daemon.v1, 'guarded')).status).toBe(200)
  const { authorizations } = await server.seen()
  expect(authorizations.map(({ scope }) => scope)).toEqual(['read', 'read write'])
  // It is granted and still not enough: another login would change nothing.
  await server.set({ callScope: 'write write' })
  const third = await callEcho(daemon.v1, 'guarded')
  expect(third.body).toMatchObject({ code: 'AUTH_REQUIRED', detail: expect.stringContaining('not granted') })
})

const refusals = [
  {
    what: 'metadata of another resource',
    habits: { resource: 'https://evil.example/mcp' },
    says: 'another resource',
  },
  { what: 'no PKCE', habits: { metadata: { code_challenge_methods_supported: null } }, says: 'PKCE' },
  {
    what: 'metadata of another issuer',
    habits: { metadata: { issuer: 'https://evil.example' } },
    says: 'is that of',
  },
  { what: 'plain http elsewhere', habits: { issuer: 'http://auth.example' }, says: 'not one that mcpx asks' },
  {
    what: 'no registration',
    habits: { register: false },
    says: 'refused to register mcpx (invalid_client_metadata)',
  },
] as const

let refusing: Protected[]
let careful: Daemon
beforeAll(async () => {
  refusing = await Promise.all(refusals.map(({ habits }) => startProtected({ ...habits })))
  const entries = refusing.map(({ mcp }, index) => [`server-${index}`, { url: mcp }])
  careful = await startDaemon({ mcpServers: Object.fromEntries(entries) })
})
afterAll(async () => {
  await careful.stop()
  for (const server of refusing) await server[Symbol.asyncDispose]()
})

test.each(refusals.map((refusal, index) => ({ ...refusal, index })))(
  '$what: no login is offered, and nobody is sent anywhere',
  async ({ index, says }) => {
    const { body } = await callEcho(careful.v1, `server-${index}`)
    expect(body).toMatchObject({ code: 'AUTH_REQUIRED', detail: expect.stringContaining(says) })
    expect((await refusing[index]?.seen())?.authorizations).toEqual([])
  },
)
