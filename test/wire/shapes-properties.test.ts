// What holds of every result: nothing is changed in place, nothing is lost that both revisions have, and what comes out is valid
// by the official schema of the revision that it is spelled for.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isObject } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { REVISIONS } from '../../src/spec/index.ts'
import { lower } from '../../src/wire/lower.ts'
import { raise } from '../../src/wire/raise.ts'
import { definitionsOf, resolved, schemaOf, WITHOUT_SCHEMAS } from '../spec/published.ts'
import type { Published } from '../spec/published.ts'
import { RESULTS, samples } from './arbitrary-results.ts'
import { frozen } from './frozen.ts'
import { validatorOf } from './validator.ts'

const IDS = REVISIONS.map(({ id }) => id)
const LEGACY = IDS.filter((id) => id !== '2026-07-28')
const RUNS = { numRuns: 300 }
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

type Definitions = Readonly<Record<string, Published>>

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

/** The paths of what the first value has and the second has not. Undefined stands for what is not to be looked for. */
function lost(both: unknown, back: unknown, path: string): string[] {
  if (both === undefined) return []
  if (Array.isArray(both)) {
    const items: readonly unknown[] = Array.isArray(back) ? back : []
    return both.flatMap((item, index) => lost(item, items[index], `${path}[${index}]`))
  }
  if (!isObject(both)) return Object.is(both, back) ? [] : [path]
  if (!isObject(back)) return [path]
  return Object.entries(both).flatMap(([name, member]) => lost(member, back[name], `${path}.${name}`))
}

/**
 * What of a value a revision's schema has: the members that it names, the values of types that it has. Undefined where it has
 * no such value: a type of block, structured content of another kind.
 */
function known(value: unknown, schema: Published, definitions: Definitions): unknown {
  const union = resolved(schema, definitions)
  const target = union.anyOf === undefined ? union : branchFor(value, union, definitions)
  if (target === undefined) return undefined
  const { properties, items } = target
  if (Array.isArray(value) && items !== undefined) return value.map((item) => known(item, items, definitions))
  if (!isObject(value)) return target['type'] === 'object' ? undefined : value
  // The schemas of a tool's arguments and results are the server's own; how they are fixed has cases of its own.
  const { inputSchema: _, outputSchema: __, ...others } = value
  return members(
    properties !== undefined && 'inputSchema' in properties ? others : value,
    target,
    definitions,
  )
}

function members(value: JsonObject, target: Published, definitions: Definitions): JsonObject {
  const kept: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const schema = target.properties?.[name]
    // Legacy revisions say it in `initialize`, and their `_meta` would be left empty.
    if (name === SERVER_INFO || (isObject(member) && Object.keys(member).join() === SERVER_INFO)) continue
    const both = schema === undefined ? openMember(member, target) : known(member, schema, definitions)
    if (both !== undefined) kept[name] = both
  }
  return kept
}

/** A map without named members keeps whatever stands in it. */
function openMember(member: unknown, target: Published): unknown {
  return target.properties === undefined || Object.keys(target.properties).length === 0 ? member : undefined
}

function branchFor(
  value: unknown,
  { anyOf = [] }: Published,
  definitions: Definitions,
): Published | undefined {
  const candidates = anyOf.flatMap((branch) => {
    const target = resolved(branch, definitions)
    return target.anyOf === undefined ? [target] : target.anyOf.map((inner) => resolved(inner, definitions))
  })
  return candidates.find(({ properties = {}, required = [] }) => {
    if (!isObject(value)) return false
    const type = properties['type']?.const
    return type === undefined ? required.every((name) => name in value) : type === value['type']
  })
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
