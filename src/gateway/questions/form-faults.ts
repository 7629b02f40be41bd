// What is wrong with the content of an accepted form, in words for the person or program that filled it in.
import { Validator } from '@cfworker/json-schema'
import type { OutputUnit } from '@cfworker/json-schema'
import { clip, clipList, isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { countOf, isDeep, safeSchema } from './form-schema.ts'

/** Values of the schema times values of the content: some tenths of a second at worst. More is left to the server to check. */
const MAX_WORK = 50_000

/** Errors of the interpreter that are put into words, and names of one list. */
const MAX_ERRORS = 1000
const MAX_NAMES = 20

/**
 * The faults of a form's content, each once, with the field's path. None where the schema is too large, too deep or broken: the
 * server checks what it gets in any case. Never throws.
 */
export function formFaults(requestedSchema: unknown, content: JsonObject): string[] {
  if (isDeep(content)) return ['the content is nested too deeply']
  const schema = safeSchema(requestedSchema)
  if (schema === undefined || countOf(schema) * countOf(content) > MAX_WORK) return []
  try {
    const { errors } = new Validator(schema, '2020-12', false).validate(content)
    // The interpreter gives one error for each name that is missing, all of the same place; one of them tells of all.
    const places = new Map(errors.slice(0, MAX_ERRORS).map((error) => [placeOf(error), error]))
    return [...new Set([...places.values()].flatMap((error) => faultsOf(error, schema, content)))]
  } catch {
    return []
  }
}

function placeOf({ keyword, keywordLocation, instanceLocation }: OutputUnit): string {
  return `${keyword} ${keywordLocation} ${instanceLocation}`
}

function faultsOf(error: OutputUnit, schema: JsonObject, content: JsonObject): string[] {
  const steps = stepsOf(error.keywordLocation)
  // A branch that does not fit is no fault by itself: the keyword that holds the branches says so.
  if (branches(steps.slice(0, -1))) return []
  const at = decodeURIComponent(error.instanceLocation.slice(1))
  const value = memberAt(schema, steps)
  if (error.keyword === 'required') {
    const instance = memberAt(content, stepsOf(error.instanceLocation))
    return missingFrom(instance, value)
      .slice(0, MAX_NAMES)
      .map((name) => `${pathOf(`${at}/${escaped(name)}`)} is missing`)
  }
  const words = WORDS[error.keyword]?.(value)
  return words === undefined ? [] : [`${pathOf(at)} ${words}`]
}

/** What has to be so, by keyword and its value. Keywords without words only lead to others. */
const WORDS: Readonly<Record<string, (value: unknown) => string>> = {
  type: (value) => `must be ${(Array.isArray(value) ? value : [value]).map(typeName).join(' or ')}`,
  enum: (value) => `must be one of ${choices(value)}`,
  const: (value) => `must be ${shown(value)}`,
  anyOf: (value) => oneOfBranches(value),
  oneOf: (value) => oneOfBranches(value),
  minimum: (value) => `must be at least ${String(value)}`,
  maximum: (value) => `must be at most ${String(value)}`,
  exclusiveMinimum: (value) => `must be more than ${String(value)}`,
  exclusiveMaximum: (value) => `must be less than ${String(value)}`,
  minLength: (value) => `must have at least ${counted(value, 'character')}`,
  maxLength: (value) => `must have at most ${counted(value, 'character')}`,
  minItems: (value) => `must have at least ${counted(value, 'item')}`,
  maxItems: (value) => `must have at most ${counted(value, 'item')}`,
  format: (value) => `must be ${FORMAT_NAMES[String(value)] ?? `of the format ${String(value)}`}`,
  false: () => 'is not asked for',
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

const FORMAT_NAMES: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  uri: 'a URI',
  date: 'a date (YYYY-MM-DD)',
  'date-time': 'a date and time (RFC 3339)',
}

function typeName(type: unknown): string {
  return TYPE_NAMES[String(type)] ?? String(type)
}

function counted(value: unknown, noun: string): string {
  return `${String(value)} ${noun}${value === 1 ? '' : 's'}`
}

function choices(values: unknown): string {
  return clipList((Array.isArray(values) ? values : []).map(shown))
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : clip(JSON.stringify(value))
}

function oneOfBranches(branchList: unknown): string {
  const branchValues: readonly unknown[] = Array.isArray(branchList) ? branchList : []
  const consts = branchValues.flatMap((branch) =>
    isObject(branch) && 'const' in branch ? [branch['const']] : [],
  )
  const all = consts.length > 0 && consts.length === branchValues.length
  return all ? `must be one of ${choices(consts)}` : 'is none of what is allowed'
}

function missingFrom(instance: unknown, required: unknown): string[] {
  if (!isObject(instance) || !Array.isArray(required)) return []
  return required.filter((name): name is string => typeof name === 'string' && !Object.hasOwn(instance, name))
}

/** The steps of a location such as `#/properties/a~1b%20c`, unescaped. */
function stepsOf(location: string): string[] {
  return decodeURIComponent(location)
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Whether a path through a schema goes into branches; a step after `properties` is a name and not a keyword. */
function branches(steps: readonly string[]): boolean {
  for (let at = 0; at < steps.length; at++) {
    if (steps[at] === 'properties') at++
    else if (steps[at] === 'anyOf' || steps[at] === 'oneOf') return true
  }
  return false
}

function memberAt(value: unknown, steps: readonly string[]): unknown {
  let member = value
  for (const step of steps) {
    if (typeof member !== 'object' || member === null || !Object.hasOwn(member, step)) return undefined
    member = (member as JsonObject)[step]
  }
  return member
}

function pathOf(path: string): string {
  return path === '' ? 'the content' : clip(path, 120)
}
