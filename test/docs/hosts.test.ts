// The commands of the page are run, all of them in one shell and in their order, in a home folder of its own.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CLIENTS } from '../../src/cli/hosts/clients.ts'
import { openHome } from '../cli/host-home.ts'
import { ROOT } from '../peers/processes.ts'

const PAGE = readFileSync(join(ROOT, 'docs', 'hosts.md'), 'utf8')
const COMMANDS = [...PAGE.matchAll(/^```sh run\n(.*?)^```$/gms)].map(([, text = '']) => text)

// Needs a POSIX shell.
test.skipIf(spawnSync('sh', ['-c', ':']).error !== undefined)(
  'the commands of docs/hosts.md do what it says',
  async () => {
    await using home = await openHome(['cursor'])
    const before = readFileSync(home.files['cursor'] ?? '', 'utf8')
    const { command, args, cwd, env } = home.command()
    const mcpx = `mcpx() { '${command}' '${args[0]}' "$@"; }`
    const ran = spawnSync('sh', ['-eu', '-c', [mcpx, ...COMMANDS].join('\n')], {
      cwd,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    })
    expect(ran).toMatchObject({ status: 0, stderr: '' })
    expect(ran.stdout).toMatch(
      /nothing was\.\n.*2 servers written to .*files is in .*tickets is no more in .* has mcpx now\..* is as it was before\.\n$/s,
    )
    const { mcpServers } = JSON.parse(readFileSync(home.config, 'utf8')) as { mcpServers: object }
    expect(Object.keys(mcpServers)).toEqual(['desk', 'curs', 'files'])
    expect(readFileSync(home.files['cursor'] ?? '', 'utf8')).toBe(before)
  },
  60_000,
)

test('the page names every client', () => {
  for (const { id } of CLIENTS) expect(PAGE).toContain(`| \`${id}\` |`)
})
