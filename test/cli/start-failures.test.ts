// Servers that cannot start: each is reported with its reason, and the others work.
import { expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import { startDaemon } from '../peers/processes.ts'
import { fixture, openWorkspace } from '../peers/workspace.ts'

const config = {
  mcpServers: {
    absent: { command: 'no-such-command-here' },
    broken: fixture('stack-trace'),
    secret: { ...fixture('legacy-stdio'), env: { TOKEN: '${env:MCPX_TEST_UNSET}' } },
    good: fixture('legacy-stdio'),
  },
}
const reasons = {
  absent: {
    code: 'UPSTREAM_START_FAILED',
    message: /^Server "absent" did not start: the command "no-such-command-here" was not found\./,
  },
  broken: {
    code: 'CLOSED_DURING_PROBE',
    message:
      /^Server "broken" exited with code 1 .*Its stderr ends:\n.*Error: no database at localhost:5432/s,
  },
  secret: { code: 'CONFIG_INVALID', message: /secret.*MCPX_TEST_UNSET/s },
}
const names = ['absent', 'broken', 'secret'] as const

test('mcpx tools lists what there is, says why the rest is missing, and exits with 1', async () => {
  await using workspace = await openWorkspace(config)
  const people = await workspace.run(['tools'])
  expect(people.code).toBe(1)
  expect(people.stdout).toContain('good.echo')
  for (const name of names)
    expect(people.stderr).toMatch(new RegExp(reasons[name].message.source.replace('^', ''), 's'))

  const machines = await workspace.run(['tools', '--json'])
  expect(machines.code).toBe(1)
  expect(JSON.parse(machines.stdout)).toEqual({
    servers: [
      ...names.map((server) => ({
        server,
        tools: [],
        error: { ...reasons[server], message: expect.stringMatching(reasons[server].message) },
      })),
      {
        server: 'good',
        tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]),
        error: null,
      },
    ],
  })
})

test('mcpx call of such a server says why and exits with 69, or 78 where the configuration is wrong', async () => {
  await using workspace = await openWorkspace(config)
  const codes = { absent: 69, broken: 69, secret: 78 }
  for (const name of names) {
    const { code, stdout, stderr } = await workspace.run(['call', `${name}.echo`])
    expect({ name, code, stdout }).toEqual({ name, code: codes[name], stdout: '' })
    expect(stderr).toMatch(new RegExp(reasons[name].message.source.replace('^', '^mcpx: '), 's'))
  }
})

test('the daemon lists the good server, and /v1/servers has the reasons', async () => {
  await using daemon = await startDaemon(config)
  await using client = await openRaw({ url: daemon.url }, '2025-11-25')
  const tools = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['good__echo', 'good__fail', 'good__hold'])
  expect(await client.callTool('good__echo', { message: 'hi' })).toMatchObject({ content: [{ text: 'hi' }] })

  const { servers } = (await (await fetch(`${daemon.v1}/servers`)).json()) as { servers: object[] }
  expect(servers).toMatchObject([
    ...names.map((name) => ({
      name,
      state: 'failed',
      tools: null,
      error: { ...reasons[name], message: expect.stringMatching(reasons[name].message) },
    })),
    { name: 'good', state: 'ready', era: 'legacy', tools: 3, error: null },
  ])

  for (const name of names) {
    await expect(client.callTool(`${name}__echo`, {})).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(reasons[name].message),
    })
  }
})

test('the table that the daemon prints has the reasons', async () => {
  await using workspace = await openWorkspace(config)
  await using daemon = await workspace.start('daemon', '--port', '0')
  const printed = await daemon.printed(/Paste into a client:/)
  const rows = printed.split('\n').map((line) => line.split(/\s+/))
  expect(
    rows.filter(([name]) => name !== undefined && name in config.mcpServers).map((row) => row.slice(0, 3)),
  ).toEqual([
    ['absent', 'failed', '-'],
    ['broken', 'failed', '-'],
    ['secret', 'failed', '-'],
    ['good', 'ready', 'legacy'],
  ])
  for (const name of names)
    expect(printed).toMatch(new RegExp(reasons[name].message.source.replace('^', ''), 's'))
})
