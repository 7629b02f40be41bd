// A corpus of whole exchanges: the same server gives the same bytes, and any byte that changes is found and named.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:tls'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProgram } from '../peers/processes.ts'
import { fixturePath, openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { readCorpus } from '../../src/cli/corpus/folder.ts'
import { replayCorpus } from '../../src/cli/corpus/replayer.ts'
import { chunked, http, openRawServer } from './raw-server.ts'
import type { RawAnswer, RawRequest } from './raw-server.ts'

let workspace: Workspace
beforeAll(async () => {
  workspace = await openWorkspace()
})
afterAll(() => workspace[Symbol.asyncDispose]())

const startSdk = (version = '1.0.0') => startProgram([fixturePath('sessions-http'), version])
const QUICK = ['--quiet', '100ms'] as const

/** Writes requests to a file, one a line, and returns its name. */
function requestsFile(name: string, ...requests: readonly object[]): string {
  writeFileSync(workspace.file(name), requests.map((request) => JSON.stringify(request)).join('\n'))
  return name
}
const ping = { name: 'ping', body: { jsonrpc: '2.0', id: 1, method: 'ping' } }
const files = (folder: string) => readdirSync(workspace.file(folder)).filter((file) => file.endsWith('.http'))
const stored = (folder: string, file: string) => readFileSync(join(workspace.file(folder), file), 'utf8')

test('the built-in set: another process of the same server answers the same', async () => {
  await using first = await startSdk()
  const recorded = await workspace.run(['record', first.line, '--out', 'sdk', ...QUICK])
  expect(recorded).toMatchObject({ code: 0, stderr: '' })
  const index = JSON.parse(readFileSync(join(workspace.file('sdk'), 'index.json'), 'utf8'))
  expect(index).toMatchObject({
    format: 1,
    url: first.line,
    server: { name: 'sessions', version: '1.0.0' },
    chunks: 'exact',
    volatile: ['header:date', 'header:mcp-session-id'],
  })
  expect(index.exchanges).toEqual(files('sdk'))
  const statuses = files('sdk').map(
    (file) => /\nresponse\n\| HTTP\/1\.1 (\d+)/.exec(stored('sdk', file))?.[1],
  )
  for (const status of ['200', '202', '400', '404', '405', '406', '413', '415'])
    expect(statuses).toContain(status)

  await using second = await startSdk()
  expect(await workspace.run(['replay', second.line, 'sdk'])).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^All \d+ exchanges are the same\.\nMasked: header:date in \d+, .*session-id in \d+/,
    ),
    stderr: '',
  })
  // Sessions were carried: had they not been, no list would have been answered.
  expect(stored('sdk', '013-tools-list.http')).toContain('"description":"Says it again"')
  expect(stored('sdk', '013-tools-list.http')).toContain('| Mcp-Session-Id: {{session-2025-11-25}}')

  await using newer = await startSdk('1.0.10')
  const drifted = await workspace.run(['replay', newer.line, 'sdk'])
  expect(drifted.code).toBe(1)
  expect(drifted.stdout).toContain(
    [
      '010-initialize-2025-11-25',
      '  header content-length',
      '    - 186',
      '    + 187',
      '  event 1 /result/serverInfo/version',
      '    - "1.0.0"',
      '    + "1.0.10"',
    ].join('\n'),
  )
  const masked = await workspace.run([
    'replay',
    newer.line,
    'sdk',
    '--mask',
    'json:result.serverInfo.version',
  ])
  expect(masked).toMatchObject({ code: 0, stderr: '' })
  expect(masked.stdout).toMatch(/json:result\.serverInfo\.version in 5\b/)
})

const BODY = '{"jsonrpc":"2.0","id":1,"result":{}}'
const FIELDS = ['Content-Type: application/json', 'X-Build: 7']
const SAME = http('200 OK', FIELDS, BODY)
const STREAM = ['Content-Type: text/event-stream']
const EVENTS = [
  'event: message\ndata: {"id":1}\n\n',
  ': still here\n\n',
  'id: 2\ndata: {"id":[2]}\n\n',
] as const

test('chunk framing is not compared where the corpus says so', async () => {
  await using server = await openRawServer(() => chunked(STREAM, EVENTS))
  const requests = requestsFile('ping.jsonl', ping)
  await workspace.run(['record', server.url, '--out', 'joined', '--requests', requests, '--chunks', 'joined'])
  server.answer = () => chunked(STREAM, [EVENTS.join('')])
  expect(await workspace.run(['replay', server.url, 'joined'])).toMatchObject({ code: 0 })
  server.answer = () => chunked(STREAM, [EVENTS.join('').replace('[2]', '[3]')])
  expect(await workspace.run(['replay', server.url, 'joined'])).toMatchObject({ code: 1 })
})

test('a volatile field is masked by its name only, and what its length changes fits', async () => {
  let count = 8
  const answer = () =>
    chunked(
      [`X-Request-Id: ${++count}`, 'Content-Type: text/event-stream', `Date: ${count}`],
      [`id: ${count}\ndata: {"result":{"at":${count},"items":[{"at":${count}}]}}\n\n`],
    )
  await using server = await openRawServer(answer)
  await workspace.run([
    'record',
    server.url,
    '--out',
    'volatile',
    '--requests',
    requestsFile('ping.jsonl', ping),
  ])
  const masks = ['header:x-request-id', 'sse:id', 'json:/result/at', 'json:result.items.*.at']
  const masked = (...some: readonly string[]) => some.flatMap((mask) => ['--mask', mask])
  const corpus = readCorpus(workspace.file('volatile'))
  const driftWith = async (some: readonly string[]) => {
    const options = {
      url: new URL(server.url),
      headers: [],
      masks: ['header:date', ...some],
      timeout: 20_000,
    }
    const { exchanges } = await replayCorpus(corpus, options)
    return exchanges.flatMap(({ differences }) => differences.map((difference) => difference.at))
  }
  expect(await driftWith(masks)).toEqual([])
  const without = await Promise.all(masks.map((mask) => driftWith(masks.filter((other) => other !== mask))))
  expect(without.map((places) => places.filter((at) => at !== 'chunks'))).toEqual([
    ['header x-request-id'],
    ['event 1'],
    ['event 1 /result/at'],
    ['event 1 /result/items/0/at'],
  ])
  const bare = await workspace.run(['replay', server.url, 'volatile', '--unmasked', ...masked(...masks)])
  expect(bare.code).toBe(1)
  expect(bare.stdout).toMatch(/^001-ping\n {2}header date\n/)
  // A mask that is in the corpus needs no option.
  expect(
    await workspace.run(['replay', server.url, 'volatile', '--update', ...masked(...masks)]),
  ).toMatchObject({ code: 0 })
  expect(await workspace.run(['replay', server.url, 'volatile'])).toMatchObject({ code: 0 })
})

test('an update rewrites what differs and nothing else', async () => {
  let name = 'a'
  await using server = await openRawServer(({ body }) =>
    http('200 OK', FIELDS, body === '"two"' ? name : 'one'),
  )
  const requests = requestsFile('two.jsonl', { name: 'one', body: '"one"' }, { name: 'two', body: '"two"' })
  await workspace.run(['record', server.url, '--out', 'update', '--requests', requests])
  const before = stored('update', '001-one.http')
  name = 'b'
  expect(await workspace.run(['replay', server.url, 'update', '--update'])).toMatchObject({ code: 0 })
  expect(stored('update', '001-one.http')).toBe(before)
  expect(stored('update', '002-two.http')).toMatch(/\n\. b\n$/)
  expect(await workspace.run(['replay', server.url, 'update'])).toMatchObject({ code: 0 })
})

/** Every run has another token, and only that one is good. */
function tokens(): (request: RawRequest) => RawAnswer {
  let count = 0
  const good = () => `token ${count}`
  return (request) => {
    if (request.body === '"open"') {
      count++
      return http('200 OK', ['Content-Type: application/json'], JSON.stringify({ token: good(), at: 1 }))
    }
    const fits = request.field('X-Token') === good() && request.body === `"${good()}"`
    return http(fits ? '200 OK' : '403 Forbidden', [])
  }
}

test('a value that a later request needs is captured by name', async () => {
  await using server = await openRawServer(tokens())
  const requests = requestsFile(
    'tokens.jsonl',
    { name: 'open', body: '"open"', capture: { token: 'json:token' } },
    { name: 'use', headers: { 'X-Token': '{{token}}' }, body: '"{{token}}"' },
  )
  await workspace.run([
    'record',
    server.url,
    '--out',
    'tokens',
    '--requests',
    requests,
    '--mask',
    'json:token',
  ])
  expect(stored('tokens', '002-use.http')).toMatch(
    /X-Token: \{\{token\}\}[^]*Content-Length: \{\{content-length\}\}[^]*200 OK/,
  )
  expect(await workspace.run(['replay', server.url, 'tokens'])).toMatchObject({ code: 0 })
  server.answer = () => http('200 OK', [])
  const { code, stdout } = await workspace.run(['replay', server.url, 'tokens'])
  expect(code).toBe(1)
  expect(stdout).toContain('+ not sent: no response gave {{token}}')
})

test('a header of the command line is sent and not stored', async () => {
  await using server = await openRawServer((request) =>
    http(request.field('Authorization') === 'Bearer secret' ? '200 OK' : '401 Unauthorized', []),
  )
  const given = ['--header', 'Authorization: Bearer secret']
  expect(await workspace.run(['record', server.url, '--out', 'secret', ...given])).toMatchObject({ code: 0 })
  const all = files('secret').map((file) => stored('secret', file))
  expect(all.filter((text) => text.includes('secret'))).toEqual([])
  expect(all.filter((text) => text.includes('401 Unauthorized'))).toHaveLength(1)
  expect(await workspace.run(['replay', server.url, 'secret', ...given])).toMatchObject({ code: 0 })
  expect(await workspace.run(['replay', server.url, 'secret'])).toMatchObject({
    code: 64,
    stderr: expect.stringMatching(/^mcpx: The corpus was recorded with a header "authorization"/),
  })
})

const opened = (text: string) =>
  `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n`

test('a stream that stays open is cut behind so many events, or when it is quiet', async () => {
  await using server = await openRawServer(() => opened(EVENTS.join('')))
  const get = { name: 'get', headers: { Accept: 'text/event-stream' } }
  const cut = requestsFile('cut.jsonl', { ...get, events: 1 })
  const [record, replay] = [
    ['record', server.url, '--timeout', '20s'],
    ['replay', server.url],
  ] as const
  await workspace.run([...record, '--out', 'cut', '--requests', cut, '--quiet', '1h'])
  expect(stored('cut', '001-get.http')).toMatch(/\nend: after 1 events\n[^]*\n: data: \{"id":1\}\n:\n$/)
  const quiet = requestsFile('quiet.jsonl', get)
  await workspace.run([...record, '--out', 'quiet', '--requests', quiet, ...QUICK])
  expect(stored('quiet', '001-get.http')).toMatch(
    /\nend: quiet for 100ms\n[^]*\n: data: \{"id":\[2\]\}\n:\n\|\n$/,
  )
  for (const folder of ['cut', 'quiet'])
    expect(await workspace.run([...replay, folder])).toMatchObject({ code: 0 })
  // What comes behind the cut does not count; behind the quiet it does.
  server.answer = () => opened(`${EVENTS.join('')}data: more\n\n`)
  // The size of a chunk that was cut says what came behind.
  expect(await workspace.run([...replay, 'cut'])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('  chunks\n'),
  })
  expect(await workspace.run([...replay, 'quiet'])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('  event 3\n'),
  })
})

test('a server that refuses a large body and closes is recorded as it is', async () => {
  await using server = await openRawServer(() => http('200 OK', []))
  server.answer = (request) =>
    request.body.length > 1e6
      ? (socket) => socket.end(http('413 Payload Too Large', ['Connection: close']))
      : http('200 OK', [])
  expect(await workspace.run(['record', server.url, '--out', 'large'])).toMatchObject({ code: 0 })
  expect(stored('large', '041-body-large.http')).toMatch(/\n\* 5242880 a\n[^]*413 Payload Too Large/)
  expect(stored('large', '041-body-large.http').length).toBeLessThan(2000)
  expect(await workspace.run(['replay', server.url, 'large'])).toMatchObject({ code: 0 })
})

test('a response that never ends is recorded as such, with a warning', async () => {
  await using server = await openRawServer(() => 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
  const requests = requestsFile('ping.jsonl', ping)
  const limited = ['--requests', requests, '--timeout', '300ms']
  expect(await workspace.run(['record', server.url, '--out', 'never', ...limited])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Not whole within the time limit, .*001-ping/),
  })
  expect(await workspace.run(['replay', server.url, 'never'])).toMatchObject({ code: 0 })
  server.answer = () => 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nthe whole'
  const { code, stdout } = await workspace.run(['replay', server.url, 'never'])
  expect({ code, end: stdout.includes('  end\n    - not within 300ms\n    + complete\n') }).toEqual({
    code: 1,
    end: true,
  })
})

test.skipIf(process.platform === 'win32')(
  'what a real client says through the proxy can be said again',
  async () => {
    await using server = await startSdk()
    await using proxy = await workspace.start('record', server.line, '--out', 'proxied', '--proxy', ...QUICK)
    const [, url = ''] = /Point clients at (\S+) /.exec(await proxy.printed(/interrupt to finish/)) ?? []
    const client = new Client({ name: 'real', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(url))
    await client.connect(transport)
    await client.listTools()
    await transport.terminateSession()
    await client.close()
    await proxy.printed(/^delete: complete/m)
    expect(await proxy.end('SIGINT')).toBe(0)
    const names = files('proxied').join(' ')
    for (const name of [
      '-post-initialize',
      '-post-notifications-initialized',
      '-get',
      '-post-tools-list',
      '-delete',
    ]) {
      expect(names).toContain(name)
    }
    expect(stored('proxied', '001-post-initialize.http')).toContain(
      'capture: session-id-1 from header:mcp-session-id',
    )

    await using fresh = await startSdk()
    expect(await workspace.run(['replay', fresh.line, 'proxied'])).toMatchObject({ code: 0, stderr: '' })
    await using newer = await startSdk('2.0.0')
    expect(await workspace.run(['replay', newer.line, 'proxied'])).toMatchObject({ code: 1 })
  },
)

const broken = [
  { args: ['replay', 'http://127.0.0.1:1/mcp', 'nowhere'], code: 66, says: /^mcpx: nowhere holds no corpus/ },
  {
    args: ['record', 'http://127.0.0.1:1/mcp', '--out', 'x'],
    code: 69,
    says: /^mcpx: No connection to 127\.0\.0\.1:1: /,
  },
  { args: ['record', 'ftp://x', '--out', 'x'], code: 64, says: /^mcpx: ftp:\/\/x is no URL of HTTP/ },
  { args: ['record', 'http://u:p@x/', '--out', 'x'], code: 64, says: /credentials.*--header/ },
  { args: ['record', 'http://x/', '--out', 'x', '--mask', 'date'], code: 64, says: /"date" names no part/ },
  {
    args: ['record', 'http://x/', '--out', 'x', '--requests', 'no'],
    code: 66,
    says: /requests no cannot be read/,
  },
  {
    args: ['record', 'http://x/', '--out', 'x', '--requests', 'bad'],
    code: 65,
    says: /bad, line 2: "mehtod" is none of/,
  },
  { args: ['record', 'http://x/', '--out', 'taken'], code: 64, says: /taken holds a corpus already/ },
  {
    args: ['replay', 'http://127.0.0.1:1/mcp', 'taken'],
    code: 65,
    says: /001-a\.http, line 3: the line is neither/,
  },
]

test.each(broken)('mcpx $args exits with $code', async ({ args, code, says }) => {
  await using server = await openRawServer(() => http('200 OK', []))
  if (!existsSync(workspace.file('taken'))) {
    requestsFile('bad', { name: 'a' }, { mehtod: 'GET' })
    await workspace.run([
      'record',
      server.url,
      '--out',
      'taken',
      '--requests',
      requestsFile('a', { name: 'a' }),
    ])
    const text = stored('taken', '001-a.http')
    writeFileSync(join(workspace.file('taken'), '001-a.http'), text.replace('\nrequest\n', 'reqest\n'))
  }
  expect(await workspace.run(args)).toEqual({ code, stdout: '', stderr: expect.stringMatching(says) })
  expect(existsSync(workspace.file('x'))).toBe(false)
})

const OPENSSL = 'openssl'

/** A key and a certificate for 127.0.0.1, where openssl is there to make them. */
function certificate(): { readonly key: Buffer; readonly cert: Buffer } | undefined {
  const [key, cert] = [workspace.file('key.pem'), workspace.file('cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  try {
    execFileSync(
      OPENSSL,
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject],
      {
        stdio: 'ignore',
      },
    )
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } catch {
    return undefined
  }
}

test('over TLS, a certificate that is known is accepted, and another is not', async (context) => {
  const pair = certificate()
  if (pair === undefined) return context.skip('openssl is not there')
  const server = createTlsServer(pair, (socket) => {
    socket.on('error', () => undefined).once('data', () => socket.write(SAME))
  })
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const args = ['record', url, '--requests', requestsFile('ping.jsonl', ping)]
  try {
    expect(await workspace.run([...args, '--out', 'distrusted'])).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(/^mcpx: No connection to 127\.0\.0\.1:\d+: .*self.signed/),
    })
    await using trusting = await openWorkspace(undefined, { NODE_EXTRA_CA_CERTS: workspace.file('cert.pem') })
    writeFileSync(trusting.file('ping.jsonl'), JSON.stringify(ping))
    expect(await trusting.run([...args, '--out', 'tls'])).toMatchObject({ code: 0, stderr: '' })
    expect(await trusting.run(['replay', url, 'tls'])).toMatchObject({ code: 0 })
  } finally {
    server.close()
  }
})
