// What the commands print where nothing fails, for people and as JSON.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fixture, fixturePath, openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'

let workspace: Workspace
beforeAll(async () => {
  workspace = await openWorkspace({
    mcpServers: { files: fixture('legacy-stdio'), 'a.b': fixture('legacy-stdio') },
  })
})
afterAll(() => workspace[Symbol.asyncDispose]())

test('a call prints the text of the result', async () => {
  expect(await workspace.run(['call', 'files.echo', '{"message": "Grüße 🌍"}'])).toEqual({
    code: 0,
    stdout: 'Grüße 🌍\n',
    stderr: '',
  })
})

test('a call takes its arguments from stdin, and a server name may hold a dot', async () => {
  const { code, stdout } = await workspace.run(['call', 'a.b.echo', '-'], '{"message": "hi"}')
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'hi\n' })
})

test('a tool that reports an error exits with 1, and its text is printed all the same', async () => {
  const { code, stdout, stderr } = await workspace.run(['call', 'files.fail', '{"message": "no such file"}'])
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: 'no such file\n', stderr: '' })
})

test('a call prints the whole result as JSON', async () => {
  const { code, stdout } = await workspace.run(['call', 'files.fail', '{"message": "no"}', '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ content: [{ type: 'text', text: 'no' }], isError: true })
})

test('a call prints the error of the server as JSON', async () => {
  const { code, stdout, stderr } = await workspace.run(['call', 'files.ekko', '--json'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ error: { code: -32602, message: 'Unknown tool: ekko' } })
})

test('tools are listed for people and as JSON', async () => {
  const people = await workspace.run(['tools', 'files'])
  expect(people).toMatchObject({ code: 0, stderr: '' })
  expect(people.stdout.split('\n').map((line) => line.split(/\s/, 1)[0])).toEqual([
    'TOOL',
    'files.echo',
    'files.fail',
    'files.hold',
    '',
  ])
  const machines = await workspace.run(['tools', '--json'])
  expect(machines.code).toBe(0)
  const { servers } = JSON.parse(machines.stdout)
  const expected = [{ name: 'echo' }, { name: 'fail' }, { name: 'hold' }]
  expect(servers).toMatchObject([
    { server: 'files', tools: expected, error: null },
    { server: 'a.b', tools: expected, error: null },
  ])
})

test('a probe prints its verdict as JSON', async () => {
  const { code, stdout } = await workspace.run([
    'probe',
    '--json',
    '--',
    process.execPath,
    fixturePath('legacy-stdio'),
  ])
  expect(code).toBe(0)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({
    verdict: { era: 'legacy', revision: '2025-11-25', transport: 'stdio', source: 'probe' },
    error: null,
  })
  expect(Object.keys(report)).toEqual(['verdict', 'frames', 'error'])
  expect(report.frames).toEqual([
    { dir: 'sent', method: 'server/discover', ms: expect.any(Number), summary: expect.any(String) },
    {
      dir: 'received',
      method: 'server/discover',
      ms: expect.any(Number),
      summary: expect.stringContaining('-32601'),
    },
    { dir: 'sent', method: 'initialize', ms: expect.any(Number), summary: expect.any(String) },
    { dir: 'received', method: 'initialize', ms: expect.any(Number), summary: expect.any(String) },
  ])
})

test('a probe explains its verdict', async () => {
  const { code, stdout } = await workspace.run(['probe', '--', process.execPath, fixturePath('legacy-stdio')])
  expect(code).toBe(0)
  expect(stdout).toMatch(/\nlegacy: it refused server\/discover .* Revision 2025-11-25, over stdio\.\n$/)
})

const undecided = [
  {
    what: 'a command that does not exist',
    target: ['--', 'no-such-command-here'],
    code: 'UPSTREAM_START_FAILED',
    says: /"no-such-command-here" was not found/,
  },
  {
    what: 'a server that crashes',
    target: ['--', process.execPath, fixturePath('stack-trace')],
    code: 'CLOSED_DURING_PROBE',
    says: /exited with code 1 .*no database at localhost:5432/s,
  },
  {
    what: 'a server that is silent',
    target: ['--timeout', '1s', '--', process.execPath, fixturePath('silent')],
    code: 'UPSTREAM_START_TIMEOUT',
    says: /did not answer .* within 1 s/,
  },
  {
    what: 'an address where nobody listens',
    target: ['http://127.0.0.1:1/mcp'],
    code: 'UPSTREAM_UNREACHABLE',
    says: /cannot be reached/,
  },
]

test.each(undecided)('a probe of $what has no verdict and exits with 1', async ({ target, code, says }) => {
  const machines = await workspace.run(['probe', '--json', ...target])
  expect(machines.code).toBe(1)
  expect(JSON.parse(machines.stdout)).toEqual({
    verdict: null,
    frames: expect.any(Array),
    error: { code, message: expect.stringMatching(says) },
  })
})
