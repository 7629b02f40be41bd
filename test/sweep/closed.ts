// The official schemas, closed: an object with named members may have no others. The published ones are open everywhere, so that
// nothing which mcpx makes up, or forgets to take out for an older revision, would show.
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ErrorObject } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'
import { definitionsOf, schemaOf } from '../spec/published.ts'
import { TASKS_EXTENSION } from './tasks-extension.ts'

/** One thing that is wrong with a value. `key` is the same for the same fault of the same member, wherever it stands. */
export interface Fault {
  readonly key: string
  readonly text: string
}

export interface ClosedSchema {
  /** The definition of a message by its method. */
  readonly messages: ReadonlyMap<string, string>
  has(definition: string): boolean
  /** Whether a union, such as `ClientRequest`, has that definition in it. */
  includes(union: string, definition: string): boolean
  check(definition: string, value: unknown): Fault[]
}

/** Members whose content is its owner's: maps, schemas of tools, and what the specification leaves open. */
const FREE = new Set([
  '_meta',
  'inputSchema',
  'outputSchema',
  'experimental',
  'extensions',
  'structuredContent',
  'metadata',
])
/** Definitions that stand for any content. The published JSONValue has neither null nor fractions. */
const FREE_DEFINITIONS = /^JSON(Object|Value|Array)$|^GetTaskPayloadResult$/
const ENVELOPES = /^JSONRPC(Request|Notification)$/
/** Their members are looked at, and any others may stand beside them. */
const OPEN_DEFINITIONS = /MetaObject$/
const UNION = /^(Client|Server)(Request|Notification)$/
/** What tells the members of a union apart, where each has another constant in it. */
const MARKS = ['type', 'method', 'mode', 'status']

type Definitions = Readonly<Record<string, JsonObject>>

export function closedSchema(id: RevisionId): ClosedSchema {
  const published = definitionsOf(schemaOf(id)) as Definitions
  const newest = id === '2026-07-28'
  const own: Definitions = newest ? { ...published, ...TASKS_EXTENSION } : published
  const definitions = Object.fromEntries(
    Object.entries(own).map(([name, schema]) => [name, closeDefinition(name, schema, own)]),
  )
  if (newest) addTaskIds(definitions)
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true })
  addFormats.default(ajv)
  // Older schemas point into `definitions`, newer ones into `$defs`.
  ajv.addSchema({ $id: 'closed', $defs: definitions, definitions })
  const messages = new Map<string, string>()
  for (const [name, schema] of Object.entries(own)) {
    const method = methodOf(schema)
    if (method !== undefined && !UNION.test(name)) messages.set(method, name)
  }
  return {
    messages,
    has: (definition) => definition in definitions,
    includes: (union, definition) => {
      const all = own[union] ?? {}
      // A union of one is published as that message itself.
      const one = all['anyOf'] === undefined && methodOf(all) === methodOf(own[definition] ?? {})
      return one || JSON.stringify(all).includes(`/${definition}"`)
    },
    check: (definition, value) => {
      const validate = ajv.getSchema(`closed#/$defs/${definition}`)
      if (validate === undefined) throw new Error(`There is no ${definition} in ${id}`)
      return validate(value) === true ? [] : faultsOf(validate.errors ?? [])
    },
  }
}

function methodOf({ properties }: JsonObject): string | undefined {
  const method =
    isObject(properties) && isObject(properties['method']) ? properties['method']['const'] : undefined
  return typeof method === 'string' ? method : undefined
}

function closeDefinition(name: string, schema: JsonObject, definitions: Definitions): unknown {
  if (FREE_DEFINITIONS.test(name)) return true
  // What a message has for params stands in the definition of its method.
  if (ENVELOPES.test(name)) {
    return close(
      { ...schema, properties: { ...(schema['properties'] as JsonObject), params: {} } },
      definitions,
    )
  }
  const closed = close(schema, definitions)
  return OPEN_DEFINITIONS.test(name) ? { ...(closed as JsonObject), additionalProperties: true } : closed
}

function close(schema: unknown, definitions: Definitions): unknown {
  if (Array.isArray(schema)) return schema.map((one) => close(one, definitions))
  if (!isObject(schema)) return schema
  const whole = merged(schema, definitions)
  const marked = markedUnion(whole, definitions)
  if (marked !== undefined) return marked
  const { properties, ...rest } = whole
  const closed = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, name === 'enum' ? value : close(value, definitions)]),
  )
  if (!isObject(properties)) return closed
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    closeMember(name, member, definitions),
  ])
  const open = isObject(rest['additionalProperties']) && Object.keys(rest['additionalProperties']).length > 0
  const more = open || rest['additionalProperties'] === true || members.length === 0
  return {
    ...closed,
    properties: Object.fromEntries(members),
    additionalProperties: more ? (closed['additionalProperties'] ?? true) : false,
  }
}

function closeMember(name: string, member: unknown, definitions: Definitions): unknown {
  if (!FREE.has(name) || !isObject(member)) return close(member, definitions)
  if ('$ref' in member) return member
  const { type, required } = member
  return { ...(type !== undefined && { type }), ...(required !== undefined && { required }) }
}

/** All of several is one object with the members of each, or closing one would forbid the others. */
function merged(schema: JsonObject, definitions: Definitions): JsonObject {
  const { allOf, ...rest } = schema
  if (!Array.isArray(allOf)) return schema
  const parts = [
    rest,
    ...(allOf as JsonObject[]).map((part) => merged(target(part, definitions), definitions)),
  ]
  const of = (name: string): unknown[] =>
    parts.flatMap((part) => (part[name] === undefined ? [] : [part[name]]))
  return {
    ...rest,
    type: 'object',
    properties: Object.assign({}, ...(of('properties') as JsonObject[])) as JsonObject,
    required: [...new Set(of('required').flat())],
  }
}

/** A union whose members say by a constant which they are: only the faults of the one that is meant are told. */
function markedUnion({ anyOf, ...rest }: JsonObject, definitions: Definitions): unknown {
  if (!Array.isArray(anyOf)) return undefined
  const branches = (anyOf as JsonObject[]).flatMap((branch): JsonObject[] => {
    const inner = target(branch, definitions)['anyOf']
    return Array.isArray(inner) ? (inner as JsonObject[]) : [branch]
  })
  for (const mark of MARKS) {
    const values = branches.map((branch) => {
      const members = target(branch, definitions)['properties']
      const member = isObject(members) ? members[mark] : undefined
      return isObject(member) ? member['const'] : undefined
    })
    if (values.includes(undefined) || new Set(values).size < values.length) continue
    const demands = (branch: JsonObject): boolean => {
      const { required } = target(branch, definitions)
      return Array.isArray(required) && required.includes(mark)
    }
    const cases = branches.map((branch, at) => ({
      // What may leave the mark out is meant where it is left out.
      if: {
        properties: { [mark]: { const: values[at] } },
        ...(demands(branch) && { required: [mark] }),
      },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: close(branch, definitions),
    }))
    const required = branches.every(demands) ? [mark] : []
    return { ...rest, type: 'object', required, properties: { [mark]: { enum: values } }, allOf: cases }
  }
  return undefined
}

function target(schema: JsonObject, definitions: Definitions): JsonObject {
  const { $ref: ref } = schema
  return (typeof ref === 'string' ? definitions[nameIn(ref)] : undefined) ?? schema
}

function nameIn(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

/** The tasks extension adds a member to the filter of a subscription, and to its acknowledgement. */
function addTaskIds(definitions: Record<string, unknown>): void {
  const { properties } = definitions['SubscriptionFilter'] as { properties: Record<string, unknown> }
  properties['taskIds'] = { type: 'array', items: { type: 'string' } }
}

const COMPOSED = new Set(['if', 'anyOf', 'oneOf', 'allOf'])

function faultsOf(errors: readonly ErrorObject[]): Fault[] {
  const plain = errors.filter(({ keyword }) => !COMPOSED.has(keyword))
  const seen = new Map<string, Fault>()
  for (const error of plain.length > 0 ? plain : errors) {
    const { keyword, instancePath, params, data } = error
    const given = params as JsonObject
    const unknown = given['additionalProperty']
    const missing = given['missingProperty']
    const name = [unknown, missing].find((one) => typeof one === 'string') ?? lastName(instancePath)
    const value =
      typeof unknown === 'string' ? (data as JsonObject)[unknown] : keyword === 'required' ? '' : data
    const key = `${keyword} ${name} ${JSON.stringify(value)}`
    const what = typeof unknown === 'string' ? `: ${unknown}` : ''
    seen.set(key, { key, text: `${instancePath || '/'} ${error.message ?? keyword}${what}` })
  }
  return [...seen.values()]
}

function lastName(path: string): string {
  const name = path.split('/').findLast((part) => !/^\d*$/.test(part)) ?? ''
  // A subscription is named by the id of the request that opened it.
  return name.endsWith('subscriptionId') ? 'id' : name
}
