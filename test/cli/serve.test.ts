// `mcpx serve`: stdout carries protocol only, and what is in flight when stdin ends is answered.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import { fixture, openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'

let gate: Gate
let workspace: Workspace
let daemon: Running
beforeAll(async () => {
  gate = await openGate()
  workspace = await openWorkspace({ mcpServers: { one: fixture('legacy-stdio') } })
  daemon = await workspace.start('daemon', '--port', '0', '--json')
  await daemon.printed(/\n/)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
  await gate[Symbol.asyncDispose]()
})

const faces = [
  { face: 'through the daemon', args: [] },
  { face: 'alone', args: ['--standalone'] },
]

const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
const hold = (id: unknown, label: string) =>
  line({ id, method: 'tools/call', params: { name: 'hold', arguments: { gate: gate.url(label) } } })
const idsIn = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((text) => JSON.parse(text).id)

test.each(faces)('$face, what is in flight at the end of stdin is answered', async ({ face, args }) => {
  await using serve = await workspace.start('serve', ...args)
  serve.stdin.end(hold('last', face))
  await gate.reached(face)
  gate.open(face, 'said at last')
  expect(JSON.parse(await serve.printed(/\n/))).toMatchObject({
    id: 'last',
    result: { content: [{ text: 'said at last' }] },
  })
  expect(await serve.end()).toBe(0)
})

test('what is not answered after stdio.drain is given up', async () => {
  await using serve = await workspace.start('serve', '--stdio-drain', '50ms')
  serve.stdin.end(hold(1, 'never'))
  expect(await serve.end()).toBe(0)
})

test.each(faces)(
  '$face, ids keep their type, and one that is in flight cannot be used again',
  async ({ face, args }) => {
    await using serve = await workspace.start('serve', ...args)
    const label = `ids ${face}`
    for (const id of [1, '1', 0]) serve.stdin.write(hold(id, label))
    await gate.reached(label, 3)
    serve.stdin.write(hold(1, label))
    const [refused] = (await serve.printed(/\n/)).split('\n')
    expect(JSON.parse(refused ?? '')).toMatchObject({ id: 1, error: { code: -32600 } })
    gate.open(label)
    expect(idsIn(await serve.printed(/(.*\n){4}/)).slice(1)).toEqual(expect.arrayContaining([0, 1, '1']))
  },
)

test.each(faces)('$face, what is no request is answered as such', async ({ args }) => {
  await using serve = await workspace.start('serve', ...args)
  serve.stdin.end('{"jsonrpc": \n[]\n{"id": 7}\n\n{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
  await serve.end()
  const answers = (await serve.printed(/"id":8/)).split('\n').filter(Boolean)
  expect(answers.map((text) => JSON.parse(text))).toMatchObject([
    { id: null, error: { code: -32700 } },
    { id: null, error: { code: -32600 } },
    { id: 7, error: { code: -32600 } },
    { id: 8, result: {} },
  ])
})

test('a server that the configuration does not have is refused by its name', async () => {
  for (const { args } of faces) {
    const { code, stdout, stderr } = await workspace.run(['serve', '--server', 'onne', ...args])
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).toMatch(/There is no server "onne" .*Did you mean "one"\?/)
  }
})
