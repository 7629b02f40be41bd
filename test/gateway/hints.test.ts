import { expect, test } from 'vitest'
import { hintsOf } from '../../src/gateway/hints.ts'

test.each([
  ['nothing', [], { ttlMs: 0, cacheScope: 'private' }],
  ['one', [{ ttlMs: 60_000.5, cacheScope: 'public' }], { ttlMs: 60_000, cacheScope: 'public' }],
  [
    'the first to go stale',
    [
      { ttlMs: 60_000, cacheScope: 'public' },
      { ttlMs: 10, cacheScope: 'public' },
    ],
    { ttlMs: 10, cacheScope: 'public' },
  ],
  [
    'one that is for its caller',
    [
      { ttlMs: 50, cacheScope: 'public' },
      { ttlMs: 60, cacheScope: 'private' },
    ],
    { ttlMs: 50, cacheScope: 'private' },
  ],
  [
    'one that says nothing',
    [
      { ttlMs: 50, cacheScope: 'public' },
      { ttlMs: undefined, cacheScope: undefined },
    ],
    { ttlMs: 0, cacheScope: 'private' },
  ],
  ['what is no time', [{ ttlMs: -5, cacheScope: 'public' }], { ttlMs: 0, cacheScope: 'public' }],
])('the hints of a result that is made of %s', (_, parts, expected) => {
  expect(hintsOf(parts)).toEqual(expected)
})
