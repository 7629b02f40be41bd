// Sessions of a server that keeps something in them: one for each caller that needs one, found again after they are lost.
import { expect, test } from 'vitest'
import { openCaller, overHttp, overPipe } from '../bridge/caller.ts'
import type { Caller } from '../bridge/caller.ts'
import { startDaemon } from '../peers/processes.ts'
import { openHost, refused, text, tool, toolsOf } from './host.ts'
import type { Answering, Asked } from './host.ts'

/** A server that counts the calls of each of its sessions. */
function counting(): { readonly answer: Answering; readonly counts: ReadonlyMap<string, number> } {
  const counts = new Map<string, number>()
  const answer = toolsOf(
    () => [tool('count')],
    ({ method, session = '' }) => {
      if (method !== 'tools/call') return undefined
      const count = (counts.get(session) ?? 0) + 1
      counts.set(session, count)
      return text(count)
    },
  )
  return { answer, counts }
}

let lastId = 0
const countsOf = async (caller: Caller, calls: number) => {
  const said: unknown[] = []
  while (said.length < calls) {
    const { result } = await caller.ask(`call ${++lastId}`, 'tools/call', { name: 'count', arguments: {} })
    said.push((result as { content: { text: string }[] }).content[0]?.text)
  }
  return said
}

const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, at) => String(from + at))
const BY = ['http', 'stdio'] as const

test.each(BY)(
  'case C42: ten calls of one client over %s are made in one session of the server',
  async (by) => {
    const { answer, counts } = counting()
    await using host = await openHost({ era: 'legacy', answer })
    await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
    const connect = () => (by === 'http' ? overHttp(daemon.url) : overPipe(daemon.serve()))
    {
      await using caller = await openCaller('2025-11-25', connect())
      await caller.ask('list', 'tools/list')
      expect(await countsOf(caller, 10)).toEqual(upTo(10))
    }
    expect([counts.size, host.times('initialize')]).toEqual([1, 1])
    // Without a scope of their own, clients share it, those of the other era too.
    await using modern = await openCaller('2026-07-28', connect())
    expect(await countsOf(modern, 2)).toEqual(upTo(12, 11))
    expect([counts.size, host.times('initialize')]).toEqual([1, 1])
  },
)

test.each(BY)('case C42: clients over %s have a session each on a server of scope session', async (by) => {
  const { answer, counts } = counting()
  await using host = await openHost({ era: 'legacy', answer })
  await using daemon = await startDaemon({ mcpServers: { one: { url: host.url, scope: 'session' } } })
  const connect = () => (by === 'http' ? overHttp(daemon.url) : overPipe(daemon.serve()))
  await using ann = await openCaller('2025-11-25', connect())
  await using bob = await openCaller('2025-11-25', connect())
  expect(await countsOf(ann, 3)).toEqual(upTo(3))
  expect(await countsOf(bob, 10)).toEqual(upTo(10))
  expect(await countsOf(ann, 2)).toEqual(upTo(5, 4))
  expect([...counts.values()]).toEqual([5, 10])
})

const READS = [
  { method: 'tools/list', params: {} },
  { method: 'prompts/get', params: { name: 'p' } },
  { method: 'resources/read', params: { uri: 'file:///a' } },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
  },
] as const

/** The answers of a server with one of each; the session that a `lost` names is not known to it. */
function whole(lost: Set<string>): Answering {
  const results: Record<string, object> = {
    'tools/list': { tools: [tool('work')] },
    'prompts/list': { prompts: [{ name: 'p' }] },
    'resources/list': { resources: [{ uri: 'file:///a', name: 'a' }] },
    'prompts/get': { messages: [] },
    'resources/read': { contents: [] },
    'completion/complete': { completion: { values: [] } },
  }
  return ({ method, id, session }, response) => {
    if (session !== undefined && lost.has(session)) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'Session not found' } }),
      )
      return undefined
    }
    return results[method] ?? Promise.reject(refused(-32601, 'no such method'))
  }
}

test('case C16: whatever reads is sent once more in a new session after the old one was lost', async () => {
  const lost = new Set<string>()
  await using host = await openHost({
    era: 'legacy',
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    answer: whole(lost),
  })
  await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
  await using caller = await openCaller('2025-11-25', overHttp(daemon.url))
  const sessionsOf = (method: string) =>
    host.asked.filter((one: Asked) => one.method === method).map(({ session }) => session)
  for (const [at, { method, params }] of READS.entries()) {
    expect(await caller.ask(`before ${at}`, method, params)).toHaveProperty('result')
    const [opened, sent] = [host.times('initialize'), sessionsOf(method).length]
    for (const { session } of host.asked) if (session !== undefined) lost.add(session)
    expect(await caller.ask(`after ${at}`, method, params)).toHaveProperty('result')
    const [refusedIn, servedIn, ...more] = sessionsOf(method).slice(sent)
    expect(lost).toContain(refusedIn)
    expect(lost).not.toContain(servedIn)
    // The lists are compared after a reconnect; nothing else is sent more often than once again.
    if (method !== 'tools/list') expect(more).toEqual([])
    expect(host.times('initialize')).toBe(opened + 1)
  }
})
