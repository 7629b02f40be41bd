// Tokens that ran out: who asks for another one, how often, and what is left where that fails. Two processes share what was granted.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'
import { addressIn, callEcho, enter, startProtected, visit } from './setup.ts'
import type { Protected } from './setup.ts'

let server: Protected
let other: Protected
let workspace: Workspace
let daemons: Running[]
let first: string
let second: string

beforeAll(async () => {
  server = await startProtected()
  other = await startProtected()
  workspace = await openWorkspace({ mcpServers: { guarded: { url: server.mcp }, other: { url: other.mcp } } })
  daemons = []
  first = await startOne()
  await enter(first, 'guarded')
  await enter(first, 'other')
  // It finds what was granted, and begins no login of its own, whose port would be another one.
  second = await startOne()
})
afterAll(async () => {
  for (const daemon of daemons) await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

async function startOne(): Promise<string> {
  const daemon = await workspace.start('daemon', '--port', '0', '--json')
  daemons.push(daemon)
  return (JSON.parse(await daemon.printed(/\n/)) as { v1: string }).v1
}

/** The refresh token that is kept for the server. */
function kept(): unknown {
  const folder = join(workspace.file('state'), 'oauth')
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
    const { server: url, grants } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      server: string
      grants: Record<string, { refreshToken?: string }>
    }
    if (url === server.mcp) return grants[server.issuer]?.refreshToken
  }
  return undefined
}

test('what one process was granted, the other one uses', async () => {
  expect((await callEcho(second, 'guarded')).status).toBe(200)
})

test('ten calls in two processes meet a token that ran out: one renewal is seen', async () => {
  await server.set({ refreshDelay: 300 })
  await server.expire()
  const calls = Array.from({ length: 10 }, (_, i) => callEcho(i % 2 === 0 ? first : second, 'guarded'))
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(
    Array.from({ length: 10 }, () => 200),
  )
  expect((await server.seen()).refreshes).toBe(1)
  await server.set({ refreshDelay: 0 })
})

test('a token is renewed before it runs out, and the call is not refused first', async () => {
  const before = await server.seen()
  // Of its life nothing is left, as soon as it is there.
  await server.set({ lifetime: 0 })
  await server.expire()
  await callEcho(first, 'guarded')
  await server.set({ lifetime: 3600 })
  expect((await callEcho(first, 'guarded')).status).toBe(200)
  expect((await server.seen()).refreshes - before.refreshes).toBeGreaterThan(1)
})

const failures = [
  { what: '500', refresh: 500 },
  { what: 'nothing', refresh: 'silent' },
  { what: 'temporarily_unavailable', refresh: 'temporarily_unavailable' },
] as const

test.each(failures)(
  'a renewal is answered by $what: what was granted is kept, and the next call tries again',
  async ({ refresh }) => {
    const token = kept()
    await server.set({ refresh })
    await server.expire()
    expect(await callEcho(first, 'guarded')).toMatchObject({
      status: 503,
      body: { code: 'AUTH_UNAVAILABLE', detail: expect.stringContaining('The token is kept') },
    })
    expect(kept()).toBe(token)
    await server.set({ refresh: 'ok' })
    expect((await callEcho(first, 'guarded')).status).toBe(200)
    expect(kept()).not.toBe(token)
  },
)

test('a renewal is refused for good: a login is asked for, and other servers are untouched', async () => {
  const { grants } = await other.seen()
  const { registrations } = await server.seen()
  await server.set({ refresh: 'invalid_grant' })
  await server.expire()
  const refused = await callEcho(first, 'guarded')
  expect(refused.body).toMatchObject({ code: 'AUTH_REQUIRED' })
  expect(kept()).toBeUndefined()
  expect((await callEcho(first, 'other')).status).toBe(200)
  expect((await other.seen()).grants).toHaveLength(grants.length)
  await server.set({ refresh: 'ok' })
  await visit(addressIn(String(refused.body['detail'])))
  for (const v1 of [first, second]) expect((await callEcho(v1, 'guarded')).status).toBe(200)
  // The client that is registered logs in again, at the same port.
  expect((await server.seen()).registrations).toHaveLength(registrations.length)
})
