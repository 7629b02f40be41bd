// Servers as they were met: what each is sent, what mcpx takes it for, how many processes that takes, and what the next start sends.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { eventually } from '../transport/processes.ts'
import { legacy, openingsOf, openUpstream, refuse } from './http-upstream.ts'
import type { Asked, Reply } from './http-upstream.ts'
import { methodsIn, openingsIn, processesIn, recorded, recordedIn, startIn } from './setup.ts'
import type { Era } from './setup.ts'

let gate: Gate
let folder: Workspace
beforeAll(async () => {
  gate = await openGate()
  folder = await openWorkspace()
})
afterAll(async () => {
  await folder[Symbol.asyncDispose]()
  await gate[Symbol.asyncDispose]()
})

let cases = 0
/** A server on stdio, what it has recorded, and how it is configured. */
function onPipe(program: string, ...args: string[]) {
  const file = folder.file(`case ${++cases}`)
  return { definition: recorded(file, program, ...args), frames: () => recordedIn(file) }
}

/** Runs the daemon, lets it call the server, and tells what came of it. */
async function start(workspace: Workspace) {
  await using daemon = await startIn(workspace)
  const called = await daemon.call('one', 'era')
  return { said: called.said, ...(await found(daemon)) }
}

async function found(daemon: Era) {
  const { live, record } = await daemon.protocol('one')
  return { era: live?.era, source: live?.eraSource, remembered: record?.era }
}

const QUICK = { probeTimeout: '100ms' }
const PATIENT = { probeTimeout: '60s' }

const refusing = [
  { id: 'C07', program: 'not-initialized', what: 'refuses discover with -32602' },
  {
    id: 'C08',
    program: 'names-old-versions',
    what: 'refuses discover with -32022, naming legacy revisions only',
  },
]

for (const { id, what, program } of refusing)
  test(`case ${id}: a server that ${what} is legacy`, async () => {
    const { definition, frames } = onPipe(program)
    await using workspace = await openWorkspace({ mcpServers: { one: definition }, upstream: PATIENT })
    expect(await start(workspace)).toEqual({
      said: 'legacy',
      era: 'legacy',
      source: 'probe',
      remembered: 'legacy',
    })
    expect(processesIn(frames())).toEqual(['discover initialize'])
    expect(methodsIn(frames())).toContain('tools/list')
    expect(await start(workspace)).toMatchObject({ said: 'legacy', era: 'legacy', source: 'cache' })
    expect(processesIn(frames())).toEqual(['discover initialize', 'initialize'])
  })

const silent = [
  { id: 'C01', program: 'silent-until-initialize', what: 'answers nothing before initialize' },
  { id: 'C02', program: 'silent-on-meta', what: 'is silent where there is a _meta' },
]

for (const { id, what, program } of silent)
  test(`case ${id}: a server that ${what} is asked the other way beside it`, async () => {
    const { definition, frames } = onPipe(program)
    const config = { mcpServers: { one: definition } }
    await using workspace = await openWorkspace({ ...config, upstream: QUICK })
    expect(await start(workspace)).toEqual({
      said: 'legacy',
      era: 'legacy',
      source: 'raced',
      remembered: 'legacy',
    })
    expect(processesIn(frames())).toEqual(['discover initialize'])
    const patient = { MCPX_STATE_DIR: workspace.file('state') }
    await using later = await openWorkspace({ ...config, upstream: PATIENT }, patient)
    expect(await start(later)).toMatchObject({ said: 'legacy', era: 'legacy', source: 'cache' })
    expect(processesIn(frames())).toEqual(['discover initialize', 'initialize'])
  })

test('case C12: a modern server that is slow to start stays modern, in the same process', async () => {
  const { definition, frames } = onPipe('late')
  const one = { ...definition, env: { ...definition.env, GATE: gate.url('late') } }
  await using workspace = await openWorkspace({ mcpServers: { one }, upstream: QUICK })
  const first = start(workspace)
  expect(await eventually(() => openingsIn(frames()) === 'discover initialize')).toBe(true)
  gate.open('late')
  expect(await first).toEqual({ said: 'modern', era: 'modern', source: 'probe', remembered: 'modern' })
  expect(processesIn(frames())).toEqual(['discover initialize'])
  // What is known to be modern is not asked the other way that soon.
  expect(await start(workspace)).toMatchObject({ era: 'modern', source: 'cache' })
  expect(processesIn(frames())).toEqual(['discover initialize', 'discover'])
})

test('case C12: a server of both eras that has read initialize by then is replaced by a fresh process', async () => {
  const { definition, frames } = onPipe('late', 'dual')
  const one = { ...definition, env: { ...definition.env, GATE: gate.url('late dual') } }
  await using workspace = await openWorkspace({ mcpServers: { one }, upstream: QUICK })
  const first = start(workspace)
  expect(await eventually(() => openingsIn(frames()) === 'discover initialize')).toBe(true)
  gate.open('late dual')
  expect(await first).toMatchObject({ said: 'modern', era: 'modern', remembered: 'modern' })
  expect(processesIn(frames())).toEqual(['discover initialize', 'discover'])
})

test('case C14: a server that exits before initialize is started again, once in its life', async () => {
  const { definition, frames } = onPipe('exits-before-initialize')
  await using workspace = await openWorkspace({ mcpServers: { one: definition }, upstream: PATIENT })
  expect(await start(workspace)).toEqual({
    said: 'legacy',
    era: 'legacy',
    source: 'closed',
    remembered: 'legacy',
  })
  expect(processesIn(frames())).toEqual(['discover', 'initialize'])
  expect(await start(workspace)).toMatchObject({ said: 'legacy', source: 'cache' })
  expect(processesIn(frames())).toEqual(['discover', 'initialize', 'initialize'])
})

test.each(['after refusing it', 'silently'])(
  'a modern server that exits on initialize, %s, is started again with discover only',
  async (how) => {
    const { definition, frames } = onPipe('exits-on-initialize', how)
    const one = { ...definition, protocol: 'prefer-initialize' }
    await using workspace = await openWorkspace({ mcpServers: { one }, upstream: PATIENT })
    expect(await start(workspace)).toMatchObject({ said: 'modern', era: 'modern', remembered: 'modern' })
    // What follows a refusal in time may still reach the process that is about to exit.
    expect(processesIn(frames()).map((sent) => sent.replace('initialize discover', 'initialize'))).toEqual([
      'initialize',
      'discover',
    ])
    expect(await start(workspace)).toMatchObject({ said: 'modern', source: 'cache' })
    expect(processesIn(frames()).slice(2)).toEqual(['discover'])
  },
)

const ofDiscover = (reply: (asked: Asked) => Reply) => (asked: Asked) =>
  asked.method === 'server/discover' ? reply(asked) : undefined
const withNullId = (code: number, message: string) => ({ jsonrpc: '2.0', id: null, error: { code, message } })

const overHttp = [
  { id: 'C03', what: '400 with -32000', reply: (asked: Asked) => refuse(asked, -32000, { status: 400 }) },
  {
    id: 'C04',
    what: '400 with an error of its own making',
    reply: () => ({ status: 400, body: { error: { code: 'invalid_payload', message: 'unknown method' } } }),
  },
  {
    id: 'C05',
    what: '400 that demands a session, with a null id',
    reply: () => ({
      status: 400,
      body: withNullId(-32000, 'Bad Request: Mcp-Session-Id header is required'),
    }),
  },
  { id: 'C06', what: '200 with -32601', reply: (asked: Asked) => refuse(asked, -32601) },
  {
    id: 'C08',
    what: '400 with -32022 that names legacy revisions only',
    reply: (asked: Asked) => refuse(asked, -32022, { status: 400, data: { supported: ['2025-06-18'] } }),
  },
]

for (const { id, what, reply } of overHttp)
  test(`case ${id}: ${what} as the answer to discover is legacy`, async () => {
    const server = legacy(ofDiscover(reply))
    await using upstream = await openUpstream(server.behaviour)
    await using workspace = await openWorkspace({ mcpServers: { one: { url: upstream.url } } })
    expect(await start(workspace)).toEqual({
      said: 'legacy',
      era: 'legacy',
      source: 'probe',
      remembered: 'legacy',
    })
    expect(openingsOf(upstream.asked)).toBe('discover initialize')
    expect(server.opened).toHaveLength(1)
    upstream.forget()
    expect(await start(workspace)).toMatchObject({ said: 'legacy', source: 'cache' })
    expect(openingsOf(upstream.asked)).toBe('initialize')
  })
