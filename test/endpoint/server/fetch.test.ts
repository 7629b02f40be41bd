// What only the form from Request to Response has to be asked: whose Request the old handler gets, and whether it is whole.
import { expect, test } from 'vitest'
import { withModernEra } from '../../../src/endpoint/server/fetch.ts'
import type { ModernEraOptions, ServerEvent } from '../../../src/endpoint/server/fetch.ts'
import { legacy, modern } from './upgraded.ts'

const URL = 'http://server.test/mcp'
const options: ModernEraOptions = {
  serverInfo: { name: 'hand', version: '1.0.0' },
  methods: { 'tools/list': () => ({ tools: [] }) },
  maxBody: 1000,
}

/** A body of that many bytes in pieces of 100, without a length. */
function streamed(size: number): ReadableStream<Uint8Array> {
  let left = size
  return new ReadableStream({
    pull(controller) {
      if (left === 0) return controller.close()
      left -= 100
      controller.enqueue(new Uint8Array(100).fill(0xff))
    },
  })
}

test('the old handler gets the very request, with what the platform passes besides, and answers with its own response', async () => {
  const response = new Response('old')
  let seen: unknown[] = []
  const handler = withModernEra((...given: [Request, object]) => {
    seen = given
    return response
  }, options)
  const given = [new Request(URL, legacy('initialize')), {}] as const
  expect(await handler(...given)).toBe(response)
  expect(seen[0]).toBe(given[0])
  expect(seen[1]).toBe(given[1])
  expect(await given[0].json()).toMatchObject({ method: 'initialize' })
})

test.each([100, 1000, 1100, 50_000])('a streamed body of %d bytes is whole', async (size) => {
  const handler = withModernEra(
    async (request: Request) => new Response(await request.arrayBuffer()),
    options,
  )
  const init = { method: 'POST', body: streamed(size), duplex: 'half' as const }
  const response = await handler(new Request(URL, init))
  const bytes = new Uint8Array(await response.arrayBuffer())
  expect(bytes.length).toBe(size)
  expect(bytes.every((byte) => byte === 0xff)).toBe(true)
})

test('a body that somebody has read, or holds, goes to the old handler as it is', async () => {
  const events: ServerEvent[] = []
  const handler = withModernEra(() => new Response('old'), {
    ...options,
    onEvent: (event) => events.push(event),
  })
  const read = new Request(URL, modern('tools/list'))
  await read.text()
  const held = new Request(URL, modern('tools/list'))
  held.body?.getReader()
  for (const request of [read, held]) expect(await (await handler(request)).text()).toBe('old')
  await Promise.resolve()
  expect(events.map(({ reason }) => reason)).toEqual(['unread', 'unread'])
})

test('what the old handler throws is thrown', async () => {
  const handler = withModernEra(() => {
    throw new Error('old')
  }, options)
  await expect(handler(new Request(URL, legacy('ping')))).rejects.toThrow('old')
  await expect(handler(new Request(URL))).rejects.toThrow('old')
})

test('a version header that stands there twice counts once, two different ones do not agree', async () => {
  const handler = withModernEra(() => new Response('old'), options)
  const statusWith = async (second: string): Promise<number> => {
    const request = new Request(URL, modern('tools/list'))
    request.headers.append('mcp-protocol-version', second)
    return (await handler(request)).status
  }
  expect(await statusWith('2026-07-28')).toBe(200)
  expect(await statusWith('2025-06-18')).toBe(400)
})
