// Everything that a daemon says while it is logged in to, renews, fails and forgets: no secret is in it.
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { addressIn, callEcho, startProtected, visit } from './setup.ts'
import type { Protected } from './setup.ts'

const CLIENT_SECRET = 'configured-client-secret'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PEM = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()

let person: Protected
let secret: Protected
let signed: Protected
let daemon: Daemon
/** All that was said, by whom. */
const said: Record<string, string> = { answers: '', pages: '', events: '' }
const stop = new AbortController()

beforeAll(async () => {
  person = await startProtected()
  secret = await startProtected({ callScope: 'write' })
  signed = await startProtected({ metadata: { token_endpoint_auth_methods_supported: ['private_key_jwt'] } })
  const auth = { grant: 'client_credentials', clientId: 'robot' }
  const mcpServers = {
    person: { url: person.mcp },
    secret: { url: secret.mcp, auth: { ...auth, clientSecret: '${env:ROBOT_SECRET}' } },
    signed: { url: signed.mcp, auth: { ...auth, privateKey: '${env:ROBOT_KEY}', algorithm: 'ES256' } },
  }
  const env = { MCPX_LOG_LEVEL: 'debug', ROBOT_SECRET: CLIENT_SECRET, ROBOT_KEY: PEM }
  daemon = await startDaemon({ mcpServers }, env)
  void listen()
})
afterAll(async () => {
  stop.abort()
  await daemon.stop()
  for (const server of [person, secret, signed]) await server[Symbol.asyncDispose]()
})

async function listen(): Promise<void> {
  const decoder = new TextDecoder()
  try {
    const { body } = await fetch(`${daemon.v1}/events`, { signal: stop.signal })
    for await (const bytes of body ?? [])
      said['events'] += decoder.decode(bytes as Uint8Array, { stream: true })
  } catch {
    // It ends with the test.
  }
}

async function call(server: string): Promise<{ status: number; detail: string }> {
  const { status, body } = await callEcho(daemon.v1, server)
  said['answers'] += JSON.stringify(body)
  return { status, detail: String(body['detail']) }
}

async function reported(): Promise<void> {
  for (const path of ['servers', 'protocol', 'settings', 'status', 'clients', 'tools'])
    said['answers'] += await (await fetch(`${daemon.v1}/${path}`)).text()
  said['answers'] += await (await fetch(new URL('/metrics', daemon.v1))).text()
}

let address = ''

test('a client with a secret, and one with a key, are granted what they ask for without anybody, and more when a call needs it', async () => {
  expect([await call('secret'), await call('signed')]).toMatchObject([{ status: 200 }, { status: 200 }])
  const { grants } = await secret.seen()
  expect(grants.map(({ grant_type, scope, resource }) => ({ grant_type, scope, resource }))).toEqual([
    { grant_type: 'client_credentials', scope: undefined, resource: secret.mcp },
    { grant_type: 'client_credentials', scope: 'write', resource: secret.mcp },
  ])
  const basic = Buffer.from(`robot:${CLIENT_SECRET}`).toString('base64')
  expect(new Set(grants.map(({ authorization }) => authorization))).toEqual(new Set([`Basic ${basic}`]))
  const [grant] = (await signed.seen()).grants
  const [, claims = ''] = (grant?.['client_assertion'] ?? '').split('.')
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    ...{ iss: 'robot', sub: 'robot', aud: signed.issuer },
  })
})

test('a client of its own is granted again what ran out', async () => {
  await secret.expire()
  expect((await call('secret')).status).toBe(200)
})

test('a person logs in, is refused, and fails', async () => {
  address = addressIn((await call('person')).detail)
  said['pages'] += (await visit(address)).text
  expect((await call('person')).status).toBe(200)
  await reported()
  for (const refresh of [500, 'invalid_client', 'invalid_grant']) {
    await person.set({ refresh })
    await person.expire()
    expect((await call('person')).status).not.toBe(200)
    await reported()
  }
  await person.set({ iss: 'https://evil.example' })
  said['pages'] += (await visit(addressIn((await call('person')).detail))).text
  await reported()
})

test('none of it says a token, a code, a verifier or a secret', async () => {
  said['log'] = daemon.stderr()
  const seen = await Promise.all([person, secret, signed].map((server) => server.seen()))
  const secrets = [...seen.flatMap((one) => one.secrets), CLIENT_SECRET, PEM.slice(40, 80)]
  expect(secrets.length).toBeGreaterThan(15)
  for (const [where, text] of Object.entries(said)) {
    expect(text, where).not.toBe('')
    expect(
      secrets.filter((one) => text.includes(one)),
      where,
    ).toEqual([])
  }
  // Whoever has the address of a login decides whose it is: it goes to the caller alone.
  const state = new URL(address).searchParams.get('state') ?? ''
  expect(said['answers']).toContain(state)
  for (const where of ['log', 'events', 'pages']) expect(said[where]).not.toContain(state)
})
