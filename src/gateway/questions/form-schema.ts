// A server's schema of a form is a stranger's: what of it is evaluated, and up to which size.
import { isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'

/** JSON, in characters, of a schema that is evaluated. */
const MAX_SIZE = 64 * 1024
const MAX_DEPTH = 32

/** Keywords that are copied as they are, by what has to stand in them. Anything else there makes the keyword unknown. */
const PLAIN: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => (Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type)),
  required: isTexts,
  enum: Array.isArray,
  const: () => true,
  minimum: Number.isFinite,
  maximum: Number.isFinite,
  exclusiveMinimum: Number.isFinite,
  exclusiveMaximum: Number.isFinite,
  minLength: Number.isFinite,
  maxLength: Number.isFinite,
  minItems: Number.isFinite,
  maxItems: Number.isFinite,
  format: (value) => typeof value === 'string' && FORMATS.has(value),
}

const TYPES: ReadonlySet<unknown> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
])

/** Those that the specification names for fields; their expressions take linear time. */
const FORMATS: ReadonlySet<string> = new Set(['email', 'uri', 'date', 'date-time'])

/** Keywords whose reach depends on another one that is not copied: without it they would refuse more. */
const BESIDE: ReadonlyMap<string, string> = new Map([
  ['additionalProperties', 'patternProperties'],
  ['items', 'prefixItems'],
])

/** Keywords that say nothing about what is valid. */
const SILENT = new Set(['$schema', '$comment', 'title', 'description', 'default', 'enumNames', 'examples'])

interface Copied {
  readonly schema: JsonObject | boolean
  /** Whether every keyword was copied; with one left out, more is valid. */
  readonly whole: boolean
}

/** The values in a value, itself among them: what an evaluation costs grows with those of the schema times those of the content. */
export function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, member) => sum + countOf(member), 1)
}

/** Whether values are nested more than `depth` times. */
export function isDeep(value: unknown, depth = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((member) => isDeep(member, depth - 1))
}

/**
 * The part of a schema that can be evaluated safely, as a copy, or undefined where the schema is too large, too deep or none at
 * all. Left out is what could take more than linear time or reach outside: references, `not` and `if`, and every regular
 * expression: `pattern` is no part of any revision's form schema, JavaScript gives no bound for the time that one takes, and
 * the server checks its own. What is left out makes more valid, never less.
 */
export function safeSchema(schema: unknown): JsonObject | undefined {
  if (!isObject(schema) || isDeep(schema) || JSON.stringify(schema).length > MAX_SIZE) {
    return undefined
  }
  const { schema: copy } = copied(schema)
  return isObject(copy) ? copy : undefined
}

function copied(schema: unknown): Copied {
  if (typeof schema === 'boolean') return { schema, whole: true }
  if (!isObject(schema)) return { schema: true, whole: false }
  const copy: JsonObject = {}
  let whole = true
  for (const [keyword, value] of Object.entries(schema)) {
    if (SILENT.has(keyword)) continue
    const other = BESIDE.get(keyword)
    const alone = other === undefined || !Object.hasOwn(schema, other)
    const part = alone ? keywordOf(keyword, value) : undefined
    whole &&= part?.whole === true
    if (part !== undefined) copy[part.keyword] = part.value
  }
  return { schema: copy, whole }
}

interface Part {
  readonly keyword: string
  readonly value: unknown
  readonly whole: boolean
}

function keywordOf(keyword: string, value: unknown): Part | undefined {
  switch (keyword) {
    case 'properties':
      return isObject(value) ? propertiesOf(value) : undefined
    case 'items':
    case 'additionalProperties': {
      const { schema, whole } = copied(value)
      return { keyword, value: schema, whole }
    }
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return Array.isArray(value) && value.length > 0 ? branchesOf(keyword, value) : undefined
    default: {
      const fits = Object.hasOwn(PLAIN, keyword) && PLAIN[keyword]?.(value) === true
      return fits ? { keyword, value, whole: true } : undefined
    }
  }
}

function propertiesOf(properties: JsonObject): Part {
  const parts = Object.entries(properties).map(([name, field]) => [name, copied(field)] as const)
  return {
    keyword: 'properties',
    value: Object.fromEntries(parts.map(([name, { schema }]) => [name, schema])),
    whole: parts.every(([, { whole }]) => whole),
  }
}

/** Two branches that differ only in what was left out would both match, so `oneOf` then means any of them. */
function branchesOf(keyword: string, branches: readonly unknown[]): Part {
  const parts = branches.map(copied)
  const whole = parts.every((part) => part.whole)
  return {
    keyword: keyword === 'oneOf' && !whole ? 'anyOf' : keyword,
    value: parts.map(({ schema }) => schema),
    whole,
  }
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
