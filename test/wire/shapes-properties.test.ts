// What holds of every result: nothing is changed in place, nothing is lost that both revisions have, and what comes out is valid
// by the official schema of the revision that it is spelled for.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isObject } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { REVISIONS } from '../../src/spec/index.ts'
import { lower } from '../../src/wire/lower.ts'
import { raise } from '../../src/wire/raise.ts'
import { definitionsOf, schemaOf, WITHOUT_SCHEMAS } from '../spec/published.ts'
import { RESULTS, samples } from './arbitrary-results.ts'
import { frozen } from './frozen.ts'
import { known, lost } from './known.ts'
import { validatorOf } from './validator.ts'

const IDS = REVISIONS.map(({ id }) => id)
const LEGACY = IDS.filter((id) => id !== '2026-07-28')
const RUNS = { numRuns: 300 }

test('the newest shape passes by identity, both ways', () => {
  fc.assert(
    fc.property(samples, ({ method, result }) => {
      frozen(result)
      expect(lower(method, result, '2026-07-28')).toBe(result)
      expect(raise(method, result, '2026-07-28')).toBe(result)
    }),
    RUNS,
  )
})

test.each(LEGACY)('%s: spelling once more changes nothing, and nothing is changed in place', (id) => {
  fc.assert(
    fc.property(samples, ({ method, result }) => {
      const lowered = frozen(lower(method, frozen(result), id))
      expect(lower(method, lowered, id)).toBe(lowered)
      const raised = frozen(raise(method, lowered, id))
      expect(raise(method, raised, id)).toBe(raised)
      // What a legacy server sends reaches a client of the same revision as it was.
      expect(lower(method, raised, id)).toEqual(lowered)
    }),
    RUNS,
  )
})

test.each(LEGACY)('%s: members that no revision knows survive', (id) => {
  fc.assert(
    fc.property(samples, ({ method, result }) => {
      expect(vendorMembers(lower(method, result, id))).toEqual(vendorMembers(result))
    }),
    RUNS,
  )
})

if (WITHOUT_SCHEMAS !== undefined) {
  test('published schemas', (context) => context.skip(WITHOUT_SCHEMAS))
}

const check = test.skipIf(WITHOUT_SCHEMAS !== undefined)

check.each(IDS)('%s: results are valid, and have no member that the revision does not know', (id) => {
  const validate = validatorOf(id)
  fc.assert(
    fc.property(samples, ({ method, result }) => {
      const spelled = withoutVendorMembers(lower(method, result, id)) as JsonObject
      const raised = raise(method, spelled, id)
      expect(validate(definitionOf(method), spelled)).toBe('')
      expect(validateNewest(definitionOf(method), withoutVendorMembers(raised))).toBe('')
    }),
    RUNS,
  )
})

check.each(LEGACY)('%s: nothing is lost that both revisions have', (id) => {
  const definitions = definitionsOf(schemaOf(id))
  fc.assert(
    fc.property(samples, ({ method, result }) => {
      const back = raise(method, lower(method, result, id), id)
      const both = known(result, definitions[definitionOf(method)] ?? {}, definitions)
      expect(lost(both, back, method)).toEqual([])
    }),
    RUNS,
  )
})

const validateNewest = WITHOUT_SCHEMAS === undefined ? validatorOf('2026-07-28') : () => ''

function definitionOf(method: string): string {
  return RESULTS[method]?.definition ?? ''
}

function vendorMembers(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(vendorMembers)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'x-vendor'
      ? [JSON.stringify(member)]
      : name === 'structuredContent'
        ? []
        : vendorMembers(member),
  )
}

function withoutVendorMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVendorMembers)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'x-vendor')
      .map(([name, member]) => [name, withoutVendorMembers(member)]),
  )
}
