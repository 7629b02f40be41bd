// Streams that are silent for long, end at once, or are none: what is open stays open, and what is hopeless is left alone.
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import { exchange, post } from '../peers/exchange.ts'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { REVISIONS } from '../peers/raw.ts'
import { fixture } from '../peers/workspace.ts'
import { eventually } from '../transport/processes.ts'
import { logged, openHost, text, tool, toolsOf } from './host.ts'

let gate: Gate
let daemon: Daemon
beforeAll(async () => {
  gate = await openGate()
  daemon = await startDaemon({
    mcpServers: { one: fixture('legacy-stdio') },
    http: { keepAlive: '30ms' },
    legacy: { sse: true },
  })
})
afterAll(async () => {
  await daemon.stop()
  await gate[Symbol.asyncDispose]()
})

interface Exchange {
  readonly response: IncomingMessage
  /** Resolves with all that came, once the pattern is in it. */
  readonly until: (pattern: RegExp) => Promise<string>
  end(): void
}

/** Sends a request and resolves when the headers of its answer are there. */
function begin(url: string, verb: string, { headers = {}, body }: Sent): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: verb, headers: { ...TAKES, ...headers }, agent: false },
      (response) => {
        let [said, over] = ['', false]
        const watchers = new Set<() => void>()
        const look = () => watchers.forEach((watch) => watch())
        response.setEncoding('utf8').on('data', (part: string) => {
          said += part
          look()
        })
        response.once('close', () => {
          over = true
          look()
        })
        const until = (pattern: RegExp) =>
          new Promise<string>((found, failed) => {
            const watch = () => {
              if (pattern.test(said)) found(said)
              else if (over) failed(new Error(`The stream ended without ${String(pattern)}: ${said}`))
            }
            watchers.add(watch)
            watch()
          })
        resolve({ response, until, end: () => void response.destroy() })
      },
    )
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

interface Sent {
  readonly headers?: Record<string, string>
  readonly body?: JsonObject
}

const TAKES = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const HOP = 'io.modelcontextprotocol/'
const MODERN = '2026-07-28'
/** Comments in a row, with nothing else between them. */
const COMMENTS = /:\n\n:\n\n:\n\n/

async function openSession(revision: string): Promise<Record<string, string>> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
  const { response, until } = await begin(daemon.url, 'POST', { body })
  await until(/serverInfo/)
  return { 'mcp-session-id': String(response.headers['mcp-session-id']) }
}

const modernHeaders = (method: string, name?: string) => ({
  ...{ 'mcp-protocol-version': MODERN, 'mcp-method': method },
  ...(name !== undefined && { 'mcp-name': name }),
})

function asking(revision: string, method: string, params: JsonObject): JsonObject {
  const _meta = { [`${HOP}protocolVersion`]: revision, [`${HOP}clientCapabilities`]: {} }
  const whole = revision === MODERN ? { ...params, _meta } : params
  return { jsonrpc: '2.0', id: 1, method, params: whole }
}

const STRANGER = 'no session'

test.each([...REVISIONS, STRANGER])(
  'case C18: a call that is silent for long keeps its stream alive: %s',
  async (revision) => {
    const label = `silent ${revision}`
    const params = { name: 'hold', arguments: { gate: gate.url(label) } }
    const session = revision === STRANGER || revision === MODERN ? {} : await openSession(revision)
    const headers = revision === MODERN ? modernHeaders('tools/call', 'hold') : session
    const body = asking(revision, 'tools/call', params)
    const call = await begin(daemon.url, 'POST', { headers, body })
    // The gate is still closed: headers and comments are all that there can be.
    expect(call.response).toMatchObject({
      statusCode: 200,
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      },
    })
    await gate.reached(label)
    expect(await call.until(COMMENTS)).not.toContain('result')
    gate.open(label, 'at last')
    expect(await call.until(/data: .*at last/)).toMatch(/"id":1/)
  },
)

test('case C18: a client that takes no stream is answered with JSON, and no comment comes before it', async () => {
  const headers = { ...modernHeaders('tools/call', 'hold'), accept: 'application/json' }
  const [label, other] = ['no stream', 'beside it']
  const held = (name: string) =>
    asking(MODERN, 'tools/call', { name: 'hold', arguments: { gate: gate.url(name) } })
  const quiet = begin(daemon.url, 'POST', { headers, body: held(label) })
  await gate.reached(label)
  const beside = await begin(daemon.url, 'POST', {
    headers: modernHeaders('tools/call', 'hold'),
    body: held(other),
  })
  await beside.until(COMMENTS)
  gate.open(label, 'at last')
  const { response, until } = await quiet
  expect(response.headers['content-type']).toBe('application/json')
  expect(JSON.parse(await until(/at last.*\}$/))).toHaveProperty('result')
  beside.end()
})

test.each(REVISIONS.filter((revision) => revision !== MODERN))(
  'case C18: the stream of a session of %s is kept alive',
  async (revision) => {
    const get = await begin(daemon.url, 'GET', { headers: await openSession(revision) })
    expect(get.response.headers['content-type']).toBe('text/event-stream')
    await get.until(COMMENTS)
    get.end()
  },
)

test('case C18: a listen stream is kept alive, also where there is nothing to tell', async () => {
  const body = asking(MODERN, 'subscriptions/listen', { notifications: { toolsListChanged: true } })
  const listen = await begin(daemon.url, 'POST', { headers: modernHeaders('subscriptions/listen'), body })
  expect(await listen.until(COMMENTS)).toMatch(/^data: .*acknowledged/)
  listen.end()
})

test('case C18: the streams of HTTP+SSE and of the events are kept alive', async () => {
  for (const url of [new URL('/sse', daemon.url).href, `${daemon.v1}/events`]) {
    const stream = await begin(url, 'GET', {})
    await stream.until(COMMENTS)
    stream.end()
  }
})

const TOOLS = toolsOf(() => [tool('work')])

test('case C19: a stream that is ended at once, for ever, is left alone, and the server stays usable', async () => {
  let gets = 0
  await using host = await openHost({
    era: 'legacy',
    answer: TOOLS,
    // The server's own `retry` makes the pauses short; they double all the same.
    onGet: (response) => {
      gets++
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 10\n\n')
    },
  })
  await using own = await startDaemon({ mcpServers: { one: { url: host.url } } })
  await using client = await openRaw({ url: own.url }, '2025-11-25')
  const warnings = () => logged(own).map(({ msg }) => String(msg))
  while (warnings().length === 0) await client.callTool('work', {})
  expect(warnings()).toEqual([expect.stringContaining('does not keep its stream open')])
  expect(gets).toBe(11)
  for (let time = 0; time < 3; time++)
    expect(await client.callTool('work', {})).toMatchObject({ content: [{ text: 'work' }] })
  expect([gets, host.times('initialize')]).toEqual([11, 1])
})

test('case C20: a server that answers GET with a text has no stream, and is asked once', async () => {
  let gets = 0
  await using host = await openHost({
    era: 'legacy',
    answer: TOOLS,
    onGet: (response) => {
      gets++
      response.writeHead(200, { 'content-type': 'text/plain' }).end('This is an MCP server.')
    },
  })
  await using own = await startDaemon({ mcpServers: { one: { url: host.url } } })
  await using client = await openRaw({ url: own.url }, '2026-07-28')
  for (let time = 0; time < 5; time++)
    expect(await client.callTool('work', {})).toMatchObject({ content: [{ text: 'work' }] })
  expect(await eventually(() => gets > 0)).toBe(true)
  expect([gets, host.times('initialize'), logged(own)]).toEqual([1, 1, []])
})

test('a client of 2025-11-25 is let go when a call is long, and fetches its answer; one of 2025-06-18 is kept', async () => {
  let finish = () => {}
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const slow = async () => {
    await finished
    return text('at last')
  }
  await using host = await openHost({ era: 'modern', answer: toolsOf(() => [tool('slow')], slow) })
  await using patient = await startDaemon({
    mcpServers: { one: { url: host.url } },
    legacy: { streamTime: '50ms' },
  })
  const open = async (protocolVersion: string) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'patient', version: '1.0.0' } }
    const { headers } = await post(patient.url, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
    return { 'mcp-session-id': headers['mcp-session-id'], 'mcp-protocol-version': protocolVersion }
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'one__slow', arguments: {} } }
  const older = await open('2025-06-18')
  const kept = post(patient.url, call, older)
  const newer = await open('2025-11-25')
  // Its response ends while the call goes on.
  const { body } = await post(patient.url, call, newer)
  expect(body).not.toContain('at last')
  const id = /^id: ?(\S+)$/m.exec(body)?.[1]
  const headers = { ...newer, accept: 'text/event-stream', 'last-event-id': id }
  const fetched = exchange(patient.url, { verb: 'GET', headers })
  finish()
  expect((await fetched).body).toContain('at last')
  expect((await kept).body).toContain('at last')
})
