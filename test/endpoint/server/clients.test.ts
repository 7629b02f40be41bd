// Real clients of both eras at one upgraded server, at the same time.
import { expect, test } from 'vitest'
import { withModernEra } from '../../../src/endpoint/server/index.ts'
import type { ServerEvent } from '../../../src/endpoint/server/index.ts'
import { openSdkV1, openSdkV2 } from '../../peers/sdk-clients.ts'
import { openRawHttp } from '../../peers/raw-http.ts'
import { serve } from './raw-exchange.ts'
import { handwritten, METHODS } from './handwritten.ts'

async function upgraded() {
  const events: ServerEvent[] = []
  const server = await serve(
    withModernEra(handwritten, {
      serverInfo: { name: 'hand', version: '1.0.0' },
      capabilities: { tools: {} },
      methods: METHODS,
      onEvent: (event) => events.push(event),
    }),
  )
  return { ...server, served: () => [...new Set(events.map(({ servedBy }) => servedBy))] }
}

const opened = {
  'SDK v2 pinned to 2026-07-28': (url: string) => openSdkV2({ url }, { pin: '2026-07-28' }),
  'SDK v2 in auto': (url: string) => openSdkV2({ url }, 'auto'),
  'SDK v2 in legacy': (url: string) => openSdkV2({ url }, 'legacy'),
  'SDK v1': (url: string) => openSdkV1({ url }),
} as const

test.each([
  ['SDK v2 pinned to 2026-07-28', '2026-07-28', 'modern'],
  ['SDK v2 in auto', '2026-07-28', 'modern'],
  ['SDK v2 in legacy', '2025-06-18', 'legacy'],
  ['SDK v1', '2025-06-18', 'legacy'],
] as const)('%s speaks %s', async (name, revision, era) => {
  const server = await upgraded()
  const client = await opened[name](server.url)
  expect(client.revision).toBe(revision)
  const tools = (await client.listTools()) as unknown as { name: string }[]
  expect(tools.map((tool) => tool.name)).toEqual(['add'])
  expect(await client.callTool('add', { a: 2, b: 3 })).toMatchObject({
    content: [{ type: 'text', text: '5' }],
  })
  await client.close()
  await server.stop()
  expect(server.served()).toEqual([era])
})

test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const)(
  'a raw client of %s calls the same tool',
  async (revision) => {
    const server = await upgraded()
    const client = await openRawHttp(server.url, { revision })
    const answer = await client.request('tools/call', { name: 'add', arguments: { a: 2, b: 3 } })
    expect(answer).toMatchObject({ result: { content: [{ type: 'text', text: '5' }] } })
    await client[Symbol.asyncDispose]()
    await server.stop()
  },
)

test('the first attempt of a modern client costs no fallback, and one in mode observe falls back', async () => {
  const asked: string[] = []
  const server = await serve(
    withModernEra(handwritten, {
      serverInfo: { name: 'hand', version: '1.0.0' },
      methods: METHODS,
      mode: 'observe',
      onEvent: ({ method = '', era }) => asked.push(`${era} ${method}`),
    }),
  )
  const client = await openSdkV2({ url: server.url }, 'auto')
  expect(client.revision).toBe('2025-06-18')
  expect(asked.slice(0, 2)).toEqual(['modern server/discover', 'legacy initialize'])
  await client.close()
  await server.stop()
})
