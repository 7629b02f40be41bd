// What two revisions have in common of a value, and what of it was lost.
import { isObject } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { resolved } from '../spec/published.ts'
import type { Published } from '../spec/published.ts'

type Definitions = Readonly<Record<string, Published>>

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** The paths of what the first value has and the second has not. Undefined stands for what is not to be looked for. */
export function lost(both: unknown, back: unknown, path: string): string[] {
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
export function known(value: unknown, schema: Published, definitions: Definitions): unknown {
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
