// What becomes of a call that asks: later, without a daemon, interrupted, and on a terminal.
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exchange } from '../peers/exchange.ts'
import { ROOT } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'

const KEYS = join(ROOT, 'test', 'fixtures', 'questions', 'asking-keys.mjs')
const EVERYTHING = join(ROOT, 'test', 'fixtures', 'everything', 'server.mjs')
const KEY = "k=='; exit 9; '"
/** Such a setting is this command's alone, so it runs by itself. */
const ALONE = ['--upstream-probe-timeout', '5s']

let workspace: Workspace
let daemon: Running
let origin: string

beforeAll(async () => {
  workspace = await openWorkspace()
  const node = (...args: string[]) => ({ command: process.execPath, args })
  const mcpServers = {
    keys: { ...node(KEYS), env: { KEY, FIELD: "its 'name'", LOG: workspace.file('log') } },
    legacy: node(EVERYTHING, '--era', 'legacy'),
    gone: { command: workspace.file('gone') },
  }
  writeFileSync(workspace.config, JSON.stringify({ mcpServers }))
  writeFileSync(workspace.file('log'), '')
  daemon = await workspace.start('daemon', '--port', '0', '--json')
  origin = new URL((JSON.parse(await daemon.printed(/\n/)) as { v1: string }).v1).origin
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
})

const logged = () => readFileSync(workspace.file('log'), 'utf8').split('\n').slice(0, -1)
const parked = async () =>
  /mcpx_parked_calls (\d+)/.exec((await exchange(`${origin}/metrics`, { verb: 'GET' })).body)?.[1]

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}

/** The words of the answer command that was printed, its values filled in, as a shell makes them. */
function answerWords(stderr: string): string[] {
  const command = (/^ {2}mcpx (.*)$/m.exec(stderr)?.[1] ?? '').replaceAll('…', '"Ada"')
  const { stdout } = spawnSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' })
  return stdout.split('\0').slice(0, -1)
}

test.skipIf(process.platform === 'win32').each([
  ['the daemon', [], '--continue'],
  ['its state alone', ALONE, '--state'],
])('what a call asked is answered later through %s', async (_, more, option) => {
  const first = await workspace.run(['call', ...more, 'keys.ask', '{"it\'s": 1}'])
  expect([first.code, first.stdout]).toEqual([75, ''])
  expect(first.stderr).not.toMatch(/[\u0080-\u009f\u202e]/)
  const words = answerWords(first.stderr)
  expect(words).toContain(option)
  const last = await workspace.run([...words, ...more])
  expect([last.code, last.stderr]).toEqual([0, ''])
  expect(JSON.parse(last.stdout)).toEqual([{ "its 'name'": 'Ada' }, 'mine', { "it's": 1 }])
})

test.skipIf(process.platform === 'win32')(
  'a state that was printed without a daemon is good in one',
  async () => {
    const { stderr } = await workspace.run(['call', ...ALONE, 'keys.ask'])
    const words = answerWords(stderr)
    expect((await workspace.run(words)).code).toBe(0)
    const other = words.map((word) => (word === '{}' ? '{"other": true}' : word))
    expect(await workspace.run(other)).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('requestState'),
    })
  },
)

test('a failure has the same exit code through the daemon as without it', async () => {
  const [through, alone] = [
    await workspace.run(['call', 'gone.x']),
    await workspace.run(['call', ...ALONE, 'gone.x']),
  ]
  expect(through).toEqual(alone)
  expect(through).toMatchObject({ code: 69, stderr: expect.stringContaining('did not start') })
})

test('the error of a server is the same through the daemon as without it', async () => {
  const outcomes = await Promise.all(
    [[], ['--json'], ALONE, ['--json', ...ALONE]].map((more) =>
      workspace.run(['call', 'legacy.nope', ...more]),
    ),
  )
  const error = { code: -32602, message: 'Tool nope not found' }
  const text = {
    code: 1,
    stdout: '',
    stderr: 'Server "legacy" answered with error -32602: Tool nope not found\n',
  }
  const json = { code: 1, stdout: `${JSON.stringify({ error })}\n`, stderr: '' }
  expect(outcomes).toEqual([text, json, text, json])
})

test.skipIf(process.platform === 'win32')('an interrupted command ends its call on the server', async () => {
  const before = logged().length
  await using command = await workspace.start('call', 'keys.hang')
  await until(() => logged().slice(before).includes('hang'))
  expect(await command.end('SIGINT')).toBe(130)
  await until(() => logged().slice(before).includes('notifications/cancelled'))
})

test('word of a daemon that is gone, whose number another process has, is no hindrance', async () => {
  await using other = await openWorkspace({
    mcpServers: { legacy: { command: process.execPath, args: [EVERYTHING, '--era', 'legacy'] } },
  })
  await using first = await other.start('daemon', '--port', '0', '--json')
  await first.printed(/\n/)
  const [name = ''] = readdirSync(other.file('state')).filter((file) => /^daemon-.*json$/.test(file))
  const record = JSON.parse(readFileSync(join(other.file('state'), name), 'utf8')) as object
  await first.end('SIGTERM')
  // Nobody listens on port 1.
  const stale = { ...record, pid: process.pid, url: 'http://127.0.0.1:1' }
  writeFileSync(join(other.file('state'), name), JSON.stringify(stale))
  const { code, stdout } = await other.run(['call', 'legacy.test_simple_text'])
  expect([code, stdout]).toEqual([0, expect.stringContaining('simple text')])
})

/** Gives a command a terminal; its options are those of util-linux. */
const SCRIPT = 'script'
const terminals = process.platform === 'linux' && spawnSync(SCRIPT, ['--version']).status === 0
if (!terminals) console.log('skipped: no util-linux "script", so no terminal to ask on')

interface OnTerminal extends AsyncDisposable {
  readonly stdin: NodeJS.WritableStream
  /** All that was shown, once the pattern is in it. */
  shown(pattern: RegExp): Promise<string>
  readonly code: Promise<number | null>
}

function onTerminal(...args: string[]): OnTerminal {
  const { command, args: all, cwd, env } = workspace.command('call', ...args)
  const line = [command, ...all].map((word) => `'${word}'`).join(' ')
  const child = spawn(SCRIPT, ['-qefc', line, '/dev/null'], {
    cwd,
    env: { ...process.env, ...env },
    stdio: 'pipe',
  })
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const stdout: Readable = child.stdout.setEncoding('utf8')
  let seen = ''
  stdout.on('data', (part: string) => (seen += part))
  return {
    stdin: child.stdin,
    code,
    shown: async (pattern) => {
      const ended = code.then(() => 'ended')
      while (!pattern.test(seen)) {
        const next = new Promise<string>((resolve) => stdout.once('data', () => resolve('data')))
        if ((await Promise.race([next, ended])) === 'ended' && !pattern.test(seen)) throw new Error(seen)
      }
      return seen
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGHUP')
      await code
    },
  }
}

test.skipIf(!terminals).each([[[]], [ALONE]])('on a terminal a person is asked, with %j', async (more) => {
  await using terminal = onTerminal(...more, 'legacy.test_elicitation', '{"message": "A word?"}')
  expect(await terminal.shown(/response.*: /)).toContain('legacy asks: A word?')
  terminal.stdin.write('plover\n')
  expect(await terminal.shown(/"plover"/)).not.toContain('Answer with')
  expect(await terminal.code).toBe(0)
})

test.skipIf(!terminals)('Ctrl-C at a question ends the call that waits for it', async () => {
  const before = await parked()
  await using terminal = onTerminal('legacy.test_elicitation', '{"message": "A word?"}')
  await terminal.shown(/response.*: /)
  expect(await parked()).toBe(String(Number(before) + 1))
  terminal.stdin.write('\u0003')
  expect(await terminal.code).toBe(130)
  await until(async () => (await parked()) === before)
})
