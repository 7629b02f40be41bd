// The client leg's judgement: whatever is not a pass of something fails.
import { expect, test } from 'vitest'
import { judgeLeg } from '../../scripts/conformance/client-leg.mjs'
import type { Check } from '../../scripts/conformance/referee.mjs'

const REVISION = '2026-07-28'
const check = (scenario: string, id: string, status: Check['status']): Check => ({ scenario, id, status })
const KNOWN = { scenario: 'some', check: 'b', revisions: [REVISION], reason: 'for the test' }

test('passes are counted, observations are not, and what is known not to pass is excepted', () => {
  const checks = [check('some', 'a', 'SUCCESS'), check('some', 'i', 'INFO'), check('some', 'b', 'FAILURE')]
  expect(judgeLeg(REVISION, checks, [KNOWN])).toMatchObject({
    ...{ revision: REVISION, passed: 1, failures: [], stale: [] },
    excepted: [{ scenario: 'some', id: 'b' }],
  })
})

test.each<[name: string, checks: Check[], failed: string[]]>([
  ['a failure', [check('some', 'a', 'SUCCESS'), check('some', 'c', 'FAILURE')], ['c']],
  ['a warning', [check('some', 'a', 'SUCCESS'), check('some', 'c', 'WARNING')], ['c']],
  [
    'a scenario in which nothing passes',
    [check('other', 'i', 'INFO'), check('other', 's', 'SKIPPED')],
    ['any'],
  ],
  [
    'a failure of the same name elsewhere',
    [check('other', 'a', 'SUCCESS'), check('other', 'b', 'FAILURE')],
    ['b'],
  ],
])('fails: %s', (_, checks, failed) => {
  expect(judgeLeg(REVISION, checks, [KNOWN]).failures.map(({ id }) => id)).toEqual(failed)
})

test('an exception whose check passes is stale, and one of a scenario that did not run is not', () => {
  expect(judgeLeg(REVISION, [check('some', 'b', 'SUCCESS')], [KNOWN]).stale).toEqual([KNOWN])
  expect(judgeLeg(REVISION, [check('other', 'a', 'SUCCESS')], [KNOWN]).stale).toEqual([])
})
