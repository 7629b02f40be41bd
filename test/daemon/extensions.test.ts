// Extensions: what either side declares reaches the other, and skills are found behind one endpoint and behind several servers.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCaller, overHttp } from '../bridge/caller.ts'
import type { Caller } from '../bridge/caller.ts'
import { metaOf, openBridge } from '../bridge/cells.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'

const EVERYTHING = fileURLToPath(new URL('../fixtures/everything/server.mjs', import.meta.url))
const SKILLS = 'io.modelcontextprotocol/skills'
const UI = 'io.modelcontextprotocol/ui'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const SKILL = 'skill://greeting/SKILL.md'

let daemon: Daemon
beforeAll(async () => {
  const everything = (era: string) => ({ command: process.execPath, args: [EVERYTHING, '--era', era] })
  daemon = await startDaemon({
    mcpServers: {
      modern: everything('modern'),
      legacy: everything('legacy'),
    },
  })
})
afterAll(() => daemon.stop())

async function open(path: string): Promise<Caller> {
  return openCaller('2026-07-28', overHttp(`${daemon.url}${path}`))
}

async function ask(caller: Caller, method: string, params: JsonObject = {}): Promise<JsonObject> {
  const { result, error } = await caller.ask(`${method} ${String(params['uri'])}`, method, params)
  expect(error).toBeUndefined()
  return result as JsonObject
}

test.each(['', '/modern', '/legacy'])(
  'skills are declared, listed, found and read at /mcp%s',
  async (path) => {
    await using caller = await open(path)
    const { capabilities } = await ask(caller, 'server/discover')
    expect(capabilities).toMatchObject({ extensions: { [SKILLS]: { directoryRead: true } } })

    // A file that is asked for before anything was listed, and that is no listed resource by that name.
    const { contents } = await ask(caller, 'resources/read', { uri: 'skill://greeting/references/words.md' })
    expect(contents).toMatchObject([{ text: 'Hello, hi, good day.\n' }])
    const { skills } = await ask(caller, 'skills/list')
    expect((skills as JsonObject[]).map(({ uri }) => uri)).toContain(SKILL)
    expect(await ask(caller, 'skills/get', { uri: SKILL })).toMatchObject({ skill: { uri: SKILL } })
    const { resources } = await ask(caller, 'resources/directory/read', {
      uri: 'skill://greeting/references',
    })
    expect(resources).toMatchObject([{ uri: 'skill://greeting/references/words.md' }])
    const none = await caller.ask('none', 'skills/get', { uri: 'skill://none/SKILL.md' })
    expect(none).toMatchObject({ error: { code: -32602 } })
  },
)

test('an older client is not told of extensions', async () => {
  await using caller = await openCaller('2025-11-25', overHttp(`${daemon.url}/modern`))
  const { capabilities } = (caller.heard[0]?.['result'] ?? {}) as JsonObject
  expect(capabilities).toHaveProperty('tools')
  expect(capabilities).not.toHaveProperty('extensions')
})

test.each(['stdio', 'http'] as const)(
  'a modern server over %s learns which extensions a caller has, tasks aside',
  async (over) => {
    const cell = { name: 'cell', caller: 'modern', server: 'modern', over, by: 'http' } as const
    await using bridge = await openBridge([cell])
    await using caller = await bridge.open(cell)
    const declared = { [UI]: { mimeTypes: ['text/html'] }, 'io.modelcontextprotocol/tasks': {} }
    await caller.ask('told', 'tools/list', { _meta: { [CAPABILITIES]: { extensions: declared } } })
    await caller.ask('untold', 'tools/list', {})
    const told = bridge
      .notes(cell)
      .filter(({ message }) => message?.method === 'tools/list')
      .map((noted) => metaOf(noted)[CAPABILITIES] as JsonObject)
    // What one caller was offered is not what another is, nor what mcpx itself asks for.
    expect(told.filter(({ extensions }) => extensions !== undefined)).toEqual([
      { extensions: { [UI]: { mimeTypes: ['text/html'] } } },
    ])
    expect(told.at(-1)).toEqual({})
  },
)
