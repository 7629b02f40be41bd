// `follow`: callers on an older revision get a legacy session where the server has one, and everybody else the server's own.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { dual, legacy, modern, openingsOf, openUpstream, refuse } from './http-upstream.ts'
import { processesIn, recorded, recordedIn, remembered, startIn } from './setup.ts'
import type { Era } from './setup.ts'

let folder: Workspace
beforeAll(async () => (folder = await openWorkspace()))
afterAll(() => folder[Symbol.asyncDispose]())

const UPSTREAM = { protocol: 'follow', probeTimeout: '60s' }
const OLDER = { headers: { 'x-mcpx-caller-protocol': '2025-06-18' } }

/** What a caller without a revision, one on an older revision, and again both are told. */
async function askBoth(daemon: Era): Promise<string[]> {
  const said: string[] = []
  for (const more of [{}, OLDER, {}, OLDER]) said.push((await daemon.call('one', 'era', more)).said)
  return said
}

const onStdio = [
  {
    what: 'a server of both eras gets a second process',
    program: ['sdk-v2'],
    said: ['modern', 'legacy', 'modern', 'legacy'],
    processes: ['discover', 'initialize'],
    era: 'modern',
  },
  {
    what: 'a legacy server has one process for all',
    program: ['sdk-v1'],
    said: ['legacy', 'legacy', 'legacy', 'legacy'],
    processes: ['discover initialize'],
    era: 'legacy',
  },
  {
    what: 'a modern server refuses once, and serves all by its own process',
    program: ['sdk-v2', 'modern-only'],
    said: ['modern', 'modern', 'modern', 'modern'],
    processes: ['discover', 'initialize'],
    era: 'modern',
  },
] as const

test.each(onStdio)('$what', async ({ program: [program, ...args], said, processes, era }) => {
  const frames = folder.file([program, ...args].join('-'))
  const config = { mcpServers: { one: recorded(frames, program, ...args) }, upstream: UPSTREAM }
  await using workspace = await openWorkspace(config)
  await using daemon = await startIn(workspace)
  expect(await askBoth(daemon)).toEqual(said)
  expect(processesIn(recordedIn(frames))).toEqual(processes)
  // The second lane is forced, so only the first is remembered.
  expect((await daemon.protocol('one')).live?.era).toBe(era)
  await daemon.stop()
  expect(Object.values(remembered(workspace).records)).toMatchObject([{ era, source: 'probe' }])
})

test('over HTTP the second lane is a session', async () => {
  await using upstream = await openUpstream(dual())
  await using workspace = await openWorkspace({
    mcpServers: { one: { url: upstream.url } },
    upstream: UPSTREAM,
  })
  await using daemon = await startIn(workspace)
  expect(await askBoth(daemon)).toEqual(['modern', 'legacy', 'modern', 'legacy'])
  expect(openingsOf(upstream.asked)).toBe('discover initialize')
})

test('a refusal of initialize is remembered for eraMaxAge only', async () => {
  await using upstream = await openUpstream(modern())
  const mcpServers = { one: { url: upstream.url } }
  await using workspace = await openWorkspace({ mcpServers, upstream: { ...UPSTREAM, eraMaxAge: 0 } })
  await using daemon = await startIn(workspace)
  expect((await daemon.call('one', 'era')).said).toBe('modern')
  upstream.forget()
  // A lane that failed to open waits a little before it tries again.
  while (openingsOf(upstream.asked) !== 'initialize initialize')
    expect((await daemon.call('one', 'era', OLDER)).said).toBe('modern')
})

test('a server that breaks on initialize has refused nothing: it is asked again', async () => {
  const whole = modern()
  await using upstream = await openUpstream((asked) => (asked.method === 'initialize' ? 'cut' : whole(asked)))
  await using workspace = await openWorkspace({
    mcpServers: { one: { url: upstream.url } },
    upstream: UPSTREAM,
  })
  await using daemon = await startIn(workspace)
  expect((await daemon.call('one', 'era', OLDER)).said).toBe('modern')
  // By now it has both eras.
  upstream.behave(dual())
  let said = (await daemon.call('one', 'era', OLDER)).said
  while (said === 'modern') said = (await daemon.call('one', 'era', OLDER)).said
  expect(said).toBe('legacy')
})

test('a server that refuses initialize by a status has refused it', async () => {
  const whole = modern()
  await using upstream = await openUpstream((asked) =>
    asked.method === 'initialize' ? refuse(asked, -32600, { status: 400 }) : whole(asked),
  )
  await using workspace = await openWorkspace({
    mcpServers: { one: { url: upstream.url } },
    upstream: UPSTREAM,
  })
  await using daemon = await startIn(workspace)
  expect(await askBoth(daemon)).toEqual(['modern', 'modern', 'modern', 'modern'])
  expect(openingsOf(upstream.asked)).toBe('discover initialize')
})

const faces = [
  { face: 'mcpx serve', args: ['--server', 'one'] },
  { face: 'mcpx serve --standalone', args: ['--server', 'one', '--standalone'] },
]

test.each(faces)('a host behind $face is a caller of its own revision', async ({ args }) => {
  await using upstream = await openUpstream(dual())
  await using workspace = await openWorkspace({
    mcpServers: { one: { url: upstream.url } },
    upstream: UPSTREAM,
  })
  await using daemon = await startIn(workspace)
  for (const [revision, era] of [
    ['2025-11-25', 'legacy'],
    ['2026-07-28', 'modern'],
    ['2024-11-05', 'legacy'],
  ] as const) {
    await using host = await openRaw(workspace.command('serve', ...args), revision)
    expect(await host.callTool('era', {})).toMatchObject({ content: [{ text: era }] })
    await using client = await openRaw({ url: `${daemon.url}/one` }, revision)
    expect(await client.callTool('era', {})).toMatchObject({ content: [{ text: era }] })
  }
})

test('a legacy call that never ends keeps no modern caller waiting', async () => {
  const older = legacy().behaviour
  const whole = dual()
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  let reached = (): void => undefined
  const arrived = new Promise<void>((resolve) => (reached = resolve))
  await using upstream = await openUpstream(async (asked) => {
    const envelope = (asked.params as { _meta?: object })._meta
    if (asked.method !== 'tools/call' || envelope !== undefined) return whole(asked)
    reached()
    await held
    return older(asked)
  })
  await using workspace = await openWorkspace({
    mcpServers: { one: { url: upstream.url } },
    upstream: UPSTREAM,
  })
  await using daemon = await startIn(workspace)
  const stuck = daemon.call('one', 'era', OLDER)
  await arrived
  for (let call = 0; call < 20; call++) expect((await daemon.call('one', 'era')).said).toBe('modern')
  release()
  await stuck
})

test('a revision that there is not is refused, with those that there are', async () => {
  await using upstream = await openUpstream(dual())
  await using workspace = await openWorkspace({
    mcpServers: { one: { url: upstream.url } },
    upstream: UPSTREAM,
  })
  await using daemon = await startIn(workspace)
  const refused = await daemon.call('one', 'era', { headers: { 'x-mcpx-caller-protocol': '2025-01-01' } })
  expect(refused).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('2024-11-05, 2025-03-26') },
  })
})
