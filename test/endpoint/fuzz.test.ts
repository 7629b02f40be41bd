// A hundred thousand requests, well formed and not, over real sockets: each is answered as the tables say, and nothing is left.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { LEGACY, V } from './fuzz/draft.ts'
import type { World } from './fuzz/draft.ts'
import { factsOf } from './fuzz/facts.ts'
import { judge } from './fuzz/judge.ts'
import { requestOf } from './fuzz/mutations.ts'
import { randomOf } from './fuzz/random.ts'
import { bytesOf, Connections } from './fuzz/socket.ts'
import type { Manner, Outgoing, Received } from './fuzz/socket.ts'
import { ROWS } from './fuzz/tables.ts'
import { KEEP_ALIVE, MAX_BODY, openTarget } from './fuzz/target.ts'
import type { Target } from './fuzz/target.ts'

const SEED = Number(process.env['FUZZ_SEED'] ?? 20260728)
const COUNT = 100_000
/** Requests that are written in pieces, with a length and without. */
const SLOW = 600
/** Requests whose client goes away in the middle. */
const LEFT = 200
const LANES = 8
const TENTH = COUNT / 10
/** What a request may leave behind on average, in bytes; the least that is kept of one is more. */
const LEAK = 200

/** A bound for a hang, in ms, not an assertion. */
const PATIENCE = 600_000

test(
  'every request is answered as the tables say, and nothing is left of it',
  async () => {
    await using target = await openTarget()
    const lanes = Array.from({ length: LANES }, () => new Connections(target.port))
    const [first] = lanes
    if (first === undefined) throw new Error('no lane')
    const host = `127.0.0.1:${target.port}`
    const sessions: Record<string, string> = {}
    for (const revision of LEGACY) sessions[revision] = await openSession(first, host, revision)
    const world: World = { host, sessions, maxBody: MAX_BODY }

    const rows = new Map(ROWS.map((row) => [row, 0]))
    const opened: string[] = []
    /** The first of each kind. */
    const faults = new Map<string, string>()
    let succeeded = 0
    const send = async (lane: Connections, index: number, manner: Manner): Promise<void> => {
      const sent = requestOf(SEED, index, world)
      const facts = factsOf(sent, world)
      const received = await lane
        .exchange(sent, manner, randomOf(SEED + 1, index))
        .catch((cause: unknown) => {
          throw new Error(`seed ${SEED}, request ${index}: ${describe(sent)}`, { cause })
        })
      const { row, fault, succeeded: well } = judge(facts, received)
      if (fault !== undefined) {
        const kind = `row "${row}": ${fault}`
        const answer = `${received.status} ${received.body.slice(0, 300)}`
        const report = `seed ${SEED}, request ${index}, ${kind}\n${describe(sent)}\n${answer}`
        faults.set(kind, faults.get(kind) ?? report)
      }
      rows.set(row, (rows.get(row) ?? 0) + 1)
      if (well) succeeded++
      const session = received.headers.get('mcp-session-id')
      if (session !== undefined) opened.push(session)
    }
    const sendAll = async (from: number, to: number, manner: Manner): Promise<void> => {
      let next = from
      await Promise.all(
        lanes.map(async (lane) => {
          while (next < to) await send(lane, next++, manner)
        }),
      )
      if (faults.size > 0) throw new Error([...faults.values()].join('\n\n'))
      for (const session of opened.splice(0)) expect(await endSession(first, host, session)).toBe(200)
    }

    const heap: number[] = []
    for (let from = 0; from < COUNT; from += TENTH) {
      await sendAll(from, from + TENTH, 'whole')
      heap.push(heapUsed())
    }
    await sendAll(COUNT, COUNT + SLOW, 'split')
    await sendAll(COUNT + SLOW, COUNT + 2 * SLOW, 'chunked')

    expect([...rows].filter(([, count]) => count === 0)).toEqual([])
    expect(succeeded).toBeGreaterThan((COUNT + 2 * SLOW) / 5)
    expect(target.failures).toEqual([])
    expect((heap.at(-1) ?? 0) - (heap[0] ?? 0)).toBeLessThan((COUNT - TENTH) * LEAK)

    expect(target.endpoint.sessions).toBe(LEGACY.length)
    for (const session of Object.values(sessions)) expect(await endSession(first, host, session)).toBe(200)
    expect(target.endpoint.sessions).toBe(0)
    for (const lane of lanes) await lane.close()
    await nothingIsLeft(target)
  },
  PATIENCE,
)

test('a client that hangs up in the middle leaves nothing behind', async () => {
  await using target = await openTarget()
  const lane = new Connections(target.port)
  for (let index = 0; index < LEFT; index++) await leave(target, lane, index)
  await nothingIsLeft(target)
  expect(target.failures).toEqual([])
})

async function nothingIsLeft(target: Target): Promise<void> {
  await target.quiet()
  // The timer for silent replies goes on for as long as there is one.
  await target.clock.advance(KEEP_ALIVE)
  expect(target.clock.delays).toEqual([])
}

/** A client that hangs up: while its call is held, or before its body is complete. */
async function leave(target: Target, lane: Connections, index: number): Promise<void> {
  const host = `127.0.0.1:${target.port}`
  const isModern = index % 2 === 0
  const call = bytesOf(isModern ? heldModern(host, index) : post(host, held(index)))
  if (index % 4 < 2) return lane.abandon(call, target.held())
  return lane.abandon(call.subarray(0, call.length - 1 - (index % 40)), Promise.resolve())
}

function held(id: number, meta?: object): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'hold', ...meta } }
}

function heldModern(host: string, id: number): Outgoing {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': V,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = { 'MCP-Protocol-Version': V, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'hold' }
  return post(host, held(id, { _meta }), headers)
}

async function openSession(lane: Connections, host: string, revision: string): Promise<string> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } }
  const opened = await whole(lane, post(host, { jsonrpc: '2.0', id: 1, method: 'initialize', params }))
  return opened.headers.get('mcp-session-id') ?? ''
}

async function endSession(lane: Connections, host: string, session: string): Promise<number> {
  const headers = [['Host', host] as const, ['Mcp-Session-Id', session] as const]
  return (await whole(lane, { verb: 'DELETE', headers, body: Buffer.alloc(0) })).status
}

function whole(lane: Connections, sent: Outgoing): Promise<Received> {
  return lane.exchange(sent, 'whole', randomOf(SEED, 0))
}

function post(host: string, message: object, headers: Record<string, string> = {}): Outgoing {
  const all = { Host: host, 'Content-Type': 'application/json', ...headers }
  return { verb: 'POST', headers: Object.entries(all), body: Buffer.from(JSON.stringify(message)) }
}

function describe(sent: ReturnType<typeof requestOf>): string {
  const { verb, headers, body, changes } = sent
  const shown = { verb, changes, headers, body: body.toString().trim().slice(0, 1500) }
  return JSON.stringify(shown, undefined, 1)
}

/** What is used after everything that can be collected was, in bytes. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}
