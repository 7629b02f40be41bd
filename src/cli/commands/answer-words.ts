// Answers to what a call asks, as words of a command: printed ready to be filled in, and read again.
import { isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { objectIn } from '../json-argument.ts'

/** How a call that asks is gone on with later: by its id in the daemon, or by a state that needs nobody's memory. */
export type GoOn =
  { readonly id: string } | { readonly target: string; readonly args: JsonObject; readonly state: string }

/** The command that answers the questions, with … where a value has to be written. */
export function answerCommand(goOn: GoOn, questions: JsonObject): string {
  const call =
    'id' in goOn
      ? `--continue ${quoted(goOn.id)}`
      : `${quoted(goOn.target)} ${quoted(JSON.stringify(goOn.args))} --state ${quoted(goOn.state)}`
  const answers = Object.entries(questions).map(
    ([key, question]) => ` --answer '${keyWord(key)}=${exampleFor(question)}'`,
  )
  return `mcpx call ${call}${answers.join('')}`
}

/** The answers by key. Throws `USAGE` for a word that is not key=json, and `INPUT_NOT_JSON`. */
export function answersIn(words: readonly string[]): JsonObject {
  const answers: JsonObject = {}
  for (const word of words) {
    const [, key, json] = WORD.exec(word) ?? []
    if (key === undefined) {
      throw new McpxError(
        'USAGE',
        `"${word}" is not key=json, as in --answer 'elicitation-1={"action": "decline"}'.`,
      )
    }
    answers[key.startsWith('"') ? unescaped(key) : key] = objectIn(json, 'The answers')
  }
  return answers
}

/** A key, which may hold an equals sign itself, or be a JSON string; then the object. */
const WORD = /^("(?:[^"\\]|\\.)*"|.+?)=(\s*\{.*)$/s
/** What no shell takes for more than it is. */
const PLAIN = /^[\w.:-]+$/

/** A server chooses its keys and its fields' names: none of them may end the quotes that it stands in. */
function keyWord(key: string): string {
  return PLAIN.test(key) ? key : escaped(key)
}

function escaped(text: string): string {
  const inside = text.replaceAll(
    /[^\w .:-]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `"${inside}"`
}

function unescaped(key: string): string {
  try {
    return String(JSON.parse(key))
  } catch {
    return key
  }
}

function exampleFor(question: unknown): string {
  const params = isObject(question) && isObject(question['params']) ? question['params'] : {}
  if (params['mode'] === 'url') return '{"action": "accept"}'
  const schema = params['requestedSchema']
  if (!isObject(schema)) return '{}'
  const fields = Object.keys(isObject(schema['properties']) ? schema['properties'] : {})
  return `{"action": "accept", "content": {${fields.map((field) => `${escaped(field)}: …`).join(', ')}}}`
}

/** One word for a shell. */
function quoted(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
