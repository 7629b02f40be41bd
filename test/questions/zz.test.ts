import { test } from 'vitest'
import { appendFileSync, mkdirSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { ROOT } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import { openAskable } from './askable.ts'
const out = (...a: unknown[]) => appendFileSync('/tmp/zz.log', `${Math.round(performance.now())} ` + a.map((x) => typeof x === 'string' ? x : JSON.stringify(x)).join(' ') + '\n')
test('x', async () => {
  for (const d of ['given', 'one', 'two']) mkdirSync(`/tmp/zzroots/${d}`, { recursive: true })
  const FS = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
  await using workspace = await openWorkspace({ mcpServers: { own: { command: process.execPath, args: ['--import', '/work/main/test/fixtures/upstream/record.mjs', FS, '/tmp/zzroots/given'], env: { FRAMES: '/tmp/zz.frames' }, scope: 'principal' } } })
  await using c = await openAskable('v1', workspace.command('serve', '--standalone', '--server', 'own'))
  c.roots = [{ uri: pathToFileURL('/tmp/zzroots/one').href, name: 'x' }]
  out('opened', c.asked)
  for (let i = 0; i < 8; i++) { const r = await c.callTool('list_allowed_directories', {}); out((r as any).content[0].text, c.asked) ; await new Promise(r => setTimeout(r, 300)) }
  c.roots = [{ uri: pathToFileURL('/tmp/zzroots/two').href, name: 'x' }]
  await c.rootsChanged(); out('changed')
  for (let i = 0; i < 8; i++) { const r = await c.callTool('list_allowed_directories', {}); out((r as any).content[0].text, c.asked) ; await new Promise(r => setTimeout(r, 300)) }
}, 60000)
