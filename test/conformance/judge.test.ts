// The referee must not let anything pass by itself: lost checks, observations in place of passes, and other answers fail.
import { expect, test } from 'vitest'
import { EXCEPTIONS } from '../../scripts/conformance/exceptions.mjs'
import { judge } from '../../scripts/conformance/judge.mjs'
import type { Check } from '../../scripts/conformance/referee.mjs'

const CELL = { client: '2025-11-25', era: 'legacy', transport: 'http' } as const
const said = (text: string) => ({ result: { content: [{ type: 'text', text }] } })
const check = (id: string, status: Check['status'], details?: Record<string, unknown>): Check => ({
  ...{ scenario: 'some', id, status },
  ...(details && { details }),
})
const wanted = [check('a', 'SUCCESS', said('yes')), check('b', 'SUCCESS'), check('b', 'SUCCESS')]

test('what passes as the control does passes', () => {
  expect(judge(CELL, wanted, wanted)).toEqual({
    cell: CELL,
    passed: 3,
    failures: [],
    excepted: [],
    stale: [],
  })
})

test.each<[name: string, checks: Check[], passed: number, failed: string[]]>([
  ['a failure', [check('a', 'FAILURE'), ...wanted.slice(1)], 2, ['a']],
  ['a warning', [check('a', 'WARNING'), ...wanted.slice(1)], 2, ['a']],
  ['a failure that the control does not know', [...wanted, check('c', 'FAILURE')], 3, ['c']],
  ['a check that did not run', wanted.slice(1), 2, ['a']],
  ['one of two that did not run', wanted.slice(0, 2), 2, ['b']],
  ['an observation', [check('a', 'INFO'), ...wanted.slice(1)], 2, ['a']],
  ['a skipped check', [check('a', 'SKIPPED'), ...wanted.slice(1)], 2, ['a']],
  ['another answer', [check('a', 'SUCCESS', said('Tool not found')), ...wanted.slice(1)], 2, ['a']],
  ['nothing at all', [], 0, ['a', 'b', 'b']],
])('fails: %s', (...[, checks, passed, failed]) => {
  const verdict = judge(CELL, checks, wanted)
  expect(verdict.failures.map(({ id }) => id)).toEqual(failed)
  expect(verdict.passed).toBe(passed)
})

test('the order of names and what a hop sets for itself are no difference', () => {
  const control = [check('a', 'SUCCESS', { tools: ['x', 'y'], result: { _meta: { a: 1 }, ttlMs: 0 } })]
  const checks = [check('a', 'SUCCESS', { tools: ['y', 'x'], result: { _meta: { a: 2 }, ttlMs: 9 } })]
  expect(judge(CELL, checks, control).failures).toEqual([])
})

test('an exception excuses a check in its cells only, and is an error where the check passes', () => {
  const { check: id, cells } = EXCEPTIONS[0] ?? { check: '', cells: [] }
  const [client = '', era = ''] = String(cells[0]).split('/')
  const excused = { client, era: era === 'modern' ? 'modern' : 'legacy', transport: 'stdio' } as const
  const control = [check(id, 'SUCCESS')]
  expect(judge(excused, [check(id, 'FAILURE')], control)).toMatchObject({ failures: [], excepted: [{ id }] })
  expect(judge(excused, control, control).stale).toMatchObject([{ check: id }])
  expect(judge(CELL, [check(id, 'FAILURE')], control)).toMatchObject({ failures: [{ id }], excepted: [] })
})
