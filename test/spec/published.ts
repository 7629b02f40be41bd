import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { REVISIONS } from '../../src/spec/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'

/** A JSON schema, or a part of one, as the specification publishes it. */
export interface Published {
  readonly [keyword: string]: unknown
  readonly properties?: Readonly<Record<string, Published>>
  readonly anyOf?: readonly Published[]
  readonly items?: Published
  readonly required?: readonly string[]
  readonly const?: unknown
  readonly $ref?: string
}

const DIRECTORY = process.env['MCPX_SPEC_DIR'] ?? resolve(import.meta.dirname, '../../../shared/spec')

/** Why tests that need the published schemas do not run, or undefined where all of them were found. */
export const WITHOUT_SCHEMAS: string | undefined = REVISIONS.every(({ id }) => existsSync(pathOf(id)))
  ? undefined
  : `no <revision>.schema.json in ${DIRECTORY}; MCPX_SPEC_DIR may name another folder`

const read = new Map<RevisionId, Published>()

/** The whole published schema of a revision. */
export function schemaOf(id: RevisionId): Published {
  const schema = read.get(id) ?? (JSON.parse(readFileSync(pathOf(id), 'utf8')) as Published)
  read.set(id, schema)
  return schema
}

/** The definitions of a revision's schema: `$defs`, or `definitions` before 2025-11-25. */
export function definitionsOf(schema: Published): Readonly<Record<string, Published>> {
  return (schema['$defs'] ?? schema['definitions']) as Readonly<Record<string, Published>>
}

/** What a schema stands for: the definition that it refers to, or itself. */
export function resolved(schema: Published, definitions: Readonly<Record<string, Published>>): Published {
  const name = schema.$ref?.split('/').at(-1)
  return (name === undefined ? undefined : definitions[name]) ?? schema
}

function pathOf(id: RevisionId): string {
  return join(DIRECTORY, `${id}.schema.json`)
}
