// Safe by default: who gets in over TCP without saying so in a setting, and what everybody else is told.
import { chmodSync, readFileSync, rmSync, statSync, readdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exchange, post } from '../peers/exchange.ts'
import type { Exchange } from '../peers/exchange.ts'
import { fixture, openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'
import { initialize, modernHeaders, modernRequest } from './observed.ts'

const POSIX = process.platform !== 'win32'

let workspace: Workspace
let daemon: Running
let mcp: string
let v1: string
let tokenFile: string

beforeEach(async () => {
  workspace = await openWorkspace(
    { mcpServers: { one: fixture('legacy-stdio') } },
    { MCPX_AUTH_LOCAL: 'token' },
  )
  await start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
})

async function start(...args: string[]): Promise<void> {
  daemon = await workspace.start('daemon', '--port', '0', '--json', ...args)
  const told = JSON.parse(await daemon.printed(/\n/)) as Record<'mcp' | 'v1' | 'tokenFile', string>
  mcp = told.mcp
  v1 = told.v1
  tokenFile = told.tokenFile
}

const token = () => readFileSync(tokenFile, 'utf8').trim()
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const mcpx = async (...args: string[]) => {
  const { code, stdout, stderr } = await workspace.run(args)
  expect([args, code, code === 0 ? '' : stderr]).toEqual([args, 0, ''])
  return stdout.trim()
}
const get = (path: string, headers = {}) => exchange(new URL(path, v1).href, { verb: 'GET', headers })
const list = (headers = {}, url = mcp) =>
  post(url, modernRequest('tools/list', 'x'), { ...modernHeaders('tools/list'), ...headers })
const codeOf = ({ body }: Exchange) => (JSON.parse(body) as { code?: string }).code
const messageOf = ({ body }: Exchange) => (JSON.parse(body) as { error: { message: string } }).error.message
/** How often callers were turned away, by what for. */
async function refusals(): Promise<Record<string, number>> {
  const { body } = await get('/metrics', bearer(token()))
  const lines = body.matchAll(/^mcpx_refused_total\{reason="([\w-]+)"\} (\d+)$/gm)
  return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]))
}

test('without a credential everything but /health is refused, and says what to send', async () => {
  for (const path of ['/v1/servers', '/v1/nothing', '/metrics', '/v1/events', '/']) {
    const refused = await get(path)
    expect([path, refused.status, codeOf(refused)]).toEqual([path, 401, 'KEY_MISSING'])
    expect(refused.headers['www-authenticate']).toBe('Bearer realm="mcpx"')
    expect(refused.body).toMatch(/`mcpx token`.*mcpx keys add.*auth\.local/)
  }
  for (const url of [mcp, `${mcp}/one`, `${mcp}/nobody`]) {
    for (const refused of [await list({}, url), await post(url, initialize('x'))]) {
      expect([url, refused.status]).toEqual([url, 401])
      expect(messageOf(refused)).toMatch(/mcpx token/)
      expect(refused.body).not.toMatch(/Did you mean|servers are/)
    }
  }
  // Clients look for a login before they give up.
  expect((await get('/.well-known/oauth-protected-resource')).status).toBe(404)
  expect(JSON.parse((await get('/health')).body)).toEqual({ status: 'ok' })
  expect(await refusals()).toEqual({ 'key-missing': 11 })
})

test('with the token a caller is the local user, in both eras and on every route', async () => {
  const local = bearer(token())
  expect((await list(local)).status).toBe(200)
  expect((await list(local, `${mcp}/nobody`)).status).toBe(404)
  expect((await post(`${mcp}/one`, initialize('x'), local)).status).toBe(200)
  expect((await get('/v1/servers', local)).status).toBe(200)
  const put = { verb: 'PUT', body: '"1s"', headers: { 'content-type': 'application/json', ...local } }
  expect((await exchange(`${v1}/settings/lists.patience`, put)).status).toBe(200)
  expect(await refusals()).toEqual({})
})

test("the same user's own tools carry it by themselves", async () => {
  expect(await mcpx('protocol')).toContain('one')
  expect(await mcpx('call', 'one.echo', '{"message": "hi"}')).toBe('hi')
  expect(await mcpx('clients')).not.toBe('')
  expect(await mcpx('token')).toBe(token())
  await using serve = await workspace.start('serve')
  serve.stdin.write(`${JSON.stringify(initialize('host'))}\n`)
  expect(await serve.printed(/\n/)).toContain('"protocolVersion":"2025-06-18"')
  expect(await refusals()).toEqual({})
})

test('a token that is renewed replaces the old one at once; one that is deleted lets nobody in', async () => {
  const old = token()
  const fresh = await mcpx('token', '--new')
  expect(fresh).toBe(token())
  expect(fresh).not.toBe(old)
  expect([(await list(bearer(old))).status, (await list(bearer(fresh))).status]).toEqual([401, 200])
  rmSync(tokenFile)
  expect((await list(bearer(fresh))).status).toBe(401)
})

test('a page at a hostile origin and a rebinding host name are turned away, even with the token', async () => {
  const local = bearer(token())
  const page = { ...local, origin: 'https://evil.example' }
  const rebound = { ...local, host: 'evil.example' }
  for (const [headers, code, setting] of [
    [page, 'ORIGIN_REFUSED', 'http.allowedOrigins'],
    [rebound, 'HOST_REFUSED', 'http.allowedHosts'],
  ] as const) {
    const refused = await get('/v1/servers', headers)
    expect([refused.status, codeOf(refused)]).toEqual([403, code])
    for (const { status, body } of [refused, await list(headers), await list(headers, `${mcp}/nobody`)]) {
      expect(status).toBe(403)
      expect(body).toContain(setting)
    }
    // Not even that there is a daemon.
    expect((await get('/health', headers)).status).toBe(403)
  }
  expect(await refusals()).toEqual({ origin: 4, host: 4 })
})

test('each bad key is refused, told why, and counted', async () => {
  const gone = await mcpx('keys', 'add', 'gone')
  await mcpx('keys', 'revoke', 'gone')
  const short = await mcpx('keys', 'add', 'short', '--expires', '1ms')
  const good = await mcpx('keys', 'add', 'good', '--expires', '30d')
  for (const [authorization, code, says] of [
    ['Bearer mcpx_wrong', 'KEY_UNKNOWN', /not known here.*mcpx keys add/],
    [`Bearer ${token()}x`, 'KEY_UNKNOWN', /not known here/],
    [`Bearer ${gone}`, 'KEY_REVOKED', /key of \\?"gone\\?" was revoked at \d{4}-/],
    [`Bearer ${short}`, 'KEY_EXPIRED', /key of \\?"short\\?" expired at \d{4}-/],
    ['Basic YTpi', 'KEY_UNKNOWN', /no bearer token/],
  ] as const) {
    const refused = await get('/v1/servers', { authorization })
    expect([refused.status, codeOf(refused)]).toEqual([401, code])
    expect(refused.headers['www-authenticate']).toBe('Bearer error="invalid_token"')
    for (const { status, body } of [refused, await list({ authorization })]) {
      expect(status).toBe(401)
      expect(body).toMatch(says)
      for (const secret of [gone, short, token()]) expect(body).not.toContain(secret)
    }
  }
  expect((await list(bearer(good))).status).toBe(200)
  expect(await refusals()).toEqual({
    'key-unknown': 4,
    'key-revoked': 2,
    'key-expired': 2,
    'key-malformed': 2,
  })
  const listed = await mcpx('keys', 'list')
  expect(listed).toMatch(/^short .* expired \d{4}-/m)
  expect(listed).not.toMatch(/^gone/m)
  // An mcpx that does not know of expiry must not let these in.
  expect(JSON.parse(readFileSync(join(workspace.file('state'), 'keys.json'), 'utf8'))).toMatchObject({
    version: 2,
  })
})

test('an expiry that is none is refused', async () => {
  for (const args of [
    ['--expires', 'soon'],
    ['--expires', '0s'],
    ['--expires', '1d', '--print-hash'],
  ]) {
    const { code, stderr } = await workspace.run(['keys', 'add', 'x', ...args])
    expect([code, stderr]).toEqual([64, expect.stringMatching(/^mcpx: /)])
  }
})

test.skipIf(!POSIX)('another local user can read nothing of the state folder', async () => {
  await mcpx('keys', 'add', 'alice')
  const folder = workspace.file('state')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const files = readdirSync(folder)
  expect(files).toEqual(expect.arrayContaining(['token', 'keys.json', 'state.key']))
  expect(files.filter((name) => name.endsWith('.sock') || name.startsWith('daemon-'))).toHaveLength(2)
  for (const name of files) expect([name, statSync(join(folder, name)).mode & 0o077]).toEqual([name, 0])
})

test.skipIf(!POSIX)('a token that others could read is replaced when the daemon starts', async () => {
  const old = token()
  await daemon.end('SIGTERM')
  chmodSync(tokenFile, 0o644)
  await start()
  expect(token()).not.toBe(old)
  expect(statSync(tokenFile).mode & 0o777).toBe(0o600)
  expect(await daemon.logged(/others could read the token/)).not.toContain(token())
  expect((await list(bearer(old))).status).toBe(401)
})

test('the token is in nothing that the daemon prints, logs or tells', async () => {
  const secret = token()
  await list(bearer(secret))
  await list(bearer(`${secret}x`))
  const told = await Promise.all(
    ['servers', 'settings', 'clients', 'protocol'].map((path) => get(`/v1/${path}`, bearer(secret))),
  )
  expect(told.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await daemon.end('SIGTERM')
  await start('--log-level', 'debug')
  const printed = await workspace.start('daemon', '--port', '0', '--config', workspace.config)
  const welcome = await printed.printed(/Paste into a client:[^]*VS Code/)
  expect(welcome).toMatch(/Bearer \$\(cat .*token\)/)
  await printed.end('SIGTERM')
  const all = [...told.map(({ body }) => body), welcome, await printed.logged(/stopping/)]
  expect(all.join('\n')).not.toContain(secret)
})

test('an address that others reach is refused where callers need no credential', async () => {
  await daemon.end('SIGTERM')
  const open = ['daemon', '--port', '0', '--http-host', '0.0.0.0', '--auth-local', 'open']
  const { code, stdout, stderr } = await workspace.run(open)
  expect([code, stdout]).toEqual([78, ''])
  expect(stderr).toMatch(/^mcpx: The daemon would listen on 0\.0\.0\.0 .*auth\.local.*--insecure\.\n$/)
  await start('--auth-local', 'open')
  expect((await list()).status).toBe(200)
})

test('limits are answered with the setting that sets them', async () => {
  const local = bearer(token())
  await daemon.end('SIGTERM')
  await start('--http-max-body', '2KiB', '--http-max-header', '2KiB', '--http-max-streams', '1')
  const large = JSON.stringify({ server: 'one', tool: 'echo', args: { message: 'x'.repeat(3000) } })
  for (const { status, body } of [await post(`${v1}/call`, large, local), await post(mcp, large, local)])
    expect([status, body]).toEqual([413, expect.stringContaining('http.maxBody')])
  const chunked = await fetch(`${v1}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...local },
    body: new Blob([large]).stream(),
    duplex: 'half',
  })
  expect([chunked.status, await chunked.json()]).toEqual([
    413,
    expect.objectContaining({ code: 'BODY_TOO_LARGE' }),
  ])
  const head = await raw(`GET /v1/servers HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ${'x'.repeat(4000)}\r\n\r\n`)
  expect(head).toMatch(
    /^HTTP\/1\.1 431 .*HEADER_TOO_LARGE.*http\.maxHeader|^HTTP\/1\.1 431 [^]*http\.maxHeader/,
  )
  const stop = new AbortController()
  const first = await fetch(`${v1}/events`, { headers: local, signal: stop.signal })
  expect(first.status).toBe(200)
  for (const second of [await get('/v1/events', local), await get('/v1/questions/stream', local)])
    expect([second.status, codeOf(second), second.body]).toEqual([
      429,
      'TOO_MANY_STREAMS',
      expect.stringContaining('http.maxStreams'),
    ])
  const listen = modernRequest('subscriptions/listen', 'x')
  const third = await post(mcp, listen, { ...modernHeaders('subscriptions/listen'), ...local })
  expect([third.status, messageOf(third)]).toEqual([429, expect.stringContaining('http.maxStreams')])
  // A place that is given back can be taken again; the daemon hears of it a little later.
  stop.abort()
  let again: Response
  do {
    again = await fetch(`${v1}/events`, { headers: local })
    await again.body?.cancel()
  } while (again.status === 429)
  expect(again.status).toBe(200)
  expect(await refusals()).toMatchObject({ body: 3, header: 1 })
})

test('more requests a second than http.maxRate are told when to come back', async () => {
  const [local, alice] = [bearer(token()), bearer(await mcpx('keys', 'add', 'alice'))]
  await daemon.end('SIGTERM')
  writeFileSync(workspace.config, JSON.stringify({ mcpServers: {}, http: { maxRate: 3 } }))
  await start()
  const answers = await Promise.all(Array.from({ length: 20 }, () => get('/v1/servers', alice)))
  const late = answers.filter(({ status }) => status === 429)
  expect(late.length).toBeGreaterThan(0)
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3)
  for (const one of late) {
    expect([codeOf(one), one.headers['retry-after']]).toEqual(['TOO_MANY_REQUESTS', '1'])
    expect(one.body).toContain('http.maxRate')
  }
  // Whoever asks too often keeps nobody else out.
  expect((await list(local)).status).toBe(200)
})

/** Sends bytes and reads the answer to its end. */
async function raw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(v1)
  const socket = connect(Number(port), hostname)
  socket.end(bytes)
  return text(socket)
}
