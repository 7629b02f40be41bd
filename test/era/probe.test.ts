// Short runs of the machine: one for each row of "stdio" and "Streamable HTTP", and of the table of preferences.
import { expect, test } from 'vitest'
import type { EraRecord } from '../../src/era/index.ts'
import type { TransportKind } from '../../src/wire/index.ts'
import {
  DISCOVER,
  INITIALIZE,
  agreesOn,
  error,
  network,
  notJson,
  status,
  supports,
  unsupported,
} from './answers.ts'
import { planOf, PROBE_TIMEOUT, recordFor, specOf, START_TIMEOUT } from './plans.ts'
import type { Preference } from './plans.ts'
import { startRun } from './run.ts'
import type { Run } from './run.ts'

function run(preference: Preference, transport: TransportKind, record?: Partial<EraRecord>): Run {
  const spec = specOf(preference, transport)
  return startRun(planOf(spec, record && recordFor(spec, record)))
}

const stdio = (preference: Preference = 'prefer-discover', record?: Partial<EraRecord>): Run =>
  run(preference, 'stdio', record).opened()
const http = (preference: Preference = 'prefer-discover', record?: Partial<EraRecord>): Run =>
  run(preference, 'streamable-http', record).opened()

const modern = { era: 'modern', revision: '2026-07-28' }
const legacy = { era: 'legacy', revision: '2025-06-18' }

test('the start is bounded before anything is opened', () => {
  const { effects } = run('prefer-discover', 'stdio')
  expect(effects).toEqual([
    { kind: 'start-timer', timer: 'start', ms: START_TIMEOUT },
    { kind: 'open', transport: 'stdio' },
  ])
})

test.each(['prefer-discover', 'force-discover', 'follow'] as const)(
  '%s: a modern server is asked once',
  (preference) => {
    for (const start of [stdio, http]) {
      const probe = start(preference)
      expect(probe.sent).toEqual(['discover 2026-07-28'])
      expect(probe.discover(DISCOVER.modern).verdict).toMatchObject(modern)
      expect(probe.sent).toHaveLength(1)
    }
  },
)

test.each(['prefer-initialize', 'force-initialize'] as const)(
  '%s: a server with sessions is asked once',
  (preference) => {
    for (const start of [stdio, http]) {
      const probe = start(preference)
      expect(probe.sent).toEqual(['initialize 2025-11-25'])
      expect(probe.initialize(INITIALIZE.ok).verdict).toMatchObject(legacy)
      expect(probe.sent).toHaveLength(1)
    }
  },
)

test('a refused discover leads to initialize', () => {
  for (const start of [stdio, http]) {
    const probe = start().discover(DISCOVER['legacy error'])
    expect(probe.sent).toEqual(['discover 2026-07-28', 'initialize 2025-11-25'])
    expect(probe.initialize(INITIALIZE.ok).verdict).toMatchObject({
      ...legacy,
      source: 'probe',
      stale: false,
    })
  }
})

test('prefer-initialize: a refused initialize leads to discover', () => {
  for (const start of [stdio, http]) {
    const probe = start('prefer-initialize').initialize(INITIALIZE['modern error'])
    expect(probe.discover(DISCOVER.modern).verdict).toMatchObject({ ...modern, source: 'probe' })
  }
})

test.each([
  ['force-discover', 'force-discover'],
  ['force-initialize', 'force-initialize'],
] as const)('%s: refused, it fails, says why, and asks nothing else', (preference, named) => {
  for (const transport of ['stdio', 'streamable-http', 'http+sse'] as const) {
    const probe = run(preference, transport).opened()
    const answer = error(-32601)
    if (preference === 'force-discover') probe.discover(answer)
    else probe.initialize(answer)
    expect(probe.error).toMatchObject({ code: 'ERA_REFUSED', message: expect.stringContaining(named) })
    expect(probe.sent).toHaveLength(1)
  }
})

test('force-discover waits in silence', () => {
  expect(stdio('force-discover').timers).toEqual({ start: START_TIMEOUT })
})

test('both refused: no era', () => {
  expect(stdio().discover(error(-32601)).initialize(error(-32600)).error?.code).toBe('ERA_REFUSED')
})

test('a server that offers legacy revisions only in its discover is driven by initialize', () => {
  for (const answer of [supports('2025-06-18'), unsupported('2025-06-18')]) {
    expect(stdio().discover(answer).initialize(INITIALIZE.ok).verdict).toMatchObject(legacy)
  }
})

test('nothing shared: an error that names both lists', () => {
  const { error: failure } = stdio().discover(supports('2031-01-01'))
  expect(failure).toMatchObject({ code: 'NO_MUTUAL_VERSION', data: { theirs: ['2031-01-01'] } })
  expect(failure?.message).toMatch(/2031-01-01.*2026-07-28/)
})

test('-32022 with a shared revision is asked again, once', () => {
  const probe = stdio().discover(DISCOVER.retry)
  expect(probe.sent).toEqual(['discover 2026-07-28', 'discover 2026-07-28'])
  expect(probe.discover(DISCOVER.modern).verdict).toMatchObject(modern)
  const stubborn = http().discover(DISCOVER.retry).discover(DISCOVER.retry)
  expect(stubborn.sent).toHaveLength(2)
  expect(stubborn.error).toMatchObject({ code: 'UPSTREAM_PROTOCOL', data: { error: { code: -32022 } } })
})

test('after a recognised modern error silence asks nothing else', () => {
  const probe = stdio().discover(DISCOVER.retry).timer('silence')
  expect(probe.sent).toEqual(['discover 2026-07-28', 'discover 2026-07-28'])
})

test.each([-32020, -32021])('%i: a modern server that cannot be used', (code) => {
  const probe = stdio().discover(error(code))
  expect(probe.error).toMatchObject({ code: 'UPSTREAM_PROTOCOL', data: { error: { code } } })
  expect(probe.sent).toHaveLength(1)
})

// --- stdio ---------------------------------------------------------------------------------------------------------

const raced = (): Run => stdio().timer('silence')

test('silence for probeTimeout: initialize beside the pending discover', () => {
  expect(stdio().timers).toMatchObject({ silence: PROBE_TIMEOUT })
  expect(raced().sent).toEqual(['discover 2026-07-28', 'initialize 2025-11-25'])
})

test('a refused initialize decides nothing while discover is pending, whatever its code', () => {
  for (const answer of [INITIALIZE['modern error'], error(-32601), error(-32000)]) {
    const probe = raced().initialize(answer)
    expect(probe.over).toBe(false)
    expect(probe.discover(DISCOVER.modern).verdict).toMatchObject({ ...modern, source: 'probe' })
  }
})

test('a refused discover waits for the pending initialize', () => {
  const probe = raced().discover(error(-32601))
  expect(probe.over).toBe(false)
  expect(probe.initialize(INITIALIZE.ok).verdict).toMatchObject(legacy)
})

test('discover wins while initialize is out: its refusal keeps the process', () => {
  const probe = raced().discover(DISCOVER.modern)
  expect(probe.timers).toMatchObject({ confirm: PROBE_TIMEOUT })
  expect(probe.initialize(error(-32601)).verdict).toMatchObject(modern)
  expect(probe.channels).toBe(1)
})

test.each<[string, (probe: Run) => Run]>([
  ['accepted', (probe) => probe.initialize(INITIALIZE.ok)],
  ['silent', (probe) => probe.timer('confirm')],
  ['answered with something that is no response', (probe) => probe.failed('initialize', notJson(0, ''))],
  ['closed', (probe) => probe.closed()],
])('discover wins and initialize is %s: a fresh process, modern only', (_, event) => {
  const probe = event(raced().discover(DISCOVER.modern))
  expect(probe.channels).toBe(2)
  probe.opened()
  expect(probe.sent.slice(2)).toEqual(['discover 2026-07-28'])
  expect(probe.timers).not.toHaveProperty('silence')
  expect(probe.discover(DISCOVER.modern).verdict).toMatchObject(modern)
})

test('an initialize that came back as no response may have been taken: a fresh process for a modern verdict', () => {
  const probe = raced().failed('initialize', notJson(0, '')).discover(DISCOVER.modern)
  expect(probe.verdict).toBeUndefined()
  expect(probe.opened().discover(DISCOVER.modern).verdict).toMatchObject(modern)
})

test('initialize wins the race, and a late modern answer corrects what is remembered', () => {
  const probe = raced().initialize(INITIALIZE.ok)
  expect(probe.verdict).toMatchObject({ ...legacy, source: 'raced' })
  for (const answer of [DISCOVER.modern, DISCOVER.retry]) {
    const late = raced().initialize(INITIALIZE.ok).discover(answer)
    expect(late.corrections).toEqual(['2026-07-28'])
    expect(late.discover(answer).corrections).toHaveLength(1)
  }
  expect(probe.discover(DISCOVER['legacy error']).corrections).toEqual([])
})

test('where initialize is preferred a late modern answer corrects nothing', () => {
  for (const record of [undefined, { era: 'legacy' } as const]) {
    const probe = stdio('prefer-initialize', record).timer('silence').initialize(INITIALIZE.ok)
    expect(probe.discover(DISCOVER.modern).corrections).toEqual([])
  }
})

test('a process that dies during the probe is started again for initialize only', () => {
  const probe = stdio().closed().opened()
  expect(probe.sent).toEqual(['discover 2026-07-28', 'initialize 2025-11-25'])
  expect(probe.timers).not.toHaveProperty('silence')
  expect(probe.initialize(INITIALIZE.ok).verdict).toMatchObject({ ...legacy, source: 'closed' })
})

test('a process that dies twice is a crash: exit code and stderr, no verdict', () => {
  const { error: failure } = stdio().closed().opened().closed()
  expect(failure).toMatchObject({ code: 'CLOSED_DURING_PROBE', data: { reason: { code: 1 } } })
  expect(failure?.message).toMatch(/exited with code 1[^]*last words/)
})

test('prefer-initialize: a server that exits on initialize is restarted once, discover only', () => {
  for (const answered of [false, true]) {
    const probe = stdio('prefer-initialize')
    if (answered) probe.initialize(INITIALIZE['modern error'])
    probe.closed().opened()
    expect(probe.sent.at(-1)).toBe('discover 2026-07-28')
    expect(probe.discover(DISCOVER.modern).verdict).toMatchObject({ ...modern, source: 'closed' })
  }
})

test('a slow modern server that refuses initialize and exits is not asked initialize again', () => {
  const probe = raced().initialize(INITIALIZE['modern error']).closed().opened()
  expect(probe.sent.slice(2)).toEqual(['discover 2026-07-28'])
})

test('the caller gives up, or the time is over', () => {
  expect(stdio().givenUp().error?.code).toBe('CANCELLED')
  expect(raced().timer('start').error).toMatchObject({
    code: 'UPSTREAM_START_TIMEOUT',
    message: expect.stringContaining('server/discover and initialize'),
  })
})

// --- what is remembered ----------------------------------------------------------------------------------------------

test('remembered legacy: initialize first, and no discover at all', () => {
  const probe = stdio('prefer-discover', { era: 'legacy' }).initialize(INITIALIZE.ok)
  expect(probe.sent).toEqual(['initialize 2025-11-25'])
  expect(probe.verdict).toMatchObject({ ...legacy, source: 'cache', stale: false })
})

test('remembered legacy and silent: discover beside it', () => {
  const probe = stdio('prefer-discover', { era: 'legacy' }).timer('silence')
  expect(probe.sent).toEqual(['initialize 2025-11-25', 'discover 2026-07-28'])
})

test('remembered legacy and refused: modern, and stale', () => {
  const probe = stdio('prefer-discover', { era: 'legacy' })
    .initialize(error(-32601))
    .discover(DISCOVER.modern)
  expect(probe.verdict).toMatchObject({ ...modern, source: 'probe', stale: true })
})

test('remembered legacy and exits on initialize: one fresh process in the normal order', () => {
  const normal = stdio('prefer-discover', { era: 'legacy' }).closed().opened()
  expect(normal.sent).toEqual(['initialize 2025-11-25', 'discover 2026-07-28'])
  expect(normal.timers).toMatchObject({ silence: PROBE_TIMEOUT })
  expect(normal.discover(DISCOVER.modern).verdict).toMatchObject({ ...modern, stale: true })
  const other = stdio('prefer-initialize', { era: 'legacy' }).closed().opened()
  expect(other.sent).toEqual(['initialize 2025-11-25', 'initialize 2025-11-25'])
})

test('remembered modern: initialize waits for half of startTimeout', () => {
  const probe = stdio('prefer-discover', { era: 'modern' })
  expect(probe.timers).toMatchObject({ silence: START_TIMEOUT / 2 })
  expect(probe.discover(DISCOVER.modern).verdict).toMatchObject({ ...modern, source: 'cache', stale: false })
  const wrong = stdio('prefer-discover', { era: 'modern' }).discover(error(-32601)).initialize(INITIALIZE.ok)
  expect(wrong.verdict).toMatchObject({ ...legacy, stale: true })
})

// --- HTTP ------------------------------------------------------------------------------------------------------------

test('over HTTP no silence is timed', () => {
  expect(http().timers).toEqual({ start: START_TIMEOUT })
})

test('-32022 in a 400 reaches the retry, without an id too', () => {
  for (const id of [1, null]) {
    const probe = http().failed('discover', status(400, { answer: DISCOVER.retry, id }))
    expect(probe.discover(DISCOVER.modern).verdict).toMatchObject(modern)
  }
})

test.each([401, 403, 407])('%i asks for credentials and concludes nothing', (code) => {
  const headers = { 'www-authenticate': 'Bearer realm="x"' }
  const probe = http().failed('discover', status(code, { headers, answer: DISCOVER.retry }))
  // What a server says of credentials may repeat them.
  expect(probe.error).toMatchObject({ code: 'AUTH_REQUIRED' })
  expect(probe.error?.data).toEqual({ status: code })
})

test.each([
  ['7', 7000],
  ['0', 1000],
  ['', 1000],
])('429 with Retry-After "%s" waits and asks the same again', (value, ms) => {
  const probe = http().failed('discover', status(429, { headers: { 'retry-after': value } }))
  expect(probe.timers).toMatchObject({ 'retry-discover': ms })
  probe.timer('retry-discover')
  expect(probe.sent).toEqual(['discover 2026-07-28', 'discover 2026-07-28'])
})

test.each([400, 404, 405, 406, 415])('%i leads to initialize', (code) => {
  const probe = http().failed('discover', status(code)).initialize(INITIALIZE.ok)
  expect(probe.verdict).toMatchObject({ ...legacy, transport: 'streamable-http' })
})

test('2xx that is no JSON-RPC leads to initialize; both answers are told when that fails too', () => {
  const probe = http().failed('discover', notJson()).failed('initialize', notJson(202, ''))
  expect(probe.error).toMatchObject({
    code: 'NOT_AN_MCP_ENDPOINT',
    data: { discover: expect.stringContaining('text/html'), initialize: expect.stringContaining('202') },
  })
})

test.each([
  ['HTTP_STATUS', status(503, { answer: DISCOVER.modern })],
  ['HTTP_STATUS', status(302)],
  ['UPSTREAM_UNREACHABLE', network],
] as const)('%s: nothing concluded', (code, failure) => {
  expect(http().failed('discover', failure).error?.code).toBe(code)
})

test.each([400, 404, 405])('initialize refused with a bare %i: HTTP+SSE', (code) => {
  const probe = http().failed('discover', status(404)).failed('initialize', status(code))
  expect(probe.transport).toBe('http+sse')
  probe.opened()
  expect(probe.sent.at(-1)).toBe('initialize 2025-11-25')
  expect(probe.initialize(INITIALIZE.ok).verdict).toMatchObject({ ...legacy, transport: 'http+sse' })
})

test('no HTTP+SSE stream either: all answers are told', () => {
  const probe = http().failed('discover', status(404)).failed('initialize', status(405)).openFailed()
  expect(probe.error).toMatchObject({ code: 'LEGACY_HTTP_REFUSED', data: { initialize: 'HTTP 405' } })
})

test('no HTTP+SSE after a recognised modern error', () => {
  const probe = http('prefer-initialize').failed(
    'initialize',
    status(400, { answer: DISCOVER.retry, id: null }),
  )
  expect(probe.sent.at(-1)).toBe('discover 2026-07-28')
  probe.discover(error(-32601))
  expect([probe.transport, probe.error?.code]).toEqual(['streamable-http', 'NOT_AN_MCP_ENDPOINT'])
})

test('remembered HTTP+SSE that cannot be opened: the server is looked at anew', () => {
  const record = { era: 'legacy', transport: 'http+sse' } as const
  const probe = run('prefer-discover', 'streamable-http', record)
  expect(probe.transport).toBe('http+sse')
  probe.openFailed().opened()
  expect(probe.transport).toBe('streamable-http')
  expect(probe.discover(DISCOVER.modern).verdict).toMatchObject({ ...modern, stale: true })
})

test.each(['2024-11-05', '2025-03-26', '2025-11-25', '2026-07-28'])(
  'initialize answered with %s',
  (version) => {
    const probe = http('prefer-initialize').initialize(agreesOn(version))
    expect(probe.verdict).toMatchObject({ era: 'legacy', revision: version })
  },
)

test('initialize answered with a revision that mcpx does not speak', () => {
  expect(stdio('prefer-initialize').initialize(agreesOn('1999-01-01')).error?.code).toBe('NO_MUTUAL_VERSION')
})
