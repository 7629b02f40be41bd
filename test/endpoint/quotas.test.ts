import { expect, test } from 'vitest'
import { HttpEndpoint, Quotas } from '../../src/endpoint/index.ts'
import { createManualClock } from '../transport/manual-clock.ts'
import { createAsker, openHost } from './asker.ts'
import { initialize } from './talk.ts'

const NONE = { rate: () => 0, streams: () => 0, sessions: () => 0 }

test('a second has so many requests, and what is not used up to a second is kept', async () => {
  const clock = createManualClock()
  const quotas = new Quotas(clock, { ...NONE, rate: () => 4 })
  const burst = () => Array.from({ length: 6 }, () => quotas.request('ada'))
  expect(burst()).toEqual([0, 0, 0, 0, 250, 250])
  await clock.advance(250)
  expect(burst()).toEqual([0, 250, 250, 250, 250, 250])
  await clock.advance(60_000)
  expect(burst()).toEqual([0, 0, 0, 0, 250, 250])
  expect(quotas.request('bob')).toBe(0)
})

test('without a bound nothing is counted', () => {
  const quotas = new Quotas(createManualClock(), NONE)
  for (let i = 0; i < 1000; i++)
    expect([quotas.request('a'), quotas.stream('a')]).toEqual([0, expect.any(Function)])
  expect(quotas.sessionsFull('a')).toBe(false)
})

test('a stream is given back once, whoever says so how often', () => {
  const quotas = new Quotas(createManualClock(), { ...NONE, streams: () => 1 })
  const first = quotas.stream('ada')
  expect([quotas.stream('ada'), typeof quotas.stream('bob')]).toEqual([undefined, 'function'])
  const inPlace = quotas.stream('ada', true)
  first?.()
  first?.()
  expect(quotas.stream('ada')).toBe(undefined)
  inPlace?.()
  expect(quotas.stream('ada')).toBeTypeOf('function')
})

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

async function open(url: string): Promise<Response> {
  return fetch(url, { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(initialize('2025-11-25')) })
}

test('a quiet session makes room and can be taken up again; sessions in use do not', async () => {
  const clock = createManualClock()
  const quotas = new Quotas(clock, { ...NONE, sessions: () => 2 })
  const refused: string[] = []
  await using host = await openHost(createAsker(), { quotas, onRefused: (reason) => refused.push(reason) })
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    const opened = await open(host.url)
    expect(opened.status).toBe(200)
    ids.push(opened.headers.get('mcp-session-id') ?? '')
  }
  expect(host.endpoint).toBeInstanceOf(HttpEndpoint)
  expect(host.endpoint.sessions).toBe(2)
  const stop = new AbortController()
  const stream = async (id: string | undefined) => {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': id ?? '' }
    return (await fetch(host.url, { headers, signal: stop.signal })).status
  }
  // The first had to leave. Its id is good all the same, and each that comes back stays.
  expect([await stream(ids[0]), await stream(ids[1]), await stream(ids[2])]).toEqual([200, 200, 200])
  const full = await open(host.url)
  expect([full.status, refused]).toEqual([429, ['sessions']])
  expect(full.headers.get('retry-after')).toBe('1')
  expect(await full.text()).toContain('legacy.maxSessions')
  stop.abort()
})
