import { expect, test } from 'vitest'
import { InboundCall } from '../../src/endpoint/inbound-call.ts'
import { LOG_LEVELS } from '../../src/spec/index.ts'
import type { LogLevel } from '../../src/spec/index.ts'
import type { Caller, RpcNotification } from '../../src/wire/index.ts'
import { createFakeClock } from '../pool/clock.ts'

function setup(more: { progressToken?: string; logLevel?: LogLevel } = {}) {
  const clock = createFakeClock(0)
  const sent: RpcNotification[] = []
  const logs: { logLevel: LogLevel | undefined } = { logLevel: more.logLevel }
  const { progressToken } = more
  const params = { name: 'a', ...(progressToken === undefined ? {} : { _meta: { progressToken } }) }
  const caller: Caller = {
    revision: '2025-11-25',
    clientInfo: undefined,
    capabilities: {},
    principal: 'ann',
    session: 's',
  }
  const call = new InboundCall({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, caller, {
    ...{ clock, logs, send: (notification: RpcNotification) => sent.push(notification) },
  })
  const progress = (value: number) =>
    call.notify('notifications/progress', { progressToken: 77, progress: value })
  const log = (level: unknown) => call.notify('notifications/message', { level, data: 1 })
  const levels = () => sent.map(({ params: said }) => said?.['level'])
  return { clock, call, logs, sent, progress, log, levels }
}

test('without a token there is no progress, and no timer', () => {
  const { clock, call, sent, progress } = setup()
  progress(1)
  expect([call.wantsProgress, sent, clock.delays]).toEqual([false, [], []])
})

test('after the end nothing is sent, and what waited was sent with it', async () => {
  const { clock, call, sent, progress, log } = setup({ progressToken: 't', logLevel: 'debug' })
  progress(1)
  progress(2)
  call.end()
  expect(sent.map(({ params }) => params)).toEqual([
    { progressToken: 't', progress: 1 },
    { progressToken: 't', progress: 2 },
  ])
  progress(3)
  log('error')
  await clock.turn(100)
  expect(sent).toHaveLength(2)
})

test('a call that was given up says nothing more', async () => {
  const { clock, call, sent, progress, log } = setup({ progressToken: 't', logLevel: 'debug' })
  for (let value = 1; value <= 6; value++) progress(value)
  const before = sent.length
  call.cancellation.cancel('enough')
  log('error')
  await clock.turn(100)
  call.end()
  expect(sent).toHaveLength(before)
})

test.each(LOG_LEVELS)('wanted from %s on', (logLevel) => {
  const { log, levels } = setup({ logLevel })
  for (const level of [...LOG_LEVELS, 'loud', undefined]) log(level)
  expect(levels()).toEqual(LOG_LEVELS.slice(LOG_LEVELS.indexOf(logLevel)))
})

test('no level means no logs, and a session may change its own while a call runs', () => {
  const { logs, log, levels } = setup()
  log('emergency')
  logs.logLevel = 'error'
  log('error')
  log('info')
  expect(levels()).toEqual(['error'])
})
