// What a server may need from the client on the way to an answer: elicitation, sampling, roots.
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { QUESTIONS } from '../spec/index.ts'

/** One thing that a server asks for. Inside mcpx it has the newest shape, and so has what answers it. */
export interface Question {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** What a result says that is an answer only after a retry. */
export interface InputRequired {
  /** By the keys under which the answers are expected. */
  readonly questions: ReadonlyMap<string, Question>
  /** What the retry has to repeat, untouched. */
  readonly state: string | undefined
}

/** Whether a server asks its client by that method, in any revision. */
export function isQuestion(method: string): boolean {
  return Object.hasOwn(QUESTIONS, method)
}

/**
 * The questions of a result that requires input, or undefined for any other result. What is no question is one without a
 * method, so that its key is not lost: nobody can be asked it.
 */
export function readInputRequired(result: JsonObject): InputRequired | undefined {
  if (result['resultType'] !== 'input_required') return undefined
  const { inputRequests: requests, requestState: state } = result
  return { questions: readQuestions(requests), state: typeof state === 'string' ? state : undefined }
}

/** The questions of `inputRequests`, by their keys. */
export function readQuestions(requests: unknown): ReadonlyMap<string, Question> {
  const entries = isObject(requests) ? Object.entries(requests) : []
  return new Map(entries.map(([key, request]) => [key, readQuestion(request)]))
}

function readQuestion(request: unknown): Question {
  const { method, params } = isObject(request) ? request : {}
  return {
    method: typeof method === 'string' ? method : '',
    params: isObject(params) ? params : undefined,
  }
}
