import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { fieldsAbsent, hasFeature } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { without } from './copy.ts'

/**
 * The schema of a form, spelled for a client of that revision; the same object where nothing changes, undefined where the
 * revision has no such field.
 */
export function lowerForm(schema: JsonObject, to: RevisionId): JsonObject | undefined {
  const bare = without(schema, fieldsAbsent(to, 'requestedSchema'))
  const { properties } = bare
  if (!isObject(properties)) return bare
  let changed = false
  const fields: [string, unknown][] = []
  for (const [name, field] of Object.entries(properties)) {
    const lowered = isObject(field) ? lowerField(field, to) : field
    if (lowered === undefined) return undefined
    changed ||= lowered !== field
    fields.push([name, lowered])
  }
  return changed ? { ...bare, properties: Object.fromEntries(fields) } : bare
}

function lowerField(field: JsonObject, to: RevisionId): JsonObject | undefined {
  if (field['type'] === 'array' && !hasFeature(to, 'multiSelect')) return undefined
  const named = hasFeature(to, 'titledEnums') ? field : withEnumNames(field)
  // What is yes or no has had a default in every revision that has forms.
  return named['type'] === 'boolean' ? named : without(named, fieldsAbsent(to, 'formField'))
}

/** Choices with titles as a list of values and a list of names. Any other `oneOf` is not of the specification and stays. */
function withEnumNames(field: JsonObject): JsonObject {
  const { oneOf, ...rest } = field
  if (!Array.isArray(oneOf) || oneOf.length === 0) return field
  const values: string[] = []
  const names: string[] = []
  for (const choice of oneOf as readonly unknown[]) {
    const { const: value, title } = isObject(choice) ? choice : {}
    if (typeof value !== 'string') return field
    values.push(value)
    names.push(typeof title === 'string' ? title : value)
  }
  return { ...rest, enum: values, enumNames: names }
}
