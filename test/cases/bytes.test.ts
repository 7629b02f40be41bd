// Content that is odd, large or compressed: it arrives as it was, and what is too large fails alone.
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openCaller, overHttp, overPipe } from '../bridge/caller.ts'
import { exchange } from '../peers/exchange.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { fixture } from '../peers/workspace.ts'
import { openHost, text, tool, toolsOf } from './host.ts'

const WAYS = (['2024-11-05', '2025-11-25', '2026-07-28'] as const).flatMap((revision) =>
  (['http', 'stdio'] as const).map((by) => ({ revision, by })),
)
type Way = (typeof WAYS)[number]
const openOn = (daemon: Daemon, { revision, by }: Way) =>
  openCaller(revision, by === 'http' ? overHttp(daemon.url) : overPipe(daemon.serve()))

const textOf = ({ result }: JsonObject) => (result as { content?: { text: string }[] }).content?.[0]?.text

test('case C38: a text with what some take for line ends arrives unchanged', async () => {
  await using daemon = await startDaemon({ mcpServers: { one: fixture('odd-text') } })
  for (const way of WAYS) {
    await using caller = await openOn(daemon, way)
    const answer = await caller.ask('odd', 'tools/call', { name: 'odd', arguments: {} })
    expect(textOf(answer)).toBe('a\u2028b\u2029c\u0085d\ne 🌦 f')
    const echo = 'g\u2028h\u2029i\u0085j\r\nk 🌦 l'
    const again = await caller.ask('echo', 'tools/call', { name: 'echo', arguments: { message: echo } })
    expect(textOf(again)).toBe(echo)
  }
})

const MIB = 2 ** 20

test.each(WAYS)(
  'case C39: 20 MiB arrive, 200 MiB fail alone, and the next call works: $revision by $by',
  async (way) => {
    await using daemon = await startDaemon({ mcpServers: { one: fixture('large') } })
    await using caller = await openOn(daemon, way)
    const ask = (id: string, bytes: number) =>
      caller.ask(id, 'tools/call', { name: 'large', arguments: { bytes } })
    const [first, second, third] = [
      await ask('first', 20 * MIB),
      await ask('second', 200 * MIB),
      await ask('third', 3),
    ]
    expect(textOf(first)?.length).toBe(20 * MIB)
    expect(second['error']).toMatchObject({ message: expect.stringMatching(/"one".*large/) })
    expect(textOf(third)).toBe('xxx')
  },
)

const CODINGS: Record<string, (body: string) => Buffer> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
}

test.each(['legacy', 'modern'] as const)(
  'case C35: what a %s server compresses arrives as plain text, under headers of its own',
  async (era) => {
    const long = '天気'.repeat(50_000)
    const answer = toolsOf(() => [tool('work')])
    await using host = await openHost({
      era,
      answer: (asked, response) => {
        if (asked.method !== 'tools/call') return answer(asked, response)
        const { arguments: args } = asked.params as { arguments: { coding: string } }
        const result = { ...text(long), ...(era === 'modern' && { resultType: 'complete' }) }
        const body = CODINGS[args.coding]?.(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result }))
        response.writeHead(200, {
          ...{ 'content-type': 'application/json', 'content-encoding': args.coding },
          'content-length': body?.length,
        })
        response.end(body)
        return undefined
      },
    })
    await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
    for (const coding of Object.keys(CODINGS)) {
      for (const accept of ['application/json', 'text/event-stream']) {
        const message = {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'work', arguments: { coding } },
        }
        const { status, headers, body } = await exchange(daemon.url, {
          verb: 'POST',
          headers: { 'content-type': 'application/json', accept, 'accept-encoding': 'gzip, br' },
          body: JSON.stringify(message),
        })
        expect(status).toBe(200)
        expect(headers).not.toHaveProperty('content-encoding')
        expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
        expect(textOf(JSON.parse(body) as JsonObject)).toBe(long)
      }
    }
  },
)
