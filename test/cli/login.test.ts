// `mcpx login` and `mcpx logout`, and the page that describes them.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { callEcho, startProtected, visit } from '../oauth/setup.ts'
import type { Protected } from '../oauth/setup.ts'
import { ROOT } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'

let server: Protected
let workspace: Workspace
beforeEach(async () => {
  server = await startProtected()
  const other = { url: 'https://guarded.example/mcp', headers: { Authorization: 'Bearer x' } }
  workspace = await openWorkspace({ mcpServers: { guarded: { url: server.mcp }, other } })
})
afterEach(async () => {
  await workspace[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const files = () =>
  readdirSync(join(workspace.file('state'), 'oauth')).map((name) =>
    join(workspace.file('state'), 'oauth', name),
  )

async function startLogin(...args: string[]): Promise<{ readonly login: Running; readonly address: string }> {
  const login = await workspace.start('login', 'guarded', '--no-browser', ...args)
  const printed = await login.printed(/authorize\S+\n/)
  return { login, address: /https?:\S+/.exec(printed)?.[0] ?? '' }
}

test('the commands of the page are run, and do what it says', async () => {
  const page = readFileSync(join(ROOT, 'docs', 'oauth.md'), 'utf8')
  const [, block = ''] = /^```sh run\n(.*?)^```$/ms.exec(page) ?? []
  const lines = block.trim().split('\n')
  expect(lines.map((line) => line.split(' ')[1])).toEqual(['login', 'call', 'logout'])
  expect(lines[0]).toBe('mcpx login guarded --no-browser')
  const { login, address } = await startLogin()
  await visit(address)
  expect(await login.printed(/is logged in/)).toContain('mcpx is logged in to "guarded".')
  expect(await login.end()).toBe(0)
  for (const line of lines.slice(1)) {
    const { code, stdout, stderr } = await workspace.run(line.split(' ').slice(1))
    expect([line, code, stderr]).toEqual([line, 0, ''])
    expect(stdout).not.toBe('')
  }
})

test.skipIf(process.platform === 'win32')('only the owner may read what was granted', async () => {
  const { login, address } = await startLogin()
  await visit(address)
  await login.end()
  expect(files().map((path) => statSync(path).mode & 0o777)).toEqual([0o600])
  expect(statSync(join(workspace.file('state'), 'oauth')).mode & 0o777).toBe(0o700)
})

test('a daemon that runs is logged in, and out, without a restart', async () => {
  await using daemon = await workspace.start('daemon', '--port', '0', '--json')
  const { v1 } = JSON.parse(await daemon.printed(/\n/)) as { v1: string }
  expect((await callEcho(v1, 'guarded')).body).toMatchObject({ code: 'AUTH_REQUIRED' })
  const { login, address } = await startLogin()
  await visit(address)
  expect(await login.end()).toBe(0)
  expect((await callEcho(v1, 'guarded')).status).toBe(200)
  expect(await workspace.run(['logout', 'guarded'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('logged out'),
  })
  const { revoked } = await server.seen()
  expect(revoked).toEqual([expect.stringMatching(/^refresh-/)])
  expect(files()).toEqual([])
  // The access token itself is still good at the server: it is not sent any more.
  expect((await callEcho(v1, 'guarded')).body).toMatchObject({ code: 'AUTH_REQUIRED' })
  expect((await workspace.run(['logout', 'guarded'])).stdout).toContain('was not logged in')
})

test('where the browser cannot come back, the address that it ended at is pasted', async () => {
  const { login, address } = await startLogin()
  const response = await fetch(address, { redirect: 'manual' })
  login.stdin.write(`${response.headers.get('location')}\n`)
  expect(await login.end()).toBe(0)
  expect((await workspace.run(['call', 'guarded.echo'])).stdout).toBe('entered\n')
})

test('the browser comes back to the port that is asked for, or the login says that it is taken', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  const port = String(typeof address === 'object' ? address?.port : '')
  const refused = await workspace.run(['login', 'guarded', '--no-browser', '--callback-port', port])
  expect(refused).toMatchObject({ code: 69, stderr: expect.stringContaining(`port ${port}`) })
  taken.close()
  await once(taken, 'close')
  const { login, address: url } = await startLogin('--callback-port', port)
  expect(new URL(url).searchParams.get('redirect_uri')).toBe(`http://127.0.0.1:${port}/callback`)
  await visit(url)
  expect(await login.end()).toBe(0)
})

test('a login that fails says why, and one of another kind of server is refused', async () => {
  await server.set({ deny: 'access_denied' })
  const { login, address } = await startLogin()
  await visit(address)
  expect(await login.end()).toBe(77)
  expect(await login.logged(/failed/)).toContain('access_denied')
  expect(await workspace.run(['login', 'other'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('headers'),
  })
  expect(await workspace.run(['login', 'guarde'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('guarded'),
  })
})

test('a command that ends at once says which command to run', async () => {
  const { code, stderr } = await workspace.run(['call', 'guarded.echo'])
  expect([code, stderr]).toEqual([77, expect.stringContaining('mcpx login guarded')])
})
