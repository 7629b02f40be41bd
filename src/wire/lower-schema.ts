import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'

/**
 * A tool for a revision whose schemas must say `type: object` at the root and have objects as the schemas of properties. What
 * such a revision accepts stays as it is. An output schema that does not describe objects goes, as the results that it
 * describes do: a client of such a revision demands structured content from a tool with an output schema.
 */
export function withObjectSchemas(tool: JsonObject): JsonObject {
  const input = tool['inputSchema']
  const output = tool['outputSchema']
  let lowered = tool
  if (isObject(input)) {
    const rooted = input['type'] === undefined ? { ...input, type: 'object' } : input
    const schema = withSchemasAsObjects(rooted)
    if (schema !== input) lowered = { ...lowered, inputSchema: schema }
  }
  if (output === undefined) return lowered
  if (isObject(output) && describesObjects(output)) {
    const rooted = output['type'] === 'object' ? output : { ...output, type: 'object' }
    const schema = withSchemasAsObjects(rooted)
    return schema === output ? lowered : { ...lowered, outputSchema: schema }
  }
  const { outputSchema: _, ...rest } = lowered
  return rest
}

/** Whether each value that fits the root schema is an object, as far as the root and what it leads to say. */
function describesObjects(root: JsonObject): boolean {
  // Each subschema is judged once: one that refers to itself, or branches a lot, costs no more than its size.
  const judged = new Map<JsonObject, boolean>()
  const holds = (schema: unknown): boolean => {
    if (!isObject(schema)) return false
    const known = judged.get(schema)
    if (known !== undefined) return known
    judged.set(schema, false)
    const verdict = judge(schema)
    judged.set(schema, verdict)
    return verdict
  }
  const judge = ({ type, properties, $ref, anyOf, oneOf, allOf }: JsonObject): boolean => {
    if (type !== undefined) return type === 'object'
    if (isObject(properties)) return true
    if (typeof $ref === 'string' && holds(referred($ref, root))) return true
    return everyBranch(anyOf, holds) || everyBranch(oneOf, holds) || branchesOf(allOf).some(holds)
  }
  return holds(root)
}

function everyBranch(branches: unknown, holds: (schema: unknown) => boolean): boolean {
  return Array.isArray(branches) && branches.length > 0 && branches.every(holds)
}

/** What a reference within the same document leads to; others are never followed. */
function referred(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith('#/')) return undefined
  let target: unknown = root
  for (const step of reference.slice(2).split('/')) {
    if (!isObject(target)) return undefined
    target = target[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return target
}

function branchesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** `true` and `false` are schemas since draft 6; the older revisions' own schema wants objects as properties. */
function withSchemasAsObjects(schema: JsonObject): JsonObject {
  const properties = schema['properties']
  if (!isObject(properties)) return schema
  let copy: JsonObject | undefined
  for (const [name, property] of Object.entries(properties)) {
    if (typeof property !== 'boolean') continue
    copy ??= { ...properties }
    copy[name] = property ? {} : { not: {} }
  }
  return copy === undefined ? schema : { ...schema, properties: copy }
}
