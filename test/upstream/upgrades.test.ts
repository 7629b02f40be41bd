// Servers on stdio that are exchanged between two starts under the same command line.
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { plant, processesIn, recorded, recordedIn, recordOf, startIn, watch } from './setup.ts'

interface Exchangeable extends AsyncDisposable {
  readonly workspace: Workspace
  readonly config: JsonObject
  /** Puts a version of the server in place: `1.0.0 legacy`. */
  become(version: string): Promise<void>
  /** One start: what it sent, what the call was told, and whether a record was found wrong. */
  start(): Promise<{ readonly sent: string; readonly said: string; readonly stale: boolean }>
}

async function openExchangeable(upstream: JsonObject = {}): Promise<Exchangeable> {
  const folder = await openWorkspace()
  const version = folder.file('version')
  const frames = folder.file('frames')
  const definition = recorded(frames, 'upgradable')
  const one = { ...definition, env: { ...definition.env, VERSION: version } }
  const config = { mcpServers: { one }, upstream: { probeTimeout: '60s', ...upstream } }
  const workspace = await openWorkspace(config)
  return {
    workspace,
    config,
    become: (text) => writeFile(version, text),
    start: async () => {
      await using daemon = await startIn(workspace)
      await using events = await watch(daemon.v1, 0)
      const { said } = await daemon.call('one', 'era')
      const seen = await events.until((all) => all.some(({ type }) => type === 'server.start'))
      const stale = seen.some(({ type }) => type === 'server.era.stale')
      return { sent: processesIn(recordedIn(frames)).at(-1) ?? '', said, stale }
    },
    [Symbol.asyncDispose]: async () => {
      await workspace[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('case C11: an upgrade that shows in the version is found at the next start, and modern at the one after', async () => {
  await using server = await openExchangeable()
  await server.become('1.0.0 legacy')
  expect(await server.start()).toEqual({ sent: 'discover initialize', said: 'legacy', stale: false })
  await server.become('2.0.0 dual')
  expect(await server.start()).toEqual({ sent: 'initialize', said: 'legacy', stale: true })
  expect(await server.start()).toEqual({ sent: 'discover', said: 'modern', stale: true })
  expect(await server.start()).toEqual({ sent: 'discover', said: 'modern', stale: false })
})

test('case C11: an upgrade that shows nowhere is found when the record is older than eraMaxAge', async () => {
  await using server = await openExchangeable({ eraMaxAge: '1h' })
  await server.become('1.0.0 dual')
  const now = Date.now()
  const record = (at: number) =>
    recordOf('legacy', { at, usedAt: now, server: { name: 'fixture', version: '1.0.0' } })
  await plant(server.workspace, server.config, { one: record(now - 1_800_000) })
  expect(await server.start()).toEqual({ sent: 'initialize', said: 'legacy', stale: false })
  await plant(server.workspace, server.config, { one: record(now - 7_200_000) })
  expect(await server.start()).toEqual({ sent: 'discover', said: 'modern', stale: true })
})

test('case C11: a server that is put back to legacy is found so at once', async () => {
  await using server = await openExchangeable()
  await server.become('2.0.0 dual')
  expect(await server.start()).toEqual({ sent: 'discover', said: 'modern', stale: false })
  await server.become('1.0.0 legacy')
  expect(await server.start()).toEqual({ sent: 'discover initialize', said: 'legacy', stale: true })
  expect(await server.start()).toEqual({ sent: 'initialize', said: 'legacy', stale: false })
})

test('another version of a legacy server that is still legacy costs one probe', async () => {
  await using server = await openExchangeable()
  await server.become('1.0.0 legacy')
  await server.start()
  await server.become('1.1.0 legacy')
  expect((await server.start()).sent).toBe('initialize')
  expect((await server.start()).sent).toBe('discover initialize')
  expect((await server.start()).sent).toBe('initialize')
})

test('a preference that changes learns anew, and finds no record wrong over it', async () => {
  await using server = await openExchangeable()
  await server.become('1.0.0 dual')
  expect(await server.start()).toEqual({ sent: 'discover', said: 'modern', stale: false })
  const other = { ...server.config, upstream: { protocol: 'prefer-initialize', probeTimeout: '60s' } }
  await writeFile(server.workspace.config, JSON.stringify(other))
  expect(await server.start()).toEqual({ sent: 'initialize', said: 'legacy', stale: false })
})
