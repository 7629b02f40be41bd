import { expect, test } from 'vitest'
import { Cancellation } from '../../src/base/index.ts'
import { ToldLevel, whoseLog } from '../../src/pool/logs.ts'
import type { Logging } from '../../src/pool/logs.ts'
import { answering, createPeer, methodsOf } from './peers.ts'
import { lease, setup, who } from './setup.ts'
import { settled } from './clock.ts'

const ann = (logLevel?: Logging['logLevel']): Logging => ({ principal: 'ann', logLevel })
const bob = (logLevel?: Logging['logLevel']): Logging => ({ principal: 'bob', logLevel })
const OWN: Logging = { principal: undefined }

const whose = (
  requests: readonly Logging[],
  more: { onlyWanted?: boolean; parked?: number; level?: unknown } = {},
) =>
  whoseLog(
    more.level ?? 'info',
    requests.map((request, id) => [id, { request }] as const),
    { onlyWanted: more.onlyWanted ?? false, isParked: (id) => id === more.parked },
  )

test.each([
  ['nobody calls', [], {}, undefined],
  ['one call', [ann('info')], {}, 0],
  ['the latest started', [ann('info'), ann('info')], {}, 1],
  ['the latest that wants it', [ann('info'), ann('error'), ann()], {}, 0],
  ['one that runs before one that waits', [ann('info'), ann('info')], { parked: 1 }, 0],
  ['one that waits, where none runs', [ann('info')], { parked: 0 }, 0],
  ['another principal that wants logs', [ann('info'), bob('info')], {}, undefined],
  ['another principal that wants none', [ann('info'), bob()], {}, undefined],
  ['another principal whose call would not be logged', [ann('info'), bob()], { onlyWanted: true }, 0],
  ['requests of mcpx itself', [ann('info'), OWN], {}, 0],
  ['a level that no revision knows', [ann('debug')], { level: 'loud' }, undefined],
] as const)('%s', (...[, requests, more, expected]) => {
  expect(whose(requests, more)).toBe(expected)
})

test('a legacy server is told each level that lets more through, and nothing where it does not log', () => {
  const told = new ToldLevel('2025-11-25', { logging: {} })
  const levels = [undefined, 'error', 'error', 'info', 'warning', 'debug', 'info'] as const
  expect(levels.filter((level) => told.raise(level))).toEqual(['error', 'info', 'debug'])
  expect(new ToldLevel('2025-11-25', {}).raise('debug')).toBe(false)
  expect(new ToldLevel('2026-07-28', { logging: {} }).raise('debug')).toBe(false)
})

test('who gives up while a server is being opened does not cancel its initialize', async () => {
  const peer = createPeer(answering({ initialize: () => {} }))
  const { files, clock } = setup(peer)
  const cancellation = new Cancellation()
  const seen = lease(files, who(), cancellation)
  await clock.turn(1)
  expect(methodsOf(peer.lines[0])).toContain('initialize')
  cancellation.cancel('enough')
  await settled()
  expect(seen.code).toBe('CANCELLED')
  expect(methodsOf(peer.lines[0])).not.toContain('notifications/cancelled')
})
