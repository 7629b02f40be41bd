// Comments on silent streams, by a clock that is turned by hand: no silence lasts longer than the setting says.
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { KeepAlive, Reply } from '../../src/endpoint/reply.ts'
import { createFakeClock } from '../pool/clock.ts'

const PATIENCE = 15_000

test('case C18: a stream is never silent for more than 15 s, and what is said counts', async () => {
  const clock = createFakeClock()
  const keepAlive = new KeepAlive(clock, () => PATIENCE)
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked = once(server, 'request')
  const client = get({ port: (server.address() as AddressInfo).port, agent: false })
  const [request, response] = (await asked) as Parameters<NonNullable<Parameters<typeof createServer>[1]>>
  const reply = new Reply(request, response, clock)
  keepAlive.add(reply)
  let sent = 0
  let last = reply.lastSent
  for (let second = 1; second <= 120; second++) {
    if (second === 42) reply.event({ data: 'a' })
    await clock.turn(1000)
    if (reply.lastSent > last) sent++
    last = reply.lastSent
    expect(clock.now() - last).toBeLessThanOrEqual(PATIENCE)
  }
  // Eight in two minutes would do; more than twelve would be chatter.
  expect(sent).toBeGreaterThanOrEqual(8)
  expect(sent).toBeLessThanOrEqual(12)
  keepAlive.delete(reply)
  await clock.turn(PATIENCE)
  expect(clock.delays).toEqual([])
  client.destroy()
  server.close()
})
