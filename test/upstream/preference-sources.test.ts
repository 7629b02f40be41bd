// The preference from each place that it can be set in, under each spelling, and how it is told.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Finished, Workspace } from '../peers/workspace.ts'
import { dual, openingsOf, openUpstream } from './http-upstream.ts'
import type { HttpUpstream } from './http-upstream.ts'
import { startIn } from './setup.ts'
import type { Era } from './setup.ts'

const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  'prefer-discover': ['prefer-discover', 'modern', 'prefer-modern', 'prefer-stateless', 'prefer-newest'],
  'prefer-initialize': ['prefer-initialize', 'legacy', 'prefer-legacy', 'prefer-session', 'prefer-oldest'],
  'force-discover': ['force-discover', 'force-modern', 'force-stateless'],
  'force-initialize': ['force-initialize', 'force-legacy', 'force-session'],
  follow: ['follow'],
}
const spellings = Object.entries(SPELLINGS).flatMap(([canonical, all]) =>
  all.map((spelling) => ({ spelling, canonical })),
)
/** What a refusal names: every canonical value and every alias. */
const everySpelling = (said: unknown) => spellings.filter(({ spelling }) => !String(said).includes(spelling))

let upstream: HttpUpstream
beforeAll(async () => (upstream = await openUpstream(dual())))
afterAll(() => upstream[Symbol.asyncDispose]())

const one = () => ({ url: upstream.url })
const parsed = ({ stdout }: Finished) => JSON.parse(stdout) as JsonObject

/** What every command and the daemon say of the server's preference and where it comes from. */
async function told(workspace: Workspace, ...flags: string[]): Promise<unknown[]> {
  const [config] = parsed(await workspace.run(['config', '--json', ...flags]))['servers'] as JsonObject[]
  const [protocol] = parsed(await workspace.run(['protocol', '--json', ...flags]))['servers'] as JsonObject[]
  await using daemon = await startIn(workspace, ...flags)
  const live = await daemon.protocol('one')
  return [
    [config?.['protocol'], config?.['protocolSource']],
    [protocol?.['preference'], protocol?.['preferenceSource']],
    [live.preference, live.preferenceSource],
  ]
}

const three = (value: string, source: unknown) => [
  [value, source],
  [value, source],
  [value, source],
]

test('without a word, discover is preferred, and said to be the default', async () => {
  await using workspace = await openWorkspace({ mcpServers: { one: one() } })
  expect(await told(workspace)).toEqual(three('prefer-discover', 'default'))
})

test('the file', async () => {
  await using workspace = await openWorkspace({
    mcpServers: { one: one() },
    upstream: { protocol: 'Prefer-OLDEST' },
  })
  expect(await told(workspace)).toEqual(
    three('prefer-initialize', expect.stringMatching(/^file \(.*mcpx\.json.*\)$/)),
  )
  const { stdout } = await workspace.run(['settings', 'upstream.protocol'])
  expect(stdout).toMatch(/upstream\.protocol +prefer-initialize +file .* +default/)
})

test('the variable, over the file', async () => {
  const config = { mcpServers: { one: one() }, upstream: { protocol: 'legacy' } }
  await using workspace = await openWorkspace(config, { MCPX_UPSTREAM_PROTOCOL: 'FORCE-modern' })
  const source = expect.stringMatching(/^environment \(MCPX_UPSTREAM_PROTOCOL\)$/)
  expect(await told(workspace)).toEqual(three('force-discover', source))
})

test('the flag, over the variable', async () => {
  const config = { mcpServers: { one: one() } }
  await using workspace = await openWorkspace(config, { MCPX_UPSTREAM_PROTOCOL: 'force-modern' })
  const source = expect.stringMatching(/^flag \(--upstream-protocol\)$/)
  expect(await told(workspace, '--upstream-protocol', 'force-Legacy')).toEqual(
    three('force-initialize', source),
  )
  const [setting] = parsed(
    await workspace.run(['settings', 'upstream.protocol', '--json', '--upstream-protocol', 'follow']),
  )['settings'] as JsonObject[]
  expect(setting).toMatchObject({ path: 'upstream.protocol', value: 'follow', source: 'flag' })
  expect(((setting?.['displaced'] ?? []) as JsonObject[]).map(({ source: other }) => other)).toEqual([
    'environment',
    'default',
  ])
})

test('a server’s own key, over all of them, under every spelling', async () => {
  const mcpServers = Object.fromEntries(
    spellings.flatMap(({ spelling }) => [
      [spelling, { ...one(), protocol: spelling }],
      [`${spelling} loud`, { ...one(), protocol: spelling.toUpperCase() }],
    ]),
  )
  await using workspace = await openWorkspace({ mcpServers }, { MCPX_UPSTREAM_PROTOCOL: 'force-modern' })
  const servers = parsed(await workspace.run(['config', '--json']))['servers'] as JsonObject[]
  expect(servers.map(({ protocol }) => protocol)).toEqual(
    spellings.flatMap(({ canonical }) => [canonical, canonical]),
  )
  for (const { protocolSource } of servers) expect(protocolSource).toMatch(/^server \(.*mcpx\.json\)$/)
  const { stdout } = await workspace.run(['protocol'])
  expect(stdout).toMatch(/prefer-oldest +prefer-initialize +server/)
})

async function put(daemon: Era, value: unknown) {
  const response = await fetch(`${daemon.v1}/settings/upstream.protocol`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ value }),
  })
  const type = response.headers.get('content-type')
  return { status: response.status, type, body: (await response.json()) as JsonObject }
}

test('a running daemon, under every spelling; a value that there is not changes nothing', async () => {
  await using workspace = await openWorkspace({
    mcpServers: { one: one() },
    upstream: { protocol: 'legacy' },
  })
  await using daemon = await startIn(workspace)
  for (const { spelling, canonical } of spellings) {
    expect(await put(daemon, spelling)).toMatchObject({
      status: 200,
      body: { value: canonical, source: 'runtime' },
    })
    expect(await daemon.protocol('one')).toMatchObject({ preference: canonical, preferenceSource: 'runtime' })
  }
  for (const value of ['newest', '', 1, null, ['follow']]) {
    const { status, type, body } = await put(daemon, value)
    expect({ status, type }).toEqual({
      status: 400,
      type: expect.stringContaining('application/problem+json'),
    })
    expect(everySpelling(body['detail'])).toEqual([])
    expect(await daemon.protocol('one')).toMatchObject({ preference: 'follow' })
  }
  const set = await workspace.run(['settings', 'upstream.protocol', 'Modern'])
  expect(set).toMatchObject({ code: 0, stdout: expect.stringMatching(/prefer-discover +runtime +file/) })
  expect((await workspace.run(['settings', 'upstream.protocol', 'newest'])).code).toBe(78)
  const unset = await workspace.run(['settings', 'upstream.protocol', '--unset'])
  expect(unset).toMatchObject({ code: 0, stdout: expect.stringMatching(/prefer-initialize +file/) })
})

test('a change applies at the next start of a server', async () => {
  const config = { mcpServers: { one: { ...one(), idleTimeout: '1ms' } } }
  await using workspace = await openWorkspace(config)
  await using daemon = await startIn(workspace)
  expect((await daemon.call('one', 'era')).said).toBe('modern')
  upstream.forget()
  await put(daemon, 'prefer-session')
  // It is idle, so it ends by itself; until then it stays what it is.
  let said = (await daemon.call('one', 'era')).said
  while (said === 'modern') said = (await daemon.call('one', 'era')).said
  expect(said).toBe('legacy')
  expect(openingsOf(upstream.asked)).toMatch(/^(discover )*initialize$/)
  await put(daemon, 'force-stateless')
  while (said === 'legacy') said = (await daemon.call('one', 'era')).said
  expect(said).toBe('modern')
})

const refusals = [
  { place: 'the file', config: { upstream: { protocol: 'newest' } }, env: {}, flags: [] },
  { place: 'the variable', config: {}, env: { MCPX_UPSTREAM_PROTOCOL: 'newest' }, flags: [] },
  { place: 'the flag', config: {}, env: {}, flags: ['--upstream-protocol', 'newest'] },
]

test.each(refusals)('another value in $place is refused with the list', async ({ config, env, flags }) => {
  await using workspace = await openWorkspace({ mcpServers: { one: one() }, ...config }, env)
  for (const command of ['config', 'settings', 'protocol', 'daemon', 'tools']) {
    const { code: exit, stderr, stdout } = await workspace.run([command, ...flags])
    expect([command, exit, stdout]).toEqual([command, 78, ''])
    expect(everySpelling(stderr)).toEqual([])
  }
})

test('another value in a server’s key is refused with the list, and with the server’s name', async () => {
  await using workspace = await openWorkspace({ mcpServers: { one: { ...one(), protocol: 'newest' } } })
  const { code, stderr } = await workspace.run(['config'])
  expect(code).toBe(78)
  expect(stderr).toContain('one')
  expect(everySpelling(stderr)).toEqual([])
})
