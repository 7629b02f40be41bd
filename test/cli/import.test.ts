// `mcpx import`: the fixture files of all seven clients, in a home folder that holds nothing else.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CLIENTS } from '../../src/cli/hosts/clients.ts'
import { convert } from '../../src/cli/hosts/convert.ts'
import { openHome } from './host-home.ts'

interface Report {
  readonly files: { client: string; error: string | null }[]
  readonly servers: Record<'client' | 'name' | 'status' | 'as' | 'reason', string | null>[]
}

test('what seven clients have is taken, and runs', async () => {
  await using home = await openHome()
  const before = Object.values(home.files).map((path) => readFileSync(path, 'utf8'))
  const dry = await home.run(['import', '--dry-run', '--json'])
  expect(dry).toMatchObject({ code: 0, stderr: '' })
  expect(existsSync(home.config)).toBe(false)
  const { servers, files } = JSON.parse(dry.stdout) as Report
  expect(files.map(({ error }) => error)).toEqual(files.map(() => null))
  const told = servers.map(({ client, name, status, as, reason }) =>
    [client, name, status, as ?? reason].join(' '),
  )
  expect(told).toEqual([
    'claude-desktop desk taken desk',
    "claude-desktop mcpx left-out it is mcpx's own entry",
    'claude-code code taken code',
    'claude-code remote taken remote',
    'claude-code off left-out it is disabled in Claude Code',
    'claude-code local taken local',
    'vscode vs taken vs',
    'vscode tracker taken tracker',
    'cursor desk taken desk-cursor',
    'cursor quiet left-out it is disabled in Cursor',
    'cursor curs taken curs',
    'windsurf wind taken wind',
    'windsurf surf taken surf',
    'zed zed-old taken zed-old',
    'zed zed-new taken zed-new',
    expect.stringMatching(/^zed from-extension left-out has neither "command" nor "url"/),
    'zed paused left-out it is disabled in Zed',
    'codex dex taken dex',
    'codex figures taken figures',
    'codex stopped left-out it is disabled in Codex',
  ])
  const run = await home.run(['import'])
  expect(run).toMatchObject({ code: 0, stderr: '' })
  for (const sentence of [
    'needs the environment variable TRACKER_KEY, for which VS Code asks (Key of the tracker)',
    'has a default; to change it, set the environment variable REGION',
    'another server is called desk already, so this one is desk-cursor',
    'left out: autoApprove',
    'left out: required',
    'left out: disabledTools',
    `14 servers written to`,
  ])
    expect(run.stdout).toContain(sentence)
  expect(run.stdout).not.toContain('sk-desk')
  const written = readFileSync(home.config, 'utf8')
  const { mcpServers } = JSON.parse(written) as { mcpServers: Record<string, object> }
  expect(mcpServers).toMatchObject({
    tracker: { headers: { 'X-Key': '${env:TRACKER_KEY}' } },
    dex: { env: { LEVEL: 'high', PATH: '${env:PATH}' }, startTimeout: '20s', tools: { include: ['echo'] } },
    figures: {
      headers: { Authorization: 'Bearer ${env:FIGURES_TOKEN}', 'X-Region': 'eu', 'X-Team': '${env:TEAM}' },
    },
  })
  const listed = await home.run(['tools', '--json'])
  const tools = (JSON.parse(listed.stdout) as { servers: { server: string; error: unknown }[] }).servers
  const runs = ['desk', 'code', 'local', 'vs', 'desk-cursor', 'curs', 'wind', 'zed-old', 'zed-new', 'dex']
  expect(tools.filter(({ error }) => error === null).map(({ server }) => server)).toEqual(runs)
  expect(await home.run(['import'])).toMatchObject({ stdout: expect.stringContaining('stays as it is') })
  expect(readFileSync(home.config, 'utf8')).toBe(written)
  expect(Object.values(home.files).map((path) => readFileSync(path, 'utf8'))).toEqual(before)
}, 120_000)

test('one file of one client; what is broken is told without its text', async () => {
  await using home = await openHome([])
  writeFileSync(home.file('mine.toml'), '[mcp_servers.a]\ncommand = "node"\n')
  const one = await home.run(['import', '--file', 'mine.toml', '--from', 'codex', '--json'])
  expect(JSON.parse(one.stdout)).toMatchObject({ servers: [{ name: 'a', as: 'a', status: 'taken' }] })
  writeFileSync(home.file('mine.toml'), '[mcp_servers.a]\nenv = { KEY = "sk-secret\n')
  const broken = await home.run(['import', '--file', 'mine.toml', '--from', 'codex'])
  expect(broken.stdout).toContain('cannot be read: Invalid TOML')
  expect(broken.stdout + broken.stderr).not.toContain('sk-secret')
  expect(await home.run(['import', 'curser'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('Did you mean "cursor"?'),
  })
}, 60_000)

const PLACES = [
  { platform: 'darwin', path: '/h/Library/Application Support/Code/User/mcp.json' },
  { platform: 'win32', path: '/h/AppData/Roaming/Code/User/mcp.json' },
  { platform: 'linux', path: '/h/.config/Code/User/mcp.json' },
] as const

test.each(PLACES)('VS Code has its file on $platform where it is looked for', ({ platform, path }) => {
  const [vscode] = CLIENTS.filter(({ id }) => id === 'vscode')
  const [own] = vscode?.files({ platform, home: '/h', cwd: '/w', env: {} }) ?? []
  expect(own?.path.replaceAll('\\', '/')).toBe(path)
})

test('a client that takes variables as they stand is told apart', () => {
  const entry = { command: 'node', args: ['${HOME}', '${command:pick}'] }
  const notes = CLIENTS.filter(({ id }) => id === 'codex' || id === 'cursor').map((client) => {
    const made = convert('a', entry, { client, file: { path: 'x', keys: [] }, inputs: [] })
    return 'notes' in made ? made.notes : []
  })
  expect(notes).toEqual([
    [expect.stringContaining('${command:pick} is nothing that mcpx knows')],
    [expect.stringContaining('${command:pick}'), expect.stringMatching(/^Codex takes \$\{…\} as it stands/)],
  ])
})
