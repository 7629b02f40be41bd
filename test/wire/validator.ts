import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { RevisionId } from '../../src/spec/index.ts'
import { definitionsOf, schemaOf } from '../spec/published.ts'

/** Says what is wrong with a value, or '' where it is valid. Definitions with members allow no others, unlike as published. */
export function validatorOf(id: RevisionId): (definition: string, value: unknown) => string {
  const schema = structuredClone(schemaOf(id))
  const definitions = definitionsOf(schema) as Record<string, Record<string, unknown>>
  for (const definition of Object.values(definitions)) {
    if ('properties' in definition && !('additionalProperties' in definition))
      definition['additionalProperties'] = false
  }
  // Any key may stand in a `_meta`; the definition names only those of the protocol.
  for (const [name, definition] of Object.entries(definitions)) {
    if (name.endsWith('MetaObject')) delete definition['additionalProperties']
  }
  const options = { strict: false, allErrors: true }
  const ajv = '$defs' in schema ? new Ajv2020(options) : new Ajv(options)
  addFormats.default(ajv)
  ajv.addSchema(schema, 'spec')
  const place = '$defs' in schema ? '$defs' : 'definitions'
  return (definition, value) => {
    const validate = ajv.getSchema(`spec#/${place}/${definition}`)
    if (validate === undefined) return `no definition ${definition} in ${id}`
    return validate(value) === true ? '' : ajv.errorsText(validate.errors)
  }
}
