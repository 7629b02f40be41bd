// Keys on the daemon's routes: whose a request is, and what a key that is not good is told.
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exchange, post } from '../peers/exchange.ts'
import type { Exchange } from '../peers/exchange.ts'
import { fixture, openWorkspace, pidsIn } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'
import { clientsOf, initialize, modernHeaders, modernRequest } from './observed.ts'

const TEAM = randomBytes(32).toString('base64url')
const REFUSING = /"msg":"every key is refused"/g
const HASH = createHash('sha256').update(TEAM).digest('hex')

let workspace: Workspace
let daemon: Running
let mcp: string
let v1: string

beforeEach(async () => {
  workspace = await openWorkspace()
  const one = { ...fixture('legacy-stdio', { PIDS: workspace.file('pids') }), scope: 'principal' }
  // The spelling of a hash in upper case is the same hash.
  const config = { mcpServers: { one }, auth: { keys: [`team:sha256:${HASH.toUpperCase()}`] } }
  writeFileSync(workspace.config, JSON.stringify(config))
  daemon = await workspace.start('daemon', '--port', '0', '--json', '--log-level', 'debug')
  const told = JSON.parse(await daemon.printed(/\n/)) as { mcp: string; v1: string }
  mcp = told.mcp
  v1 = told.v1
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const add = async (name: string) => (await workspace.run(['keys', 'add', name])).stdout.trim()
const call = (headers = {}) =>
  post(`${v1}/call`, { server: 'one', tool: 'echo', args: { message: 'hi' }, capabilities: {} }, headers)
const modern = (headers = {}) =>
  post(mcp, modernRequest('tools/list', 'x'), { ...modernHeaders('tools/list'), ...headers })
const keysFile = () => join(workspace.file('state'), 'keys.json')

function expectRefused({ status, headers, body }: Exchange): void {
  expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"'])
  expect(body).not.toContain('mcpx_')
}

test('a key that is added counts at once, and one that is revoked is refused at once', async () => {
  expectRefused(await call(bearer('mcpx_nobody')))
  const alice = await add('alice')
  expect(JSON.parse((await call(bearer(alice))).body)).toMatchObject({ content: [{ text: 'hi' }] })
  expect((await modern(bearer(alice))).status).toBe(200)
  expect((await workspace.run(['keys', 'revoke', 'alice'])).code).toBe(0)
  const refused = await call(bearer(alice))
  expectRefused(refused)
  expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(JSON.parse(refused.body)).toMatchObject({ status: 401, code: 'KEY_REVOKED' })
  expectRefused(await modern(bearer(alice)))
  expectRefused(await post(mcp, initialize('x'), bearer(alice)))
  expectRefused(await exchange(`${v1}/servers`, { verb: 'GET', headers: bearer(alice) }))
  expect((await call()).status).toBe(200)
})

test('each key is a principal of its own', async () => {
  const [alice, bob] = [await add('alice'), await add('bob')]
  for (const headers of [{}, bearer(alice), bearer(bob), bearer(TEAM), bearer(alice)])
    expect((await call(headers)).status).toBe(200)
  expect(pidsIn(workspace.file('pids'))).toHaveLength(4)
  await modern(bearer(bob))
  await modern(bearer(TEAM))
  const { clients } = await clientsOf(v1)
  expect(clients.map(({ principal }) => principal).toSorted()).toEqual(['bob', 'team'])
})

test('a session of one principal is none of another', async () => {
  const [alice, bob] = [await add('alice'), await add('bob')]
  const { headers } = await post(mcp, initialize('x'), bearer(alice))
  const session = { 'mcp-session-id': String(headers['mcp-session-id']) }
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
  expect((await post(mcp, ping, { ...session, ...bearer(bob) })).status).toBe(404)
  expect((await post(mcp, ping, session)).status).toBe(404)
  expect((await post(mcp, ping, { ...session, ...bearer(alice) })).status).toBe(200)
})

test.each([
  ['no scheme', (token: string) => token],
  ['another scheme', (token: string) => `Basic ${token}`],
  ['nothing', () => ''],
  ['a part of the key', (token: string) => `Bearer ${token.slice(0, -1)}`],
  ['the key twice', (token: string) => `Bearer ${token} ${token}`],
  ['the hash', (token: string) => `Bearer ${createHash('sha256').update(token).digest('hex')}`],
])('an Authorization of %s is refused', async (_what, spell) => {
  const authorization = spell(await add('alice'))
  expectRefused(await call({ authorization }))
  expectRefused(await modern({ authorization }))
})

test('a caller with a key reads the settings and may not change them', async () => {
  const url = `${v1}/settings/lists.patience`
  const change = { verb: 'PUT', body: '"1s"', headers: { 'content-type': 'application/json' } }
  const keyed = { ...change, headers: { ...change.headers, ...bearer(TEAM) } }
  expect((await exchange(url, { verb: 'GET', headers: bearer(TEAM) })).status).toBe(200)
  for (const verb of ['PUT', 'DELETE']) {
    const { status, body } = await exchange(url, verb === 'PUT' ? keyed : { verb, headers: bearer(TEAM) })
    expect([status, JSON.parse(body).code]).toEqual([403, 'KEY_FORBIDDEN'])
  }
  expect(JSON.parse((await exchange(url, change)).body)).toMatchObject({ value: 1000, source: 'runtime' })
})

test('while the file of keys is broken every key is refused, and the log says so once', async () => {
  const alice = await add('alice')
  expect((await call(bearer(alice))).status).toBe(200)
  for (const text of ['{', '{"version": 3, "keys": []}', '{"version": 1, "keys": [{"name": "local"}]}']) {
    writeFileSync(keysFile(), text)
    expectRefused(await call(bearer(alice)))
    expectRefused(await call(bearer(TEAM)))
    expectRefused(await modern(bearer(TEAM)))
  }
  expect((await call()).status).toBe(200)
  expect((await daemon.logged(new RegExp(REFUSING.source))).match(REFUSING)).toHaveLength(1)
  writeFileSync(keysFile(), '{"version": 1, "keys": []}')
  expect((await call(bearer(TEAM))).status).toBe(200)
})

test('neither a key nor its hash is in the log, or in what the daemon tells', async () => {
  const alice = await add('alice')
  const hash = createHash('sha256').update(alice).digest('hex')
  await call(bearer(alice))
  await modern(bearer(alice))
  await modern(bearer(`${alice}x`))
  await call(bearer(`${alice}x`))
  const told = await Promise.all(
    ['settings', 'clients', 'servers', 'protocol'].map((path) => exchange(`${v1}/${path}`, { verb: 'GET' })),
  )
  expect(told[0]?.body).toContain('"text":"team"')
  expect(await daemon.end('SIGTERM')).toBe(0)
  const all = [...told.map(({ body }) => body), await daemon.logged(/stopping/)].join('\n')
  for (const secret of [alice, hash, TEAM, HASH, HASH.toUpperCase()]) expect(all).not.toContain(secret)
})
