// A round of questions as a result that requires input, and what came back for it.
import { isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { METHOD, newest } from '../../spec/index.ts'
import { EVERY_ANSWER, lowerQuestion } from '../../wire/index.ts'
import type { Answer, Question, RpcError } from '../../wire/index.ts'
import type { AskingServer, Round } from './party.ts'

/**
 * The result that puts a round to a caller. What was wrong with last answers stands in the result's own `_meta`, by the
 * question's key: the params of most questions have none.
 */
export function inputRequired(round: Round, state: string): Answer {
  const inputRequests: JsonObject = {}
  const faults: JsonObject = {}
  for (const [key, question] of round) {
    const { _meta: meta, ...params } = question.params ?? {}
    const { [FAULTS]: said, ...others } = isObject(meta) ? meta : {}
    const more = Object.keys(others).length > 0 ? { _meta: others } : {}
    inputRequests[key] = asPut(
      said === undefined ? question : { ...question, params: { ...params, ...more } },
    )
    if (said !== undefined) faults[key] = said
  }
  return {
    result: {
      resultType: 'input_required',
      ...(round.size > 0 ? { inputRequests } : {}),
      requestState: state,
      ...(Object.keys(faults).length > 0 && { _meta: { [FAULTS]: faults } }),
    },
  }
}

/** The question under the name of whoever asks. Sampling has no text that a person reads first. */
export function named(question: Question, { lead }: Pick<AskingServer, 'lead'>): Question {
  const message = question.params?.['message']
  if (lead === undefined || question.method !== METHOD.elicit || typeof message !== 'string') return question
  return { ...question, params: { ...question.params, message: `${lead}: ${message}` } }
}

/** The question with what was wrong with its last answer, for a person in its message and for programs in its `_meta`. */
export function faulted(question: Question, faults: readonly string[]): Question {
  if (faults.length === 0) return question
  const { params = {} } = question
  const { message, _meta: meta } = params
  const led =
    question.method === METHOD.elicit && typeof message === 'string'
      ? { message: `${message}\n\nThe last answer was not accepted: ${faults.join('; ')}` }
      : {}
  const marked = { ...(isObject(meta) ? meta : {}), [FAULTS]: faults }
  return { ...question, params: { ...params, ...led, _meta: marked } }
}

/** The url elicitations that a server's error asks for, or undefined where it is another error. */
export function urlsRequired(error: RpcError): Round | undefined {
  const data = isObject(error.data) ? error.data['elicitations'] : undefined
  if (!Array.isArray(data)) return undefined
  const all = data
    .filter(isObject)
    .map((params, i) => [`elicitation-${i + 1}`, { method: METHOD.elicit, params }] as const)
  return all.length === 0 ? undefined : new Map(all)
}

export function exhausted(server: AskingServer): McpxError {
  return new McpxError(
    'QUESTIONS_EXHAUSTED',
    `Server "${server.name}" asked for more and more input and never answered. Raise "questions.rounds" if it needs so many rounds.`,
  )
}

const FAULTS = 'io.mcpx/faults'

/** A question as a result puts it. What can be asked says nothing here: it is known before a question comes so far. */
export function asPut(question: Question): Question {
  return lowerQuestion(question, { to: newest(), answerable: EVERY_ANSWER, newId: () => '' }) ?? question
}
