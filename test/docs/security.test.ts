// The commands of the page are run, all of them in one shell and in their order.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../peers/processes.ts'
import { fixture, openWorkspace } from '../peers/workspace.ts'

const PAGE = readFileSync(join(ROOT, 'docs', 'security.md'), 'utf8')
const COMMANDS = [...PAGE.matchAll(/^```sh run\n(.*?)^```$/gms)].map(([, text = '']) => text)
const missing = ['sh', 'curl'].filter((name) => spawnSync(name, ['--version']).error !== undefined)

// Needs a POSIX shell and curl.
test.skipIf(missing.length > 0)('the commands of docs/security.md do what it says', async () => {
  await using workspace = await openWorkspace(
    { mcpServers: { one: fixture('legacy-stdio') } },
    { MCPX_AUTH_LOCAL: 'token' },
  )
  await using daemon = await workspace.start('daemon', '--port', '0', '--json')
  const { mcp } = JSON.parse(await daemon.printed(/\n/)) as { mcp: string }
  const { command, args, cwd, env } = workspace.command()
  const mcpx = `mcpx() { '${command}' '${args[0]}' "$@"; }`
  const script = [mcpx, ...COMMANDS].join('\n').replaceAll('http://127.0.0.1:6279', new URL(mcp).origin)
  const ran = spawnSync('sh', ['-eu', '-c', script], {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
  expect(ran).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/^This is the key of "alice"; .*\nThis is the key of "ci"; .*\n$/),
  })
  const shapes = [
    /^\{"servers":\[\{"name":"one".*\}\/.*token\nmcpx_[\w-]{43}\n/,
    /NAME +CREATED +EXPIRES +FROM\nalice .* never .*\n/,
    /\{"content":\[\{"type":"text","text":"hi"\}\].*\}SERVER /,
    /\nThe key of "alice" is revoked\.\nmcpx_[\w-]{43}\nmcpx_[\w-]{43}\nbob:sha256:[0-9a-f]{64}\n$/,
  ]
  for (const shape of shapes) expect(ran.stdout).toMatch(shape)
})
