// Values made from an official schema: whatever it allows comes up now and then, in any combination.
import * as fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { isObject } from '../../src/base/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'
import { definitionsOf, resolved, schemaOf } from '../spec/published.ts'
import type { Published } from '../spec/published.ts'

type Definitions = Readonly<Record<string, Published>>

/** How deep values that may hold themselves go. */
const DEPTH = 8
const JSON_DEFINITIONS = /\/JSON(Value|Object|Array)$/

const word = fc.stringMatching(/^[a-z]{1,6}$/)
const FORMATS: Readonly<Record<string, Arbitrary<string>>> = {
  uri: word.map((path) => `file:///${path}`),
  'uri-template': word.map((path) => `file:///{${path}}`),
  byte: fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString('base64')),
}
const json = fc.jsonValue({ maxDepth: 1 }) as Arbitrary<unknown>
const map = fc.dictionary(fc.constantFrom('a', 'example.test/b'), json, { maxKeys: 2 })

/** Values of a definition of that revision's schema. */
export function arbitraryOf(id: RevisionId, definition: string): Arbitrary<unknown> {
  const definitions = definitionsOf(schemaOf(id))
  return of(definitions[definition] ?? {}, definitions, 0)
}

function of(schema: Published, definitions: Definitions, depth: number): Arbitrary<unknown> {
  if (schema.$ref !== undefined) {
    if (JSON_DEFINITIONS.test(schema.$ref)) return schema.$ref.endsWith('JSONObject') ? map : json
    return of(resolved(schema, definitions), definitions, depth)
  }
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]))
  const { anyOf } = schema
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => of(one, definitions, depth + 1)))
  const { type } = schema
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  return fc.oneof(...types.map((one) => ofType(one, schema, { definitions, depth })))
}

interface Within {
  readonly definitions: Definitions
  readonly depth: number
}

function ofType(type: unknown, schema: Published, { definitions, depth }: Within): Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return ofObject(schema, { definitions, depth })
    case 'array': {
      const item = of(schema.items ?? {}, definitions, depth + 1)
      return fc.array(item, { maxLength: depth > DEPTH ? 0 : 2 })
    }
    case 'string':
      return FORMATS[String(schema['format'])] ?? fc.string({ maxLength: 6 })
    case 'integer':
    case 'number': {
      const { minimum = 0, maximum = 1000 } = schema as { minimum?: number; maximum?: number }
      return fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) })
    }
    case 'boolean':
      return fc.boolean()
    default:
      return json
  }
}

function ofObject(schema: Published, { definitions, depth }: Within): Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema
  const names = Object.keys(properties).filter((name) => depth <= DEPTH || required.includes(name))
  const more = schema['additionalProperties']
  if (names.length === 0) {
    const values = isObject(more) && Object.keys(more).length > 0 ? of(more, definitions, depth + 1) : json
    return depth > DEPTH ? fc.constant({}) : fc.dictionary(word, values, { maxKeys: 2 })
  }
  const members = names.map((name) => [name, of(properties[name] ?? {}, definitions, depth + 1)] as const)
  return fc.record(Object.fromEntries(members), {
    requiredKeys: required.filter((name) => names.includes(name)),
  })
}
