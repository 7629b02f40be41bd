// The search itself: it finds what a process of mcpx says, in each of the ways in which it can be said.
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startDaemon } from '../peers/processes.ts'
import { leaksIn, SECRETS } from './secrets.ts'

test.each([
  ['an answer of the interface', 'a-server-of-that-name', true],
  ['its log', 'told-by-the-log', true],
  ['nothing', 'never-said-anywhere', false],
])('a secret in %s is found', async (_, secret, found) => {
  const folder = await mkdtemp(join(tmpdir(), 'mcpx-said-'))
  try {
    const config = { mcpServers: { 'a-server-of-that-name': { command: 'told-by-the-log' } } }
    await using daemon = await startDaemon(config, { MCPX_SAID_DIR: folder, MCPX_LOG_LEVEL: 'debug' })
    await (await fetch(`${daemon.v1}/servers`)).text()
    const body = JSON.stringify({ server: 'a-server-of-that-name', tool: 'any' })
    await fetch(`${daemon.v1}/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    await daemon.stop()
    await appendFile(join(folder, SECRETS), `${secret}\n`)
    const { secrets, leaks } = await leaksIn(folder)
    expect(secrets).toBe(1)
    expect(leaks.length > 0).toBe(found)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
