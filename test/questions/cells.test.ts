// Any client, any server that asks: what the user answers arrives in the result, in all four cells, over every transport.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Address, JsonObject } from '../peers/peer.ts'
import { ROOT, startProgram } from '../peers/processes.ts'
import type { Child } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'
import { KINDS, openAskable } from './askable.ts'
import type { Askable } from './askable.ts'
import { OVER, pathOf } from './setup.ts'

const BY = ['stdio', 'http'] as const
const CELLS = KINDS.flatMap((kind) => BY.flatMap((by) => OVER.map((over) => ({ kind, by, over }))))

let workspace: Workspace
let daemon: Running
let mcp: string
const programs: Child[] = []

const own = (name: string) => pathOf(`questions/${name}`)
const everything = pathOf('everything/server')

beforeAll(async () => {
  const [v1, reference, modern] = await Promise.all([
    startProgram([own('asking-sdk-v1'), '--http']),
    startProgram([own('everything-http')]),
    startProgram([everything, '--era', 'modern', '--port', '0']),
  ])
  programs.push(v1, reference, modern)
  const reached = (line: string, ...args: string[]) => ({
    http: { url: line },
    stdio: { command: process.execPath, args, cwd: ROOT },
  })
  const servers = {
    v1: reached(v1.line, own('asking-sdk-v1')),
    reference: reached(
      reference.line,
      'node_modules/@modelcontextprotocol/server-everything/dist/index.js',
      'stdio',
    ),
    modern: reached(modern.line, everything, '--era', 'modern'),
  }
  const mcpServers = Object.fromEntries(
    Object.entries(servers).flatMap(([name, both]) =>
      Object.entries(both).map(([over, server]) => [`${name}-${over}`, { ...server, scope: 'principal' }]),
    ),
  )
  workspace = await openWorkspace({ mcpServers })
  daemon = await workspace.start('daemon', '--port', '0', '--json')
  mcp = (JSON.parse(await daemon.printed(/\n/)) as { mcp: string }).mcp
})

afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]()
  for (const program of programs) await program.stop('SIGTERM')
  await workspace?.[Symbol.asyncDispose]()
})

const addressOf = (by: 'stdio' | 'http', server: string): Address =>
  by === 'http' ? { url: `${mcp}/${server}` } : workspace.command('serve', '--standalone', '--server', server)

const textOf = (result: JsonObject): string => {
  const { content } = result as { content: { text: string }[] }
  return content.map(({ text }) => text).join('\n')
}
const said = async (result: Promise<JsonObject>): Promise<unknown> => JSON.parse(textOf(await result))
const told = (message: string) => ({ action: 'accept', content: { word: `told for ${message}` } })
const sampled = (message: string) => ({ content: { type: 'text', text: `sampled for ${message}` } })
const ROOTS = { roots: [{ uri: 'file:///one', name: 'one' }] }
const methods = ({ asked }: Askable) => asked.map(({ method }) => method)

describe.each(CELLS)('$kind over $by asked by a server over $over', ({ kind, by, over }) => {
  test('SDK v1: each kind of question, on tools, prompts and resources', async () => {
    await using client = await openAskable(kind, addressOf(by, `v1-${over}`))
    const call = (name: string, note: string) => said(client.callTool(name, { note }))
    expect(await call('elicit', 'a')).toEqual(told('a'))
    expect(await call('sample', 'b')).toMatchObject(sampled('b'))
    expect(await call('roots', 'c')).toEqual(ROOTS)
    expect(await call('elicit_aside', 'd')).toEqual(told('d'))
    expect(await call('sample_aside', 'e')).toMatchObject(sampled('e'))
    expect(await call('roots_aside', 'f')).toEqual(ROOTS)
    const { messages } = (await client.getPrompt('elicit', { note: 'g' })) as {
      messages: { content: { text: string } }[]
    }
    expect(JSON.parse(messages[0]?.content.text ?? '')).toEqual(told('g'))
    const { contents } = (await client.readResource('ask://elicit/h')) as { contents: { text: string }[] }
    expect(JSON.parse(contents[0]?.text ?? '')).toEqual(told('h'))
  })

  test('SDK v1: two at once, all kinds at once, and several rounds', async () => {
    await using client = await openAskable(kind, addressOf(by, `v1-${over}`))
    const call = (name: string, note: string) => said(client.callTool(name, { note }))
    expect(await call('two', 'a')).toEqual([told('a 1'), told('a 2')])
    expect(await call('two_aside', 'b')).toEqual([told('b 1'), told('b 2')])
    expect(await call('all', 'c')).toMatchObject([told('c'), sampled('c'), ROOTS])
    expect(await call('three_rounds', 'd')).toMatchObject([told('d 1'), sampled('d 2'), told('d 3')])
    expect(await call('plain', 'e')).toBe('e')
  })

  test('SDK v1: ten calls at once, each its own answers', async () => {
    await using client = await openAskable(kind, addressOf(by, `v1-${over}`))
    const notes = Array.from({ length: 10 }, (_, i) => `note ${i}`)
    const answers = await Promise.all(
      notes.map((note, i) => said(client.callTool(['elicit', 'elicit_aside'][i % 2] ?? '', { note }))),
    )
    expect(answers).toEqual(notes.map(told))
  })

  test('the reference server: elicitation and sampling', async () => {
    await using client = await openAskable(kind, addressOf(by, `reference-${over}`))
    const filled = textOf(await client.callTool('trigger-elicitation-request', {}))
    expect(filled).toContain('- Name: told for Please provide inputs for the following fields:')
    const text = textOf(await client.callTool('trigger-sampling-request', { prompt: 'say' }))
    expect(text).toContain('sampled for Resource trigger-sampling-request context: say')
    expect(methods(client).filter((method) => method !== 'roots/list')).toEqual([
      'elicitation/create',
      'sampling/createMessage',
    ])
    const opened = textOf(
      await client.callTool('trigger-url-elicitation', { url: 'https://example.com/', message: 'Go there' }),
    )
    expect(opened).toMatch(/accept/i)
    // The server asks for roots whenever it pleases.
    const elicited = client.asked.filter(({ method }) => method === 'elicitation/create')
    expect(elicited.at(-1)?.params).toMatchObject({ mode: 'url', url: 'https://example.com/' })
  })

  test('a modern server: elicitation, sampling and roots, in one round and in several', async () => {
    await using client = await openAskable(kind, addressOf(by, `modern-${over}`))
    const call = async (name: string, args = {}) => textOf(await client.callTool(name, args))
    expect(await call('test_input_required_result_elicitation')).toBe('Hello, told for What is your name?!')
    expect(await call('test_sampling', { prompt: 'p' })).toBe('LLM response: sampled for p')
    expect(await call('test_input_required_result_list_roots')).toBe('Roots: file:///one')
    expect(await call('test_input_required_result_request_state')).toBe('state-ok')
    expect(await call('test_input_required_result_multiple_inputs')).toBe(
      'sampled for Greet somebody. told for What is your name?, 1 roots',
    )
    expect(await call('test_input_required_result_multi_round')).toBe(
      'told for What is your name? likes told for Which colour?',
    )
    const { messages } = (await client.getPrompt('test_input_required_result_prompt', {})) as {
      messages: { content: { text: string } }[]
    }
    expect(messages[0]?.content.text).toBe('The context is told for In which context?')
  })
})
