// `mcpx install` and its undo, in the files of all seven clients.
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { CLIENTS } from '../../src/cli/hosts/clients.ts'
import { backupOf, install, uninstall } from '../../src/cli/hosts/install.ts'
import type { Target } from '../../src/cli/hosts/install.ts'
import { ownEntry } from '../../src/cli/hosts/own-entry.ts'
import { withoutTable, withTable } from '../../src/cli/hosts/toml-text.ts'
import { fixture } from '../peers/workspace.ts'
import { openHome } from './host-home.ts'
import type { Home } from './host-home.ts'

const ENTRY = ownEntry('/somewhere/mcpx.json')

function targetIn(home: Home, id: string): Target {
  const client = CLIENTS.find((one) => one.id === id)
  const [file] = client?.files({ platform: 'linux', home: '/', cwd: '/', env: {} }) ?? []
  return {
    path: home.files[id] ?? '',
    keys: file?.keys ?? [],
    format: client?.format ?? 'json',
    force: false,
  }
}

test.each(CLIENTS.map(({ id }) => id))('%s gets an entry, and its file back byte for byte', async (id) => {
  await using home = await openHome()
  const target = targetIn(home, id)
  const before = readFileSync(target.path, 'utf8')
  const own = id === 'claude-desktop'
  expect(await install(target, ENTRY)).toBe(own ? 'updated' : 'installed')
  expect(await install(target, ENTRY)).toBe('present')
  expect(await install(target, ownEntry(undefined))).toBe('updated')
  const after = readFileSync(target.path, 'utf8')
  expect(after).toContain(JSON.stringify(process.execPath))
  // All lines that were there still are, in their order; a comma may have come to the last.
  const lines = after.split('\n').map((line) => line.replace(/,$/, ''))
  const kept = before.split('\n').filter((line) => !own || !/npx|-y/.test(line))
  let from = 0
  for (const line of kept) {
    from = lines.indexOf(line.replace(/,$/, ''), from) + 1
    expect(from, line).toBeGreaterThan(0)
  }
  expect(await uninstall(target)).toBe('restored')
  expect(readFileSync(target.path, 'utf8')).toBe(before)
  expect(existsSync(backupOf(target.path))).toBe(false)
  // Twice: the second time finds the file as the first did.
  await install(target, ENTRY)
  await uninstall(target)
  expect(readFileSync(target.path, 'utf8')).toBe(before)
})

test.each(['cursor', 'codex'])('what else was changed in the file of %s meanwhile stays', async (id) => {
  await using home = await openHome()
  const target = targetIn(home, id)
  const before = readFileSync(target.path, 'utf8')
  await install(target, ENTRY)
  appendFileSync(target.path, id === 'codex' ? '\n# mine\n[mine]\na = 1\n' : '// mine\n')
  expect(await uninstall(target)).toBe('removed')
  const left = readFileSync(target.path, 'utf8')
  expect(left).toBe(before + (id === 'codex' ? '\n# mine\n[mine]\na = 1\n' : '// mine\n'))
  expect(await uninstall(target)).toBe('absent')
})

test('a file that was made for mcpx goes with it, and one that is not mcpx gives way to nothing', async () => {
  await using home = await openHome([])
  const target = targetIn(home, 'codex')
  expect(await install(target, ENTRY)).toBe('installed')
  expect(parse(readFileSync(target.path, 'utf8'))).toEqual({ mcp_servers: { mcpx: ENTRY } })
  expect(await uninstall(target)).toBe('deleted')
  expect(existsSync(target.path)).toBe(false)
  const taken = targetIn(home, 'codex')
  const foreign = '[mcp_servers.mcpx]\ncommand = "other"\n'
  writeFileSync(taken.path, foreign)
  await expect(install(taken, ENTRY)).rejects.toThrow(/"mcpx" that is not mcpx/)
  await expect(uninstall(taken)).rejects.toThrow(/"mcpx" that is not mcpx/)
  expect(readFileSync(taken.path, 'utf8')).toBe(foreign)
})

test('a form of TOML that is not edited safely is left alone', () => {
  const place = { path: 'config.toml', keys: ['mcp_servers', 'mcpx'] }
  expect(() => withTable('mcp_servers = { a = { command = "x" } }\n', ENTRY, place)).toThrow(/by hand/)
  const nested = 'a = 1\n\n[mcp_servers."mcpx"]\ncommand = "x"\n[mcp_servers.mcpx.env]\nA = "1"\n\n# b\n[b]\n'
  expect(withoutTable(nested, place)).toBe('a = 1\n\n# b\n[b]\n')
})

test('what the client is given starts, and serves the configuration in force', async () => {
  await using home = await openHome(['cursor'])
  writeFileSync(
    home.config,
    JSON.stringify({ mcpServers: { one: fixture('legacy-stdio'), two: fixture('legacy-stdio') } }),
  )
  const done = await home.run(['install', 'cursor', '--json'])
  expect(JSON.parse(done.stdout)).toMatchObject({
    client: 'cursor',
    status: 'installed',
    path: home.files['cursor'],
  })
  const { mcpServers } = JSON.parse(readFileSync(home.files['cursor'] ?? '', 'utf8')) as {
    mcpServers: { mcpx: { command: string; args: string[] } }
  }
  const initialize = {
    ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'host', version: '1' } },
  }
  const { command, args } = mcpServers.mcpx
  const served = spawnSync(command, args, {
    cwd: home.file('home'),
    env: { ...process.env, ...home.command().env },
    input: `${JSON.stringify(initialize)}\n${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })}\n`,
    encoding: 'utf8',
  })
  expect(served.stdout).toContain('one__echo')
  const undone = await home.run(['install', 'cursor', '--undo'])
  expect(undone).toMatchObject({ code: 0, stdout: expect.stringContaining('is as it was before') })
  expect(await home.run(['install', 'emacs'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('There is no client'),
  })
}, 60_000)
