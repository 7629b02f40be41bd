import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { eventually, fixture, guardiansOf, runs } from './processes.ts'

const posix = test.skipIf(process.platform === 'win32')
const owners: ChildProcess[] = []

afterEach(() => {
  for (const owner of owners.splice(0)) owner.kill('SIGKILL')
})

/** A process that opens the servers through the transport, and the pids of all of them with their wrappers. */
async function own(...fixtures: string[]) {
  const loader = pathToFileURL(fixture('typescript-loader')).href
  const owner = spawn(process.execPath, ['--import', loader, fixture('owner'), ...fixtures], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  owners.push(owner)
  const pids: number[] = []
  for await (const line of createInterface({ input: owner.stdout })) {
    pids.push(...(JSON.parse(line) as number[]))
    if (pids.length === fixtures.length * 2) break
  }
  return { owner, pid: owner.pid ?? 0, pids }
}

posix('C37: when mcpx is killed, no process of its servers is left, and no guardian', async () => {
  const { owner, pid, pids } = await own('stubborn', 'echo')
  const guardians = guardiansOf(pid)
  expect(guardians).toHaveLength(1)
  expect(pids.every(runs)).toBe(true)
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  expect(await eventually(() => ![...pids, ...guardians].some(runs))).toBe(true)
})

posix('C37: after an orderly stop the guardian goes too', async () => {
  const { owner, pid, pids } = await own('echo')
  const guardians = guardiansOf(pid)
  owner.stdin?.end()
  const [code] = (await once(owner, 'exit')) as [number | null]
  expect(code).toBe(0)
  expect(pids.filter(runs)).toEqual([])
  expect(await eventually(() => !guardians.some(runs))).toBe(true)
})

posix(
  'a guardian ignores what a terminal sends, and one that dies is replaced with all it guarded',
  async () => {
    const { owner, pid, pids } = await own('stubborn')
    const [first = 0] = guardiansOf(pid)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(first, signal)
    process.kill(first, 'SIGKILL')
    expect(await eventually(() => guardiansOf(pid).some((other) => other !== first))).toBe(true)
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    expect(await eventually(() => !pids.some(runs))).toBe(true)
  },
)
