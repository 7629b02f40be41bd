// server-filesystem takes its client's roots for its permissions: whose roots those are is decided by the scope.
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Address, JsonObject } from '../peers/peer.ts'
import { ROOT } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'
import { KINDS, openAskable } from './askable.ts'
import type { Askable } from './askable.ts'

const FILESYSTEM = join(
  ROOT,
  'node_modules',
  '@modelcontextprotocol',
  'server-filesystem',
  'dist',
  'index.js',
)
const BY = ['stdio', 'http'] as const
const CELLS = KINDS.flatMap((kind) => BY.map((by) => ({ kind, by })))

let top: string
let folders: Record<'given' | 'set' | 'one' | 'two', string>
let workspace: Workspace
let daemon: Running
let mcp: string

beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'mcpx-roots-')))
  const names = ['given', 'set', 'one', 'two'] as const
  folders = Object.fromEntries(names.map((name) => [name, join(top, name)])) as typeof folders
  for (const folder of Object.values(folders)) await mkdir(folder)
  const server = { command: process.execPath, args: [FILESYSTEM, folders.given] }
  workspace = await openWorkspace({
    mcpServers: {
      shared: server,
      configured: { ...server, roots: [folders.set] },
      own: { ...server, scope: 'principal' },
      session: { ...server, scope: 'session' },
    },
  })
  daemon = await workspace.start('daemon', '--port', '0', '--json')
  mcp = (JSON.parse(await daemon.printed(/\n/)) as { mcp: string }).mcp
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
  await rm(top, { recursive: true, force: true })
})

const addressOf = (by: 'stdio' | 'http', server: string): Address =>
  by === 'http' ? { url: `${mcp}/${server}` } : workspace.command('serve', '--standalone', '--server', server)
const root = (folder: string) => ({ uri: pathToFileURL(folder).href, name: 'a root' })

async function allowed(client: Askable): Promise<string[]> {
  const { content } = (await client.callTool('list_allowed_directories', {})) as {
    content: { text: string }[]
  }
  return (content[0]?.text ?? '').split('\n').slice(1)
}

/** Waits until the server has taken the roots over, which it does when it pleases. */
async function becomes(client: Askable, folder: string): Promise<string[]> {
  for (;;) {
    const now = await allowed(client)
    if (now.includes(folder)) return now
  }
}

const write = (client: Askable, folder: string): Promise<JsonObject> =>
  client.callTool('write_file', { path: join(folder, 'a.txt'), content: 'text' })

describe.each(CELLS)('$kind over $by', ({ kind, by }) => {
  test('a server that is shared by all keeps the folders of its definition', async () => {
    await using client = await openAskable(kind, addressOf(by, 'shared'))
    client.roots = [root(folders.one)]
    expect(await allowed(client)).toEqual([folders.given])
    if (kind !== 'v2 modern') await client.rootsChanged()
    expect(await write(client, folders.one)).toMatchObject({ isError: true })
    expect(await allowed(client)).toEqual([folders.given])
    expect(client.asked).toEqual([])
  })

  test('a server that is shared by all has the roots of its definition', async () => {
    await using client = await openAskable(kind, addressOf(by, 'configured'))
    client.roots = [root(folders.one)]
    expect(await becomes(client, folders.set)).toEqual([folders.set])
    expect(await write(client, folders.one)).toMatchObject({ isError: true })
    expect(client.asked).toEqual([])
  })

  test('a server of a principal follows its roots', async () => {
    await using client = await openAskable(kind, addressOf(by, 'own'))
    client.roots = [root(folders.one)]
    expect(await becomes(client, folders.one)).toEqual([folders.one])
    expect((await write(client, folders.one))['isError']).not.toBe(true)
    expect(await write(client, folders.given)).toMatchObject({ isError: true })
    // The modern revision has no way to say that roots are others now.
    if (kind === 'v2 modern') return
    client.roots = [root(folders.two)]
    await client.rootsChanged()
    expect(await becomes(client, folders.two)).toEqual([folders.two])
    expect(await write(client, folders.one)).toMatchObject({ isError: true })
  })

  test('a server of a principal whose client has no roots keeps its own folders', async () => {
    await using client = await openAskable(kind, addressOf(by, 'own'), { elicitation: { form: {} } })
    expect(await allowed(client)).toEqual([folders.given])
    expect(await allowed(client)).toEqual([folders.given])
  })
})

test('the servers of two sessions each follow their own', async () => {
  await using one = await openAskable('v1', addressOf('http', 'session'))
  await using two = await openAskable('v1', addressOf('http', 'session'))
  one.roots = [root(folders.one)]
  two.roots = [root(folders.two)]
  expect(await Promise.all([becomes(one, folders.one), becomes(two, folders.two)])).toEqual([
    [folders.one],
    [folders.two],
  ])
  one.roots = [root(folders.set)]
  await one.rootsChanged()
  expect(await becomes(one, folders.set)).toEqual([folders.set])
  expect(await allowed(two)).toEqual([folders.two])
})
