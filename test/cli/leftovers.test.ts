// Case C37: however mcpx ends, nothing that it started is left, not even what ignores the end of its stdin and SIGTERM, or was
// started by a wrapper.
import { expect, test as anywhere } from 'vitest'
import { fixture, openWorkspace, pidsIn } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { eventually, guardiansOf, runs } from '../transport/processes.ts'

/** Windows has neither these signals nor process groups; there, taskkill ends a tree. */
const test = anywhere.skipIf(process.platform === 'win32')
/** How many processes each server is. The wrapped server is the stubborn one. */
const PROCESSES = { 'legacy-stdio': 1, stubborn: 1, wrapper: 2 }
const ALL = 4
const ENVIRONMENT = { MCPX_POOL_STOP_GRACE: '100ms', MCPX_POOL_KILL_GRACE: '100ms' }

async function open(): Promise<Workspace> {
  const env = { PIDS: '${workspaceFolder}/pids' }
  const servers = Object.keys(PROCESSES).map((name) => [name, fixture(name, env)])
  return openWorkspace({ mcpServers: Object.fromEntries(servers) }, ENVIRONMENT)
}

const pidsOf = (workspace: Workspace) => pidsIn(workspace.file('pids'))
const noneLeft = (pids: readonly number[]) => eventually(() => !pids.some(runs))

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends the daemon and all that it started', async (signal) => {
  await using workspace = await open()
  await using daemon = await workspace.start('daemon', '--port', '0')
  await daemon.printed(/Paste into a client:/)
  const pids = pidsOf(workspace)
  expect(pids.filter(runs)).toHaveLength(ALL)
  const guardians = guardiansOf(daemon.pid)
  expect(await daemon.end(signal)).toBe(0)
  // The daemon waits for its servers: they are gone when it is.
  expect(pids.filter(runs)).toEqual([])
  expect(await noneLeft(guardians)).toBe(true)
})

test('SIGKILL of the daemon leaves nothing running', async () => {
  await using workspace = await open()
  await using daemon = await workspace.start('daemon', '--port', '0')
  await daemon.printed(/Paste into a client:/)
  const pids = pidsOf(workspace)
  expect(pids.filter(runs)).toHaveLength(ALL)
  const guardians = guardiansOf(daemon.pid)
  expect(guardians).toHaveLength(1)
  expect(await daemon.end('SIGKILL')).toBe('SIGKILL')
  expect(await noneLeft([...pids, ...guardians])).toBe(true)
})

test('the second signal ends the daemon at once, and the guardian the rest', async () => {
  await using workspace = await open()
  await using daemon = await workspace.start('daemon', '--port', '0', '--pool-stop-grace', '1h')
  await daemon.printed(/Paste into a client:/)
  const pids = pidsOf(workspace)
  process.kill(daemon.pid, 'SIGTERM')
  await daemon.logged(/"stopping"/)
  expect(await daemon.end('SIGTERM')).toBe(1)
  expect(await noneLeft(pids)).toBe(true)
})

const endings = [
  { how: 'the end of its stdin', signal: undefined, code: 0 },
  { how: 'SIGTERM', signal: 'SIGTERM', code: 0 },
  { how: 'SIGKILL', signal: 'SIGKILL', code: 'SIGKILL' },
] as const

test.each(endings)('mcpx serve ended by $how leaves nothing running', async ({ signal, code }) => {
  await using workspace = await open()
  await using serve = await workspace.start('serve')
  serve.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
  await serve.printed(/"id":1/)
  const pids = pidsOf(workspace)
  expect(pids.filter(runs)).toHaveLength(ALL)
  if (signal === undefined) serve.stdin.end()
  expect(await serve.end(signal)).toBe(code)
  expect(await noneLeft(pids)).toBe(true)
})

test.each(['SIGINT', 'SIGTERM'] as const)(
  'a command that only runs once ends on %s, and leaves nothing running',
  async (signal) => {
    const silent = fixture('silent', { PIDS: '${workspaceFolder}/pids' })
    await using workspace = await openWorkspace({ mcpServers: { silent } }, ENVIRONMENT)
    await using command = await workspace.start('tools')
    expect(await eventually(() => pidsOf(workspace).length > 0)).toBe(true)
    expect(await command.end(signal)).toBe(130)
    expect(pidsOf(workspace).filter(runs)).toEqual([])
  },
)

test('a command that only runs once leaves nothing running', async () => {
  await using workspace = await open()
  expect(await workspace.run(['tools'])).toMatchObject({ code: 0 })
  const pids = pidsOf(workspace)
  expect(pids).toHaveLength(ALL)
  expect(pids.filter(runs)).toEqual([])
})
