// What tools ask, on the command line: exit code and answer command without a terminal, the inbox, and prompts.
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { putToPerson, valuesOf } from '../../src/cli/form.ts'
import { ROOT } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'

const EVERYTHING = join(ROOT, 'test', 'fixtures', 'everything', 'server.mjs')
const ASK = ['test_elicitation', '{"message": "A word?"}'] as const

let workspace: Workspace
let daemon: Running

beforeAll(async () => {
  const servers = ['legacy', 'modern'].map((era) => [
    era,
    { command: process.execPath, args: [EVERYTHING, '--era', era] },
  ])
  workspace = await openWorkspace({ mcpServers: Object.fromEntries(servers) })
  daemon = await workspace.start('daemon', '--port', '0', '--json')
  await daemon.printed(/\n/)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
})

test.each(['legacy', 'modern'])(
  'without a terminal a call of a %s server exits with 75 and says how to go on',
  async (era) => {
    const first = await workspace.run(['call', `${era}.${ASK[0]}`, ASK[1]])
    expect([first.code, first.stdout]).toEqual([75, ''])
    expect(first.stderr).toContain('A word?')
    const [, id, key] = /--continue (\S+) --answer '([^=]+)=/.exec(first.stderr) ?? []
    const answer = `${key}={"action": "accept", "content": {"response": "xyzzy"}}`
    const last = await workspace.run(['call', '--continue', String(id), '--answer', answer])
    expect([last.code, last.stdout]).toEqual([0, expect.stringContaining('xyzzy')])
    const late = await workspace.run(['call', '--continue', String(id), '--answer', answer])
    expect([late.code, late.stderr]).toEqual([64, expect.stringContaining('asks nothing now')])
  },
)

test('a command that runs by itself says that the daemon would have waited', async () => {
  // A setting of this command alone cannot be the daemon's.
  const alone = ['--upstream-probe-timeout', '5s']
  const { code, stderr } = await workspace.run(['call', ...alone, `legacy.${ASK[0]}`, ASK[1]])
  expect([code, stderr]).toEqual([75, expect.stringContaining('mcpx daemon')])
})

test('the inbox is watched, shown and answered', async () => {
  await using watcher = await workspace.start('questions', '--watch')
  const v1 = (JSON.parse(await daemon.printed(/\n/)) as { v1: string }).v1
  const call = async () =>
    fetch(`${v1}/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        server: 'legacy',
        tool: ASK[0],
        args: JSON.parse(ASK[1]) as object,
        capabilities: {},
      }),
    }).then((response) => response.text())
  const told = watcher.printed(/question\.asked.*\n/)
  // Until the watcher is there, the server is refused at once.
  let calling = call()
  for (;;) {
    const first = await Promise.race([told, calling])
    if (first.includes('question.asked')) break
    calling = call()
  }
  const { id } = JSON.parse(await told) as { id: string }
  expect((await workspace.run(['questions'])).stdout).toContain(id)
  const unfit = await workspace.run(['questions', 'answer', id, 'other=1'])
  expect([unfit.code, unfit.stderr]).toEqual([65, expect.stringContaining('response')])
  expect((await workspace.run(['questions', 'answer', id, 'response=frotz'])).code).toBe(0)
  expect(await calling).toContain('frotz')
  expect((await workspace.run(['questions', 'answer', id, '--decline'])).code).toBe(64)
})

test('a watcher ends when the daemon does', async () => {
  const servers = { legacy: { command: process.execPath, args: [EVERYTHING, '--era', 'legacy'] } }
  await using other = await openWorkspace({ mcpServers: servers })
  await using ended = await other.start('daemon', '--port', '0', '--json')
  const { v1 } = JSON.parse(await ended.printed(/\n/)) as { v1: string }
  await using watcher = await other.start('questions', '--watch')
  const log = watcher.logged(/went away/)
  // It watches once a question gets through to it.
  const body = JSON.stringify({ server: 'legacy', tool: ASK[0], args: { message: 'x' }, capabilities: {} })
  const headers = { 'content-type': 'application/json' }
  const asked = watcher.printed(/question.asked/).then(() => true)
  for (let seen = false; !seen;) {
    const called = fetch(`${v1}/call`, { method: 'POST', headers, body }).then((response) => response.text())
    called.catch(() => undefined)
    seen = await Promise.race([asked, called.then(() => false)])
  }
  await ended.end('SIGTERM')
  expect(await log).toContain('daemon')
  expect(await watcher.end()).toBe(69)
})

const FORM = {
  message: 'Who are you?\u001b[2J',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Your name' },
      age: { type: 'integer' },
      member: { type: 'boolean', default: true },
      colour: {
        type: 'string',
        oneOf: [
          { const: 'r', title: 'Red' },
          { const: 'g', title: 'Green' },
        ],
      },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    },
    required: ['name', 'colour'],
  },
}

async function typed(params: Record<string, unknown>, lines: string, method = 'elicitation/create') {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const asked = putToPerson({ server: 'shop', method, params }, { input, output })
  input.end(lines)
  const result = await asked
  output.end()
  return { result, shown: await text(output) }
}

test('a person fills a form field by field, and is asked again for what does not fit', async () => {
  const { result, shown } = await typed(FORM, 'Ada\nold\n36\n\nblue\ng\na, c\na, b\n')
  const content = { name: 'Ada', age: 36, member: true, colour: 'g', tags: ['a', 'b'] }
  expect(result).toEqual({ action: 'accept', content })
  expect(shown).toContain('shop asks: Who are you?')
  expect(shown).toContain('write a whole number')
  expect(shown).toContain('[r = Red | g = Green]')
  expect(shown).toContain('write one of r, g')
  expect(shown).toContain('write some of a, b')
  // A server cannot steer the terminal.
  expect(shown).not.toContain('\u001b')
})

test('an empty line declines what is required, and the end of the input answers nothing', async () => {
  expect((await typed(FORM, '\n')).result).toEqual({ action: 'decline' })
  expect((await typed(FORM, 'Ada\n')).result).toEqual({ action: 'cancel' })
})

test('an address is shown and never opened; what a terminal cannot answer is left to others', async () => {
  const url = { mode: 'url', message: 'Log in', url: 'https://example.com/login' }
  const { result, shown } = await typed(url, 'y\n')
  expect([result, shown.includes('https://example.com/login')]).toEqual([{ action: 'accept' }, true])
  expect((await typed(url, 'n\n')).result).toEqual({ action: 'decline' })
  expect((await typed({}, '', 'sampling/createMessage')).result).toBeUndefined()
})

test('words become values of the types that the form wants', () => {
  const words = ['name=a=b', 'age=7', 'member=no', 'other=x']
  expect(valuesOf(words, FORM.requestedSchema)).toEqual({ name: 'a=b', age: 7, member: false, other: 'x' })
  expect(() => valuesOf(['age=seven'], FORM.requestedSchema)).toThrow('age: write a whole number')
  expect(() => valuesOf(['age'], FORM.requestedSchema)).toThrow('"age" is not key=value')
})
