// Servers that are slow to start, or never do: nobody waits for them, nothing starts twice, and the daemon says what they are up to.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCaller, overHttp } from '../bridge/caller.ts'
import { openRaw } from '../peers/clients.ts'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { fixture, openWorkspace, pidsIn } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { eventually } from '../transport/processes.ts'

let gate: Gate
let workspace: Workspace
beforeAll(async () => {
  gate = await openGate()
  workspace = await openWorkspace()
})
afterAll(async () => {
  await workspace[Symbol.asyncDispose]()
  await gate[Symbol.asyncDispose]()
})

interface Report {
  readonly name: string
  readonly state: string
  readonly tools: number | null
  readonly instances: readonly { readonly state: string }[]
  readonly error: { readonly message: string } | null
}

async function reports(daemon: Daemon): Promise<readonly Report[]> {
  return ((await (await fetch(`${daemon.v1}/servers`)).json()) as { servers: Report[] }).servers
}

/** Asks until the daemon says so: what it knows comes from processes that are not the test's. */
async function told(
  daemon: Daemon,
  fits: (servers: readonly Report[]) => boolean,
): Promise<readonly Report[]> {
  for (;;) {
    const servers = await reports(daemon)
    if (fits(servers)) return servers
  }
}

const pids = (name: string) => ({ PIDS: workspace.file(name) })
const states = (servers: readonly Report[]) =>
  Object.fromEntries(servers.map(({ name, state }) => [name, state]))

test('case C41: the quick servers are listed while one is still starting and one never will', async () => {
  const daemon = await startDaemon(
    {
      mcpServers: {
        slow: fixture('slow-start', { ...pids('slow'), GATE: gate.url('slow') }),
        dead: { ...fixture('silent', pids('dead')) },
        a: fixture('legacy-stdio', pids('a')),
        b: fixture('legacy-stdio', pids('b')),
        c: fixture('legacy-stdio', pids('c')),
      },
    },
    { MCPX_LISTS_PATIENCE: '200ms', MCPX_POOL_STOP_GRACE: '50ms', MCPX_POOL_KILL_GRACE: '50ms' },
  )
  try {
    const early = await openRaw({ url: daemon.url }, '2025-11-25')
    // Right after the start, a list is an answer, whatever it holds.
    expect(await early.listTools()).toEqual(expect.any(Array))
    const servers = await told(daemon, (all) => all.filter(({ state }) => state === 'ready').length === 3)
    expect(states(servers)).toEqual({
      slow: 'starting',
      dead: 'starting',
      a: 'ready',
      b: 'ready',
      c: 'ready',
    })
    expect(servers.filter(({ state }) => state === 'starting')).toMatchObject([
      { tools: null, error: null, instances: [{ state: 'starting' }] },
      { tools: null, error: null, instances: [{ state: 'starting' }] },
    ])

    for (const revision of ['2025-11-25', '2026-07-28'] as const) {
      await using client = await openRaw({ url: daemon.url }, revision)
      const names = (await client.listTools()).map(({ name }) => String(name))
      expect(names.filter((name) => name.endsWith('__echo'))).toEqual(['a__echo', 'b__echo', 'c__echo'])
      expect(await client.callTool('b__echo', { message: 'hi' })).toMatchObject({ content: [{ text: 'hi' }] })
    }

    // Those who have the list without the slow one are told when it is there.
    await using legacy = await openCaller('2025-11-25', overHttp(daemon.url))
    await legacy.listen()
    await using modern = await openCaller('2026-07-28', overHttp(daemon.url))
    modern.send('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } })
    await modern.next(({ method }) => method === 'notifications/subscriptions/acknowledged', 0)
    for (const caller of [legacy, modern]) await caller.ask('before', 'tools/list')

    // A call of the slow one waits for the start that is under way.
    const waiting = early.callTool('slow__echo', { message: 'at last' })
    gate.open('slow')
    expect(await waiting).toMatchObject({ content: [{ text: 'at last' }] })
    for (const caller of [legacy, modern]) {
      await caller.next(({ method }) => method === 'notifications/tools/list_changed', 0)
      expect(JSON.stringify(await caller.ask('after', 'tools/list'))).toContain('slow__echo')
    }
    await told(daemon, (all) => states(all)['slow'] === 'ready')
    const all = ['slow__echo', 'a__echo', 'b__echo', 'c__echo']
    // A list that is late for one answer is in the next.
    for (let names: string[] = []; names.length < all.length;) {
      names = (await early.listTools())
        .map(({ name }) => String(name))
        .filter((name) => name.endsWith('__echo'))
      expect(all.filter((name) => names.includes(name))).toEqual(names)
    }
    await early.close()

    const started = ['slow', 'dead', 'a', 'b', 'c'].map((name) => [name, pidsIn(workspace.file(name)).length])
    expect(started).toEqual([
      ['slow', 1],
      ['dead', 1],
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ])
  } finally {
    await daemon.stop()
  }
})

test('case C41: the server that never starts is shown with its reason', async () => {
  await using daemon = await startDaemon(
    { mcpServers: { dead: { ...fixture('silent'), startTimeout: '300ms' }, a: fixture('legacy-stdio') } },
    { MCPX_POOL_STOP_GRACE: '50ms', MCPX_POOL_KILL_GRACE: '50ms' },
  )
  const servers = await told(daemon, (all) => all[0]?.state === 'failed' && all[1]?.state === 'ready')
  expect(servers[0]).toMatchObject({
    error: {
      code: 'UPSTREAM_START_TIMEOUT',
      message: expect.stringMatching(/^Server "dead" did not answer .*startTimeout/),
    },
  })
})

test('case C41: never more than four are starting', async () => {
  const names = ['1', '2', '3', '4', '5', '6']
  const servers = names.map((name) => [
    name,
    fixture('slow-start', { ...pids('line'), GATE: gate.url(`line ${name}`) }),
  ])
  await using daemon = await startDaemon({ mcpServers: Object.fromEntries(servers) })
  const inState = (all: readonly Report[], state: string) =>
    all
      .filter(({ instances }) => instances.some((instance) => instance.state === state))
      .map(({ name }) => name)
  const arrived = () => names.filter((name) => gate.count(`line ${name}`) > 0)

  expect(await eventually(() => arrived().length === 4)).toBe(true)
  const first = arrived()
  const before = await reports(daemon)
  expect(inState(before, 'starting').toSorted()).toEqual(first)
  expect(inState(before, 'waiting')).toHaveLength(2)
  expect(states(before)).toEqual(Object.fromEntries(names.map((name) => [name, 'starting'])))
  expect(pidsIn(workspace.file('line'))).toHaveLength(4)

  // One that is up makes room for one.
  gate.open(`line ${first[0]}`)
  expect(await eventually(() => arrived().length === 5)).toBe(true)
  const after = await reports(daemon)
  expect(inState(after, 'ready')).toEqual([first[0]])
  expect(inState(after, 'starting')).toHaveLength(4)
  expect(inState(after, 'waiting')).toHaveLength(1)

  for (const name of names) gate.open(`line ${name}`)
  await told(daemon, (all) => all.every(({ state, tools }) => state === 'ready' && tools === 3))
  expect(pidsIn(workspace.file('line'))).toHaveLength(6)
})

test('a list waits for servers that are about to be ready, and for no other', async () => {
  await using daemon = await startDaemon(
    {
      mcpServers: { broken: fixture('stack-trace'), a: fixture('legacy-stdio'), b: fixture('legacy-stdio') },
    },
    { MCPX_LISTS_PATIENCE: '50s' },
  )
  await using client = await openRaw({ url: daemon.url }, '2026-07-28')
  const names = (await client.listTools()).map(({ name }) => String(name))
  expect(names.filter((name) => name.endsWith('__echo'))).toEqual(['a__echo', 'b__echo'])
})

test('case C15: a server that exits at once is started twice, with its exit code and stderr told, and nothing remembered', async () => {
  await using daemon = await startDaemon({ mcpServers: { broken: fixture('stack-trace', pids('broken')) } })
  const [server] = await told(daemon, ([only]) => only?.state === 'failed')
  expect(server?.error?.message).toMatch(
    /^Server "broken" exited with code 1 .*Its stderr ends:\n.*Error: no database at localhost:5432/s,
  )
  expect(pidsIn(workspace.file('broken'))).toHaveLength(2)
  const protocol = (await (await fetch(`${daemon.v1}/protocol`)).json()) as { servers: object[] }
  expect(protocol.servers).toMatchObject([
    {
      name: 'broken',
      live: null,
      record: null,
      probe: expect.arrayContaining([expect.objectContaining({ method: 'close' })]),
    },
  ])
})
