// lower and raise over whatever the five official schemas allow. Where hand-written samples show what is likely, these show what
// is possible.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/index.ts'
import { REVISIONS } from '../../src/spec/index.ts'
import { lower } from '../../src/wire/lower.ts'
import { raise } from '../../src/wire/raise.ts'
import { definitionsOf, schemaOf, WITHOUT_SCHEMAS } from '../spec/published.ts'
import { RESULTS } from './arbitrary-results.ts'
import { arbitraryOf } from './arbitrary-schema.ts'
import { frozen } from './frozen.ts'
import { known, lost } from './known.ts'
import { validatorOf } from './validator.ts'

const RUNS = { numRuns: 200 }
const LEGACY = REVISIONS.map(({ id }) => id).filter((id) => id !== '2026-07-28')
const CASES = LEGACY.flatMap((id) =>
  Object.entries(RESULTS).map(([method, { definition }]) => [id, method, definition] as const),
)

if (WITHOUT_SCHEMAS !== undefined) {
  test('published schemas', (context) => context.skip(WITHOUT_SCHEMAS))
}

const check = test.skipIf(WITHOUT_SCHEMAS !== undefined)

check.each(CASES)(
  '%s, %s: raise(lower(x)) loses nothing that both revisions have',
  (id, method, definition) => {
    const definitions = definitionsOf(schemaOf(id))
    const validate = validatorOf(id)
    fc.assert(
      fc.property(arbitraryOf('2026-07-28', definition), (value) => {
        const result = frozen({ ...(value as JsonObject), resultType: 'complete' })
        const lowered = lower(method, result, id)
        expect(validate(definition, lowered)).toBe('')
        const both = known(result, definitions[definition] ?? {}, definitions)
        expect(lost(both, raise(method, lowered, id), method)).toEqual([])
      }),
      RUNS,
    )
  },
)

check.each(CASES)(
  '%s, %s: what a legacy server says is valid for a modern client, and comes back as it was',
  (id, method, definition) => {
    const validate = validatorOf('2026-07-28')
    fc.assert(
      fc.property(arbitraryOf(id, definition), (value) => {
        const result = frozen(value as JsonObject)
        const raised = raise(method, result, id)
        expect(lower(method, frozen(raised), id)).toEqual(result)
        // What only older revisions have is taken out at the newest client's edge.
        expect(validate(definition, lower(method, raised, '2026-07-28'))).toBe('')
      }),
      RUNS,
    )
  },
)
