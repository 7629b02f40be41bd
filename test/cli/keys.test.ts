// `mcpx keys`, and the key that commands send.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isKeyName } from '../../src/config/index.ts'
import { LOCAL_USER } from '../../src/endpoint/index.ts'
import { fixture, openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'

const TOKEN = /^mcpx_[\w-]{43}\n$/

let workspace: Workspace
beforeEach(async () => {
  workspace = await openWorkspace({ mcpServers: {} })
})
afterEach(() => workspace[Symbol.asyncDispose]())

const keys = (...args: string[]) => workspace.run(['keys', ...args])
const keysFile = () => join(workspace.file('state'), 'keys.json')
const hashOf = (token: string) => createHash('sha256').update(token.trim()).digest('hex')
const names = async () =>
  (JSON.parse((await keys('list', '--json')).stdout) as { keys: { name: string }[] }).keys.map(
    ({ name }) => name,
  )

test('a key is printed once, alone on stdout, and only its hash is kept', async () => {
  const added = await keys('add', 'alice')
  expect(added).toEqual({
    code: 0,
    stdout: expect.stringMatching(TOKEN),
    stderr: expect.stringContaining('the key of "alice"'),
  })
  const kept = readFileSync(keysFile(), 'utf8')
  expect(JSON.parse(kept)).toEqual({
    version: 1,
    keys: [{ name: 'alice', hash: hashOf(added.stdout), createdAt: expect.stringMatching(/^\d{4}-.*Z$/) }],
  })
  const listed = [await keys('list'), await keys('list', '--json')]
  for (const { code, stdout, stderr } of listed) {
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('alice')
    expect(stdout).not.toContain(hashOf(added.stdout))
  }
})

test.skipIf(process.platform === 'win32')('only the owner may read the file of keys', async () => {
  await keys('add', 'a')
  await keys('add', 'b')
  expect(statSync(keysFile()).mode & 0o777).toBe(0o600)
})

test('keys that are added and revoked at the same time are all there, and all gone', async () => {
  await keys('add', 'old')
  const fresh = ['a', 'b', 'c', 'd']
  const done = await Promise.all([...fresh.map((name) => keys('add', name)), keys('revoke', 'old')])
  expect(done.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
  expect((await names()).toSorted()).toEqual(fresh)
})

const REFUSED = [
  { args: ['add', 'alice'], says: /^mcpx: There is a key "alice" already\./ },
  { args: ['add', 'local'], says: /^mcpx: "local" cannot be the name of a key/ },
  { args: ['add', 'a b'], says: /^mcpx: "a b" cannot be the name of a key/ },
  { args: ['add', 'x'.repeat(61)], says: /cannot be the name of a key/ },
  { args: ['add', 'a:b', '--print-hash'], says: /cannot be the name of a key/ },
  { args: ['revoke', 'alcie'], says: /^mcpx: There is no key "alcie"\. Did you mean "alice"\?/ },
  { args: ['revoke', 'somebody'], says: /^mcpx: There is no key "somebody"\. The keys are: alice\./ },
  { args: ['add'], says: /^error: missing required argument 'name'/ },
  { args: [], says: /^Usage: mcpx keys/ },
]

test('what is asked wrongly changes nothing', async () => {
  await keys('add', 'alice')
  const before = readFileSync(keysFile(), 'utf8')
  for (const { args, says } of REFUSED)
    expect(await keys(...args)).toEqual({ code: 64, stdout: '', stderr: expect.stringMatching(says) })
  expect(readFileSync(keysFile(), 'utf8')).toBe(before)
})

test('the name of callers without a key is no name of a key', () => {
  expect([isKeyName(LOCAL_USER), isKeyName('Al.ice_-9'), isKeyName('')]).toEqual([false, true, false])
})

test('a broken file is named and left as it is', async () => {
  mkdirSync(workspace.file('state'))
  writeFileSync(keysFile(), '{"version": 1, "keys": [')
  for (const args of [['add', 'a'], ['list'], ['revoke', 'a']])
    expect(await keys(...args)).toEqual({
      code: 78,
      stdout: '',
      stderr: expect.stringMatching(/^mcpx: The keys in .*keys\.json are broken .*\n$/),
    })
  expect(readFileSync(keysFile(), 'utf8')).toBe('{"version": 1, "keys": [')
})

test('a key can go into the configuration, and its hash is shown nowhere', async () => {
  const { stdout, stderr } = await keys('add', 'team', '--print-hash')
  const [token = '', line = ''] = stdout.split('\n')
  expect([stderr, line]).toEqual(['', `team:sha256:${hashOf(token)}`])
  expect(await names()).toEqual([])
  writeFileSync(workspace.config, JSON.stringify({ mcpServers: {}, auth: { keys: [line] } }))
  expect(await names()).toEqual(['team'])
  for (const args of [['keys', 'list'], ['settings', '--json'], ['settings'], ['config', '--json']]) {
    const shown = await workspace.run(args)
    expect([shown.code, shown.stdout.includes('team')]).toEqual([0, true])
    expect(shown.stdout).not.toContain(hashOf(token))
  }
})

test.each([
  ['the key itself', 'mcpx_secret'],
  ['no hash', 'team'],
  ['a short hash', 'team:sha256:abc'],
  ['another kind of hash', `team:md5:${'0'.repeat(64)}`],
  ['the reserved name', `local:sha256:${'0'.repeat(64)}`],
])('%s in auth.keys is refused and not repeated', async (_what, line) => {
  writeFileSync(workspace.config, JSON.stringify({ mcpServers: {}, auth: { keys: [line] } }))
  const { code, stderr } = await workspace.run(['tools'])
  expect(code).toBe(78)
  expect(stderr).toMatch(/auth\.keys.*<name>:sha256:<64 hex digits>/)
  expect(stderr).not.toContain(`"${line}"`)
})

test('commands send the key of MCPX_KEY', async () => {
  writeFileSync(workspace.config, JSON.stringify({ mcpServers: { one: fixture('legacy-stdio') } }))
  const token = (await keys('add', 'alice')).stdout.trim()
  await using daemon = await workspace.start('daemon', '--port', '0', '--json')
  await daemon.printed(/\n/)
  const as = async (key: string, ...args: string[]) => {
    await using caller = await openWorkspace(undefined, {
      MCPX_KEY: key,
      MCPX_STATE_DIR: workspace.file('state'),
    })
    return await caller.run([...args, '--config', workspace.config])
  }
  expect(await as(token, 'protocol')).toMatchObject({ code: 0, stderr: '' })
  expect(await as(token, 'settings', 'lists.patience', '1s')).toEqual({
    code: 77,
    stdout: '',
    stderr: expect.stringMatching(/^mcpx: The key of "alice" may not change/),
  })
  for (const key of [`${token}x`, 'two words'])
    expect(await as(key, 'clients')).toEqual({
      code: 77,
      stdout: '',
      stderr: expect.not.stringContaining(key),
    })
  expect(await as('', 'settings', 'lists.patience', '1s')).toMatchObject({ code: 0 })
})
