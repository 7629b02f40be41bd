// Servers that write what they should not: a banner on stdout, too much on stderr.
import { expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import { startDaemon } from '../peers/processes.ts'
import { fixture } from '../peers/workspace.ts'

test('case C40: what is no message on stdout is skipped, with one warning that names the server', async () => {
  await using daemon = await startDaemon({
    mcpServers: { chatty: fixture('banner'), quiet: fixture('legacy-stdio') },
    log: { level: 'debug' },
  })
  const linesFrom = (level: number) =>
    daemon
      .stderr()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .filter((line) => line.level >= level)
  await using client = await openRaw({ url: daemon.url }, '2025-11-25')
  for (const message of ['one', 'two', 'three']) {
    expect(await client.callTool('chatty__chatty', { message })).toMatchObject({
      content: [{ text: message }],
    })
  }
  const warnings = linesFrom(40)
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatchObject({ server: 'chatty' })
  await daemon.stop()
  // Two lines of the banner; a log line, an object and a null for each call. A list of nothing is no more than that.
  expect(linesFrom(20).filter(({ count }) => count !== undefined)).toMatchObject([
    { server: 'chatty', count: 2 + 3 * 3 },
  ])
})

test('case C13: a server that floods stderr on the probe is answered, and the tail is kept', async () => {
  await using daemon = await startDaemon({ mcpServers: { loud: fixture('floods-stderr') } })
  await using client = await openRaw({ url: `${daemon.url}/loud` }, '2026-07-28')
  expect(await client.callTool('echo', { message: 'hi' })).toMatchObject({ content: [{ text: 'hi' }] })
  await expect(client.callTool('crash', {})).rejects.toMatchObject({
    code: -32603,
    message: expect.stringMatching(
      /^Server "loud" exited with code 3\b.* Its stderr ends:\n(.*\n){9} {2}the last line$/,
    ),
  })
})
