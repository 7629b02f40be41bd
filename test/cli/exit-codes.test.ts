// Each way in which a command can fail: what it says on stderr, and its exit code.
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fixture, openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'

let files: Workspace
let empty: Workspace
beforeAll(async () => {
  files = await openWorkspace({
    mcpServers: { files: fixture('legacy-stdio'), 'other.one': fixture('legacy-stdio') },
  })
  empty = await openWorkspace()
})
afterAll(async () => {
  await files[Symbol.asyncDispose]()
  await empty[Symbol.asyncDispose]()
})

interface Row {
  readonly args: readonly string[]
  readonly code: number
  readonly says: RegExp
  readonly stdin?: string
}

const failures: readonly Row[] = [
  {
    args: ['call', 'files.echo', '{"message": }'],
    code: 65,
    says: /^mcpx: The arguments are not JSON: .*\. Write an object like/,
  },
  { args: ['call', 'files.echo', '[1]'], code: 65, says: /^mcpx: The arguments must be a JSON object like/ },
  { args: ['call', 'files.echo', '-'], stdin: '{', code: 65, says: /^mcpx: The arguments are not JSON/ },
  {
    args: ['call', 'fils.echo'],
    code: 64,
    says: /^mcpx: There is no server "fils" .*Did you mean "files"\?/,
  },
  { args: ['call', 'nowhere.echo'], code: 64, says: /The servers are: files, other\.one\./ },
  { args: ['call', 'echo'], code: 64, says: /^mcpx: "echo" names no tool: write <server>\.<tool>/ },
  { args: ['call', 'files.'], code: 64, says: /^mcpx: "files\." names no tool: write <server>\.<tool>/ },
  {
    args: ['call', 'files.ekko'],
    code: 1,
    says: /^Server "files" answered with error -32602: Unknown tool: ekko\n$/,
  },
  { args: ['tools', 'fils'], code: 64, says: /^mcpx: There is no server "fils"/ },
  { args: ['serve', '--server', 'fils'], code: 64, says: /^mcpx: There is no server "fils"/ },
  { args: [], code: 64, says: /^Usage: mcpx/ },
  { args: ['demon'], code: 64, says: /^error: unknown command 'demon'\n.*Did you mean daemon\?/ },
  { args: ['call'], code: 64, says: /^error: missing required argument 'server\.tool'\n.*mcpx call --help/s },
  { args: ['tools', 'a', 'b'], code: 64, says: /^error: too many arguments/ },
  { args: ['tools', '--jsn'], code: 64, says: /^error: unknown option '--jsn'\n.*Did you mean --json\?/ },
  { args: ['probe'], code: 64, says: /^error: missing required argument 'target'/ },
  { args: ['probe', 'http://'], code: 64, says: /^mcpx: http:\/\/ is no URL\./ },
  {
    args: ['probe', '--timeout', 'soon', 'x'],
    code: 64,
    says: /^mcpx: --timeout soon is no duration such as 30s\./,
  },
  { args: ['probe', '--header', 'X', 'http://127.0.0.1/'], code: 64, says: /^mcpx: --header X has no colon/ },
  {
    args: ['tools', '--config', 'no.json'],
    code: 66,
    says: /^mcpx: There is no configuration file .*no\.json\./,
  },
  {
    args: ['tools', '--upstream-protocol', 'newest'],
    code: 78,
    says: /^mcpx: .*upstream[.-]protocol.*newest.*prefer-discover.*force-initialize/s,
  },
  { args: ['daemon', '--port', '99999'], code: 78, says: /^mcpx: .*port.*99999.*65535/s },
]

test.each(failures)('mcpx $args exits with $code', async ({ args, code, says, stdin }) => {
  const finished = await files.run(args, stdin)
  expect(finished).toEqual({ code, stdout: '', stderr: expect.stringMatching(says) })
})

test('without any configuration, what is looked for is named', async () => {
  const { code, stderr } = await empty.run(['tools'])
  expect(code).toBe(66)
  expect(stderr).toMatch(
    /^mcpx: No configuration file was found\. mcpx looks for mcpx\.json, .*--config\.\n$/s,
  )
})

const configs = [
  {
    what: 'a syntax error',
    text: '{\n  "mcpServers": {\n    "a": { "command": "node" "args": [] }\n  }\n}',
    says: /^mcpx: .*mcpx\.json:3:\d+/,
  },
  {
    what: 'an unknown key',
    text: '{"mcpServers": {"a": {"comand": "node"}}}',
    says: /^mcpx: .*comand.*did you mean "command"/is,
  },
  {
    what: 'an unknown setting',
    text: '{"mcpServers": {}, "upstream": {"probeTimout": "2s"}}',
    says: /^mcpx: .*probeTimout.*did you mean "(upstream\.)?probeTimeout"/is,
  },
]

test.each(configs)('$what in the configuration exits with 78 and says where', async ({ text, says }) => {
  await using workspace = await openWorkspace(text)
  expect(await workspace.run(['tools'])).toEqual({
    code: 78,
    stdout: '',
    stderr: expect.stringMatching(says),
  })
})

test('a port that is taken exits with 69 and names it', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  const { code, stdout, stderr } = await files.run(['daemon', '--port', String(port)])
  other.close()
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' })
  expect(stderr).toMatch(new RegExp(`^mcpx: Port ${port} on 127\\.0\\.0\\.1 is taken\\..*--port`))
})

test('help and version are no failures', async () => {
  expect(await files.run(['--version'])).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  })
  const help = await files.run(['call', '--help'])
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Usage: mcpx call') })
})
