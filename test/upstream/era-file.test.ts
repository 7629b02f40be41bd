// The file of remembered eras: whatever it holds, whoever else writes it, however a writer ends, and where it cannot be written.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import { startChild } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { legacy, modern, openingsOf, openUpstream, refuse } from './http-upstream.ts'
import type { HttpUpstream } from './http-upstream.ts'
import { digestOf, plant, plantText, recordOf, remembered, startIn, statePath } from './setup.ts'

const DAY = 24 * 60 * 60 * 1000

let older: HttpUpstream
let newer: HttpUpstream
beforeAll(async () => {
  older = await openUpstream(
    legacy((asked) => (asked.method === 'server/discover' ? refuse(asked, -32601) : undefined)).behaviour,
  )
  newer = await openUpstream(modern())
})
afterAll(async () => {
  await older[Symbol.asyncDispose]()
  await newer[Symbol.asyncDispose]()
})

/** So many servers in a configuration, all the same but for their URL. */
function several(upstream: HttpUpstream, count: number, mark = ''): JsonObject {
  const names = Array.from({ length: count }, (_, n) => `s${n}`)
  const definition = (name: string) => ({ url: `${upstream.url}?${mark}${name}`, idleTimeout: '1ms' })
  return { mcpServers: Object.fromEntries(names.map((name) => [name, definition(name)])) }
}

/** One run of the daemon in which the server is called: what was sent to open it. */
async function openingIn(workspace: Workspace): Promise<string> {
  older.forget()
  newer.forget()
  await using daemon = await startIn(workspace)
  expect((await daemon.call('s0', 'era')).status).toBe(200)
  return openingsOf([...older.asked, ...newer.asked])
}

const wholeText = JSON.stringify({ version: 1, records: {} })
const contents = [
  { what: 'nothing', text: '' },
  { what: 'the first half of what was written', text: wholeText.slice(0, 15) },
  { what: 'no JSON', text: 'records: yes' },
  { what: 'bytes that are no text', text: '\u0000\uFFFD\u0000' },
  { what: 'JSON of another kind', text: '[1]' },
  { what: 'another version', text: JSON.stringify({ version: 2, records: {} }) },
  { what: 'records that are none', text: JSON.stringify({ version: 1, records: [] }) },
]

test.each(contents)('a file that holds $what counts as empty and is written anew', async ({ text }) => {
  await using workspace = await openWorkspace(several(older, 1))
  await plantText(workspace, text)
  expect(await openingIn(workspace)).toBe('discover initialize')
  const config = several(older, 1)
  expect(Object.keys(remembered(workspace).records)).toEqual([digestOf(config, 's0')])
  expect(await openingIn(workspace)).toBe('initialize')
})

test('a record that cannot be read is left out, and the others are kept', async () => {
  const config = several(older, 1)
  await using workspace = await openWorkspace(config)
  const good = recordOf('legacy', { transport: 'streamable-http' })
  const records = { [digestOf(config, 's0')]: { ...good, era: 'middle' }, other: good }
  await plantText(workspace, JSON.stringify({ version: 1, records }))
  expect(await openingIn(workspace)).toBe('discover initialize')
  expect(Object.keys(remembered(workspace).records)).toHaveLength(2)
})

test.skipIf(process.platform === 'win32')(
  'the file is its owner’s alone, in a folder of the same kind',
  async () => {
    await using workspace = await openWorkspace(several(older, 1))
    await openingIn(workspace)
    expect(statSync(statePath(workspace)).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(statePath(workspace))).mode & 0o777).toBe(0o700)
  },
)

test('daemons that share a folder keep each other’s records', async () => {
  const configs = [several(older, 8, 'a'), several(newer, 8, 'b')]
  await using shared = await openWorkspace()
  const workspaces = await Promise.all(
    configs.map((config) => openWorkspace(config, { MCPX_STATE_DIR: shared.file('state') })),
  )
  const daemons = await Promise.all(workspaces.map((workspace) => startIn(workspace)))
  const names = Object.keys(configs[0]?.['mcpServers'] as object)
  const called = daemons.flatMap((daemon) => names.map((name) => daemon.call(name, 'era')))
  for (const { status } of await Promise.all(called)) expect(status).toBe(200)
  await Promise.all(daemons.map((daemon) => daemon.stop()))
  const digests = configs.flatMap((config) => names.map((name) => digestOf(config, name)))
  expect(Object.keys(remembered(shared).records).toSorted()).toEqual(digests.toSorted())
  for (const workspace of workspaces) await workspace[Symbol.asyncDispose]()
})

test('a daemon that is killed while it writes leaves a file that can be read', async () => {
  const config = several(older, 4)
  await using workspace = await openWorkspace(config)
  const names = Object.keys(config['mcpServers'] as object)
  for (const answers of [4, 5, 7, 10, 14]) {
    const daemon = await startIn(workspace)
    let left = answers
    const enough = new Promise<void>((resolve) => {
      // An unused server is ended at once, so that each call is a start, and each start a write.
      const callOn = async (name: string): Promise<void> => {
        const called = await daemon.call(name, 'era').catch(() => undefined)
        if (--left <= 0) return resolve()
        if (called) await callOn(name)
      }
      for (const name of names) void callOn(name)
    })
    await enough
    await daemon.stop('SIGKILL')
    if (existsSync(statePath(workspace))) expect(remembered(workspace).version).toBe(1)
  }
  // The lock that the last one may have left is no obstacle.
  expect(await openingIn(workspace)).toMatch(/^(discover )*initialize/)
  expect(Object.keys(remembered(workspace).records)).toContain(digestOf(config, 's0'))
}, 120_000)

/** Starts a server twice in one daemon and returns what was sent for it and what the daemon logged about the file. */
async function twice(workspace: Workspace, command = workspace.command('daemon', '--port', '0', '--json')) {
  older.forget()
  const child = startChild(command)
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (data: Buffer) => resolve(String(data)))
    child.stdout.once('end', () => reject(new Error(child.stderr())))
  })
  const { v1 } = JSON.parse(line) as { v1: string }
  const call = () =>
    fetch(`${v1}/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ server: 's0', tool: 'era', capabilities: {} }),
    })
  expect((await call()).status).toBe(200)
  const before = older.asked.filter(({ verb }) => verb === 'DELETE').length
  while (older.asked.filter(({ verb }) => verb === 'DELETE').length === before)
    await new Promise((resolve) => setImmediate(resolve))
  expect((await call()).status).toBe(200)
  await child.stop('SIGTERM')
  const warnings = child
    .stderr()
    .split('\n')
    .filter((text) => text.includes('cannot be kept on disk'))
  return { sent: openingsOf(older.asked), warnings }
}

test('where a folder has the place of the file, memory has to do', async () => {
  await using workspace = await openWorkspace(several(older, 1))
  await mkdir(statePath(workspace), { recursive: true })
  const { sent, warnings } = await twice(workspace)
  expect(sent).toMatch(/^discover initialize( initialize)+$/)
  expect(warnings).toHaveLength(1)
})

test('where the state folder cannot be made, memory has to do', async () => {
  await using workspace = await openWorkspace(several(older, 1))
  await writeFile(workspace.file('taken'), '')
  const { env, ...command } = workspace.command('daemon', '--port', '0', '--json')
  const below = { ...command, env: { ...env, MCPX_STATE_DIR: workspace.file(join('taken', 'state')) } }
  const { sent, warnings } = await twice(workspace, below)
  expect(sent).toMatch(/^discover initialize( initialize)+$/)
  expect(warnings).toHaveLength(1)
})

const hasBash = spawnSync('bash', ['-c', 'ulimit -f 0']).status === 0

test.skipIf(!hasBash)('on a disk that is full, memory has to do', async () => {
  await using workspace = await openWorkspace(several(older, 1))
  const { command, args, ...rest } = workspace.command('daemon', '--port', '0', '--json')
  const limited = ['-c', 'ulimit -f 0; exec "$0" "$@"', command, ...args]
  const { sent, warnings } = await twice(workspace, { command: 'bash', args: limited, ...rest })
  expect(sent).toMatch(/^discover initialize( initialize)+$/)
  expect(warnings).toHaveLength(1)
})

test('what no start used for 30 days is dropped', async () => {
  const config = several(older, 3)
  await using workspace = await openWorkspace(config)
  const at = Date.now()
  const used = (age: number) =>
    recordOf('modern', { transport: 'streamable-http', at: at - 60 * DAY, usedAt: at - age })
  await plant(workspace, { ...config }, { s1: used(29 * DAY), s2: used(31 * DAY) })
  const { records: planted } = remembered(workspace)
  await using alone = await openWorkspace(several(older, 1), { MCPX_STATE_DIR: workspace.file('state') })
  await openingIn(alone)
  const { records } = remembered(workspace)
  expect(Object.keys(records).toSorted()).toEqual([digestOf(config, 's0'), digestOf(config, 's1')].toSorted())
  expect(records[digestOf(config, 's1')]).toEqual(planted[digestOf(config, 's1')])
})

const ages = [
  { what: 'younger than eraMaxAge', era: 'legacy', age: 0.5 * DAY, sent: 'initialize' },
  { what: 'older than eraMaxAge', era: 'legacy', age: 1.5 * DAY, sent: 'discover initialize' },
  {
    what: 'from a time that has not come, as after a clock was set back,',
    era: 'legacy',
    age: -2 * DAY,
    sent: 'discover initialize',
  },
  { what: 'older than eraMaxAge', era: 'modern', age: 20 * DAY, sent: 'discover' },
] as const

test.each(ages)('a $era record that is $what: the next start sends $sent', async ({ era, age, sent }) => {
  const config = several(era === 'legacy' ? older : newer, 1)
  await using workspace = await openWorkspace(config)
  const at = Date.now() - age
  const server = { name: 'fixture', version: '1.0.0' }
  await plant(workspace, config, {
    s0: recordOf(era, { transport: 'streamable-http', at, usedAt: at, server }),
  })
  expect(await openingIn(workspace)).toBe(sent)
  const [record] = Object.values(remembered(workspace).records)
  // What is only believed is no younger for it.
  if (sent === 'initialize') expect(record?.['at']).toBe(at)
  else if (era === 'legacy') expect(record?.['at']).not.toBe(at)
})

test('with upstream.eraCache off nothing is read and nothing is written', async () => {
  const config = several(older, 1)
  await using workspace = await openWorkspace({ ...config, upstream: { eraCache: false } })
  await plant(workspace, config, { s0: recordOf('legacy', { transport: 'streamable-http' }) })
  const before = remembered(workspace)
  expect(await openingIn(workspace)).toBe('discover initialize')
  expect(remembered(workspace)).toEqual(before)
})
