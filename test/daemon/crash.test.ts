// An upstream that dies in the middle of a call: that call is told, by the server's name, and the next one works.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import type { Address, JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { fixture, openWorkspace, pidsIn } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'

let gate: Gate
let workspace: Workspace
let daemon: Daemon
let config: JsonObject
beforeAll(async () => {
  gate = await openGate()
  workspace = await openWorkspace()
  config = {
    mcpServers: {
      victim: fixture('legacy-stdio', { PIDS: workspace.file('pids') }),
      crashing: fixture('crashes-mid-call'),
      bystander: fixture('legacy-stdio'),
    },
  }
  daemon = await startDaemon(config)
})
afterAll(async () => {
  await daemon.stop()
  await workspace[Symbol.asyncDispose]()
  await gate[Symbol.asyncDispose]()
})

const faces = [
  { face: 'http', address: (): Address => ({ url: daemon.url }) },
  { face: 'stdio', address: (): Address => daemon.serve() },
  { face: 'stdio without the daemon', address: (): Address => daemon.serve('--standalone') },
] as const
const revisions = ['2025-11-25', '2026-07-28'] as const
const cells = faces.flatMap((face) => revisions.map((revision) => ({ ...face, revision })))

test.each(cells)('a server that is killed, over $face in $revision', async ({ face, address, revision }) => {
  await using client = await openRaw(address(), revision)
  const label = (name: string) => `${name} ${face} ${revision}`
  const doomed = client.callTool('victim__hold', { gate: gate.url(label('doomed')) })
  const unharmed = client.callTool('bystander__hold', { gate: gate.url(label('unharmed')) })
  unharmed.catch(() => undefined)
  // Judged at once, since it may reject before it is awaited.
  const told = expect(doomed).rejects.toMatchObject({
    code: -32603,
    message: expect.stringMatching(/^Server "victim" (was ended by SIGKILL|exited with code 1)/),
    data: { code: 'UPSTREAM_CLOSED' },
  })
  await gate.reached(label('doomed'))
  await gate.reached(label('unharmed'))
  const victim = pidsIn(workspace.file('pids')).at(-1)
  if (victim === undefined) throw new Error('the server noted no pid')
  process.kill(victim, 'SIGKILL')
  await told

  expect(await client.callTool('victim__echo', { message: 'again' })).toMatchObject({
    content: [{ text: 'again' }],
  })
  gate.open(label('unharmed'), 'still here')
  expect(await unharmed).toMatchObject({ content: [{ text: 'still here' }] })
})

test.each(cells)('a server that exits, over $face in $revision', async ({ address, revision }) => {
  await using client = await openRaw(address(), revision)
  // Twice: the first call that a process gets is no worse than a later one.
  for (let round = 0; round < 2; round++) {
    await expect(client.callTool('crashing__crash', {})).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(
        /^Server "crashing" exited with code 3.* stderr ends:\n  the disk is on fire$/s,
      ),
    })
    const echoed = await client.callTool('crashing__echo', { message: 'again' })
    expect(echoed).toMatchObject({ content: [{ text: 'again' }] })
  }
})
