import { expect, test } from 'vitest'
import type { EraRecord, Verdict } from '../../src/era/index.ts'
import { planStart, recordOf } from '../../src/pool/plan.ts'
import { ERA_MAX_AGE, NOW, planOf, PREFERENCES, recordFor, remembering, specOf } from '../era/plans.ts'

const FIRST = {
  'prefer-discover': ['discover', 'both'],
  'prefer-initialize': ['initialize', 'both'],
  'force-discover': ['discover', 'first-only'],
  'force-initialize': ['initialize', 'first-only'],
  follow: ['discover', 'both'],
}

test.each(PREFERENCES)('%s, nothing remembered', (preference) => {
  const [first, scope] = FIRST[preference]
  expect(planOf(specOf(preference, 'stdio'))).toMatchObject({ first, scope, remembered: undefined })
})

test.each(PREFERENCES)('%s, a legacy record', (preference) => {
  const spec = specOf(preference, 'streamable-http')
  const record = recordFor(spec, { transport: 'http+sse' })
  const plan = planOf(spec, record)
  if (plan.scope === 'both')
    expect(plan).toMatchObject({ first: 'initialize', transport: 'http+sse', remembered: record })
  else
    expect(plan).toMatchObject({
      first: FIRST[preference][0],
      transport: 'streamable-http',
      remembered: undefined,
    })
})

test('a modern record: discover first, whatever is preferred', () => {
  const spec = specOf('prefer-initialize', 'stdio')
  expect(planOf(spec, recordFor(spec, { era: 'modern' }))).toMatchObject({ first: 'discover', scope: 'both' })
})

test('the legacy lane is forced and reads no record', () => {
  const spec = specOf('follow', 'stdio')
  const plan = planOf(spec, recordFor(spec, { era: 'modern' }), 'legacy')
  expect(plan).toMatchObject({ first: 'initialize', scope: 'first-only', remembered: undefined })
})

test.each<[string, Partial<EraRecord>, boolean]>([
  ['young', { at: NOW - ERA_MAX_AGE + 1 }, true],
  ['as old as eraMaxAge', { at: NOW - ERA_MAX_AGE }, false],
  ['from the future', { at: NOW + 1 }, false],
  ['doubted', { doubted: true }, false],
  ['learned in the other order', { first: 'initialize' }, false],
  ['modern, and old', { era: 'modern', at: 0 }, true],
  ['modern, and doubted', { era: 'modern', doubted: true }, false],
])('a record that is %s', (_, partial, believed) => {
  const spec = specOf('prefer-discover', 'stdio')
  expect(planOf(spec, recordFor(spec, partial)).remembered !== undefined).toBe(believed)
})

test('a record of another definition is not found', () => {
  const spec = specOf('prefer-discover', 'stdio')
  const eras = remembering(spec, recordFor(spec, {}))
  const other = { ...spec, digest: 'another' }
  expect(planStart(other, 'main', { eras, now: NOW, eraMaxAge: ERA_MAX_AGE }).remembered).toBeUndefined()
})

const server = { name: 'files', version: '1' }
const verdict = (more: Partial<Verdict> = {}): Verdict => ({
  ...{
    era: 'legacy',
    revision: '2025-06-18',
    transport: 'stdio',
    source: 'probe',
    stale: false,
    opening: {},
  },
  ...more,
})

test.each(['probe', 'raced', 'closed'] as const)(
  'a verdict from %s is remembered with how it was learned',
  (source) => {
    const spec = specOf('prefer-initialize', 'stdio')
    expect(recordOf(spec, verdict({ source }), { now: NOW, previous: undefined, server })).toEqual({
      ...{ era: 'legacy', revision: '2025-06-18', transport: 'stdio', source, server },
      ...{ first: 'initialize', at: NOW, usedAt: NOW },
    })
  },
)

test('a forced verdict is not remembered', () => {
  const spec = specOf('force-discover', 'stdio')
  expect(
    recordOf(spec, verdict({ source: 'forced' }), { now: NOW, previous: undefined, server }),
  ).toBeUndefined()
})

test('a record that proved right keeps its age, and takes what changed', () => {
  const spec = specOf('prefer-discover', 'streamable-http')
  const previous = recordFor(spec, { at: NOW - 5, usedAt: NOW - 5 })
  const same = verdict({ source: 'cache', revision: '2025-11-25', transport: 'http+sse' })
  expect(recordOf(spec, same, { now: NOW, previous, server })).toEqual({
    ...previous,
    ...{ revision: '2025-11-25', transport: 'http+sse', usedAt: NOW },
  })
})

test('another version of a legacy server is doubted, of a modern one not', () => {
  const spec = specOf('prefer-discover', 'stdio')
  for (const era of ['legacy', 'modern'] as const) {
    const previous = recordFor(spec, { era })
    for (const renamed of [
      { ...server, version: '2' },
      { name: undefined, version: undefined },
    ]) {
      const record = recordOf(spec, verdict({ source: 'cache', era }), {
        now: NOW,
        previous,
        server: renamed,
      })
      expect(record?.doubted).toBe(era === 'legacy' ? true : undefined)
    }
  }
})
