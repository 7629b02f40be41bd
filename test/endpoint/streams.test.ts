// What is kept of a session's events, by a clock that is turned by hand: what a client has got goes, what it has not stays.
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Reply } from '../../src/endpoint/reply.ts'
import { KEPT_FOR, Streams } from '../../src/endpoint/streams.ts'
import { createFakeClock } from '../pool/clock.ts'

const clock = createFakeClock()
const server = createServer()
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

/** A reply to a client, and all that the client gets. */
async function connect() {
  const asked = once(server, 'request')
  const client = get({ port: (server.address() as AddressInfo).port, agent: false })
  const answered = once(client, 'response') as Promise<Parameters<typeof text>[]>
  const [request, response] = (await asked) as Parameters<NonNullable<Parameters<typeof createServer>[1]>>
  return { reply: new Reply(request, response, clock), got: answered.then(([body]) => text(body as never)) }
}

const message = (data: string) => ({
  ...{ jsonrpc: '2.0' as const, method: 'notifications/message' },
  params: { level: 'info', data },
})

test('an event that was written is let go after a while, and one that nobody was there for is not', async () => {
  const streams = new Streams(clock)
  const [first, second] = [await connect(), await connect()]
  const stream = streams.forRequest()
  stream.attach(first.reply, { prime: true })
  stream.send(message('written'))
  await clock.turn(KEPT_FOR)
  streams.prune()
  stream.pause()
  expect(await first.got).toContain('written')
  stream.send(message('missed'))
  await clock.turn(10 * KEPT_FOR)
  streams.prune()
  expect(streams.resume('p1-0', second.reply)).toBe(true)
  stream.end(message('last'))
  const got = await second.got
  expect(got).not.toContain('written')
  expect(got).toContain('missed')
  expect(got).toContain('last')
})

test('what broke on the way can still be fetched at once, and not for ever', async () => {
  const streams = new Streams(clock)
  const stream = streams.forRequest()
  const [first, second, third] = [await connect(), await connect(), await connect()]
  stream.attach(first.reply, { prime: true })
  stream.end(message('answer'))
  streams.prune()
  expect(streams.resume('p1-0', second.reply)).toBe(true)
  expect(await second.got).toContain('answer')
  await clock.turn(KEPT_FOR + 1)
  streams.prune()
  expect(streams.resume('p1-0', third.reply)).toBe(false)
  third.reply.finish()
  await third.got
})
