import { afterEach, expect, test } from 'vitest'
import { McpxError, SILENT } from '../../src/base/index.ts'
import { createDialer, systemClock } from '../../src/transport/index.ts'
import type { DialerOptions, OwningDialer } from '../../src/transport/index.ts'
import type { RpcMessage, RpcRequest } from '../../src/wire/index.ts'
import { createManualClock } from './manual-clock.ts'
import { eventually, runs, target } from './processes.ts'
import { createLogRecorder, createRecorder, isClosed, isFailed, isMessage, says } from './recorder.ts'

const opened: OwningDialer[] = []

afterEach(async () => {
  for (const dialer of opened.splice(0)) await dialer.close()
})

function dialerWith(options: Partial<DialerOptions> = {}): OwningDialer {
  const dialer = createDialer({ clock: systemClock, log: SILENT, ...options })
  opened.push(dialer)
  return dialer
}

async function open(name: string, options: Partial<DialerOptions> & { args?: string[] } = {}) {
  const recorder = createRecorder()
  const channel = await dialerWith(options).dial(target(name, ...(options.args ?? [])), 'stdio', recorder)
  return { channel, recorder }
}

function ask(id: string | number, params: Record<string, unknown> = {}): RpcRequest {
  return { jsonrpc: '2.0', id, method: 'tools/call', params }
}

test('messages go in and come out in order, and ids keep their types', async () => {
  const { channel, recorder } = await open('echo')
  const ids = [1, '1', 0, 'a']
  for (const id of ids) channel.send(ask(id, { id, text: 'x\u2028🌦' }))
  const heard = await recorder.until(isMessage, ids.length)
  expect(heard.map(({ message }) => message)).toEqual(
    ids.map((id) => ({ jsonrpc: '2.0', id, result: { id, text: 'x\u2028🌦' } })),
  )
  expect(heard.every(({ via }) => via === undefined)).toBe(true)
  await channel.close()
  expect(recorder.heard.at(-1)).toEqual({ kind: 'closed', reason: { kind: 'closed' } })
  channel.send(ask(9))
  expect(recorder.heard.filter(isClosed)).toHaveLength(1)
})

test('C13: a server that floods stderr before it answers is not blocked, and the tail is kept', async () => {
  const { channel, recorder } = await open('floods-stderr')
  channel.send(ask(1))
  await recorder.until(isMessage)
  expect(await eventually(() => channel.stderr?.().at(-1)?.endsWith('.4096') === true)).toBe(true)
  const lines = channel.stderr?.() ?? []
  // 64 KiB are 1024 lines of 64 bytes; the oldest is cut at its beginning at most.
  expect(lines.length).toBeGreaterThanOrEqual(1023)
  expect(lines.length).toBeLessThanOrEqual(1024)
})

test('C15: a crash is told after the last messages, with exit code and stderr', async () => {
  const { recorder } = await open('crashes', { args: ['3'] })
  const [closed] = await recorder.until(isClosed)
  expect(closed?.reason).toEqual({
    kind: 'exited',
    code: 3,
    signal: null,
    stderr: ['Error: no database', '    at start (server.js:1:1)'],
  })
  expect(recorder.heard.filter(isMessage).map(({ message }) => message)).toMatchObject([
    { params: { data: 'last words' } },
    { params: { data: 'without a newline' } },
  ])
  expect(recorder.heard.at(-1)).toBe(closed)
})

test('C15: writing to a process that is already gone fails nothing: its exit tells more', async () => {
  const { channel, recorder } = await open('crashes', { args: ['127'] })
  for (let n = 0; n < 50; n++) channel.send(ask(n, { text: 'x'.repeat(100_000) }))
  const [closed] = await recorder.until(isClosed)
  expect(closed?.reason).toMatchObject({ kind: 'exited', code: 127 })
  expect(recorder.heard.filter(isFailed)).toEqual([])
})

test('a process that lives on without its stdin fails what it never got', async () => {
  const { channel, recorder } = await open('deaf', { patience: { drain: 50, stdinEnd: 50 } })
  await recorder.until(says('ready'))
  // The first write may still find room in the pipe.
  const send = (id: number): void => channel.send(ask(id, { text: 'x'.repeat(1_000_000) }))
  for (let id = 1; id <= 3; id++) send(id)
  const failed = await recorder.until(isFailed, 3)
  expect(new Set(failed.map(({ id }) => id))).toEqual(new Set([1, 2, 3]))
  expect(failed[0]?.failure).toMatchObject({ kind: 'network', sent: false })
})

test('C38: separators of Unicode, CRLF, a BOM and a split emoji arrive unchanged', async () => {
  const { channel, recorder } = await open('odd-text')
  channel.send(ask(1))
  const [heard] = await recorder.until(isMessage)
  expect(heard?.message).toMatchObject({ result: { text: 'a\u2028b\u2029c\u0085d\ne 🌦 f' } })
})

test('C39: a 20 MiB line arrives, a larger one fails its own request only, and the next one arrives', async () => {
  const { channel, recorder } = await open('large-lines', { limits: { maxMessage: 24 * 1024 * 1024 } })
  channel.send(ask(1, { bytes: 20 * 1024 * 1024 }))
  channel.send(ask('2', { bytes: 40 * 1024 * 1024 }))
  channel.send(ask(3, { bytes: 3 }))
  await recorder.until((one): one is never => isMessage(one) && 'id' in one.message && one.message.id === 3)
  expect(recorder.heard.map((one) => one.kind)).toEqual(['message', 'failed', 'message'])
  const [first, second, third] = recorder.heard
  expect(
    first?.kind === 'message' && 'result' in first.message && String(first.message.result['text']).length,
  ).toBe(20 * 1024 * 1024)
  expect(second).toEqual({ kind: 'failed', id: '2', failure: { kind: 'too-large', bytes: 24 * 1024 * 1024 } })
  expect(third).toMatchObject({ message: { id: 3, result: { text: 'xxx' } } })
})

test('C40: what is no message is skipped, with one warning that names the server', async () => {
  const log = createLogRecorder()
  const { channel, recorder } = await open('noisy', { log, name: 'noisy one' })
  channel.send(ask(1))
  channel.send(ask(2))
  channel.send(ask(3))
  const heard = await recorder.until(isMessage, 2)
  expect(heard.map(({ message }) => 'id' in message && message.id)).toEqual([1, 3])
  // A line with a request's id that is no call can only be its broken answer.
  expect(recorder.heard.filter(isFailed)).toMatchObject([
    { id: 2, failure: { kind: 'not-json-rpc', status: 0 } },
  ])
  await channel.close()
  expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    {
      message: expect.stringContaining('"noisy one"') as string,
      facts: { text: 'Welcome to the noisy server!' },
    },
  ])
  // The banner, and with each answer a log line, an object and two items of an array; and the broken answer.
  expect(log.lines.find(({ level }) => level === 'debug')?.facts).toMatchObject({ count: 14 })
})

test('a command that does not exist says its name and what to do', async () => {
  const dialing = dialerWith({ name: 'absent' }).dial(
    { ...target('echo'), command: 'no-such-command' },
    'stdio',
    createRecorder(),
  )
  await expect(dialing).rejects.toThrow(McpxError)
  await expect(dialing).rejects.toMatchObject({
    code: 'UPSTREAM_START_FAILED',
    message:
      'Server "absent" did not start: the command "no-such-command" was not found. Install it, or give its full path as "command".',
  })
})

test('a working folder that does not exist is told from a missing command', async () => {
  const dialing = dialerWith().dial({ ...target('echo'), cwd: '/no/such/folder' }, 'stdio', createRecorder())
  await expect(dialing).rejects.toMatchObject({
    code: 'UPSTREAM_START_FAILED',
    message: expect.stringContaining('/no/such/folder') as string,
  })
})

test('an argument that no process can have is a failed start too', async () => {
  const dialing = dialerWith().dial({ ...target('echo'), args: ['\0'] }, 'stdio', createRecorder())
  await expect(dialing).rejects.toMatchObject({ code: 'UPSTREAM_START_FAILED' })
})

test('a child inherits the few names of the list and what its target adds', async () => {
  const recorder = createRecorder()
  const environment = { ...process.env, HOME: '/home/x', SECRET_TOKEN: 's', SHELL: '() { evil; }' }
  const code =
    "process.stdout.write(JSON.stringify({jsonrpc:'2.0',method:'env',params:{...process.env}})+'\\n')"
  await dialerWith({ environment }).dial(
    {
      kind: 'stdio',
      command: process.execPath,
      args: ['-e', code],
      env: { OWN: '1', HOME: '/own' },
      cwd: undefined,
    },
    'stdio',
    recorder,
  )
  const [heard] = await recorder.until(isMessage)
  const seen = heard !== undefined && 'params' in heard.message ? (heard.message.params ?? {}) : {}
  expect(seen).toMatchObject({ OWN: '1', HOME: '/own', PATH: process.env['PATH'] })
  expect(seen).not.toHaveProperty('SECRET_TOKEN')
  expect(seen).not.toHaveProperty('SHELL')
})

test.skipIf(process.platform === 'win32')('the ladder: stdin ends, 2 s, SIGTERM, 3 s, SIGKILL', async () => {
  const clock = createManualClock()
  const { channel, recorder } = await open('stubborn', { clock })
  await recorder.until(says('ready'))
  const closing = channel.close()
  await clock.waitsFor(2000)
  await clock.advance(1999)
  expect(recorder.heard).toHaveLength(1)
  await clock.advance(1)
  await recorder.until(says('SIGTERM'))
  await clock.advance(3000)
  // The exit is the kernel's to tell; after it, time has to pass for the look at the group.
  const done = closing.then(() => true)
  while (!recorder.heard.some(isClosed)) await clock.advance(10)
  expect(await done).toBe(true)
  expect(recorder.heard.at(-1)).toEqual({ kind: 'closed', reason: { kind: 'closed' } })
})

test.skipIf(process.platform === 'win32').each(['echo', 'stubborn'])(
  'C37: close ends a wrapper and the %s server behind it',
  async (habit) => {
    const { channel, recorder } = await open('wrapper', {
      args: [habit],
      patience: { stdinEnd: 300, terminate: 300 },
    })
    const [heard] = await recorder.until(says('pids'))
    const pids = pidsOf(heard)
    expect(pids.every(runs)).toBe(true)
    await channel.close()
    expect(pids.filter(runs)).toEqual([])
  },
)

test.skipIf(process.platform === 'win32')(
  'C37: a wrapper that dies by itself leaves nothing behind, and hangs nobody',
  async () => {
    const { recorder } = await open('wrapper', {
      args: ['stubborn'],
      patience: { drain: 100, terminate: 500 },
    })
    const [heard] = await recorder.until(says('pids'))
    await recorder.until(says('ready'))
    const [wrapper = 0, server = 0] = pidsOf(heard)
    process.kill(wrapper, 'SIGKILL')
    // The server behind it holds the pipes open and ignores SIGTERM.
    await recorder.until(says('SIGTERM'))
    const [closed] = await recorder.until(isClosed)
    expect(closed?.reason).toMatchObject({ kind: 'exited', code: null, signal: 'SIGKILL' })
    expect(await eventually(() => !runs(server))).toBe(true)
  },
)

test('closing the dialer closes its channels, and nothing opens after it', async () => {
  const dialer = createDialer({ clock: systemClock, log: SILENT })
  const recorder = createRecorder()
  await dialer.named('a').dial(target('echo'), 'stdio', recorder)
  await dialer.close()
  expect(recorder.heard).toEqual([{ kind: 'closed', reason: { kind: 'closed' } }])
  await expect(dialer.dial(target('echo'), 'stdio', createRecorder())).rejects.toMatchObject({
    code: 'STOPPING',
  })
})

function pidsOf(heard: { message: RpcMessage } | undefined): number[] {
  const message = heard?.message
  return message !== undefined && 'params' in message ? (message.params?.['pids'] as number[]) : []
}
