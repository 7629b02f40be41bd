// JSON on the command line.
import { isObject, McpxError } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'

/** The object that a word of the command line holds; an empty one where there is none. Throws `INPUT_NOT_JSON`. */
export function objectIn(word: string | undefined, what = 'The arguments'): JsonObject {
  if (word === undefined || word.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(word)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new McpxError(
      'INPUT_NOT_JSON',
      `${what} are not JSON: ${why}. Write an object like '{"path": "README.md"}'.`,
    )
  }
  if (isObject(value)) return value
  throw new McpxError('INPUT_NOT_JSON', `${what} must be a JSON object like '{"path": "README.md"}'.`)
}
