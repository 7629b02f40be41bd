import type { JsonObject } from '../base/index.ts'
import { FEATURES, hasFeature, METHOD } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { without } from './copy.ts'
import type { Question } from './question.ts'

/**
 * A question of a server of that revision in the newest shape; the same object where nothing changes. Older spellings that are
 * legal in the newest stay. An `elicitationId` stays too, because the server's word that it is complete names it: spelled for
 * the newest revision, the question has none.
 */
export function raiseQuestion(question: Question, from: RevisionId): Question {
  const { method, params } = question
  if (params === undefined || !hasFeature(from, 'taskQuestion')) return question
  // Tasks are not declared to servers, and whoever has not declared them answers as if none had been asked for.
  const bare = without(params, [FEATURES.taskQuestion.field])
  return bare === params ? question : { method, params: bare }
}

/** What a client of that revision answered, in the newest shape; the same object where nothing changes. */
export function raiseReply(method: string, result: JsonObject, from: RevisionId): JsonObject {
  if (hasFeature(from, 'resultType') || method !== METHOD.elicit) return result
  // Some clients decline with `content: null`, which no revision allows and strict servers refuse.
  return result['content'] === null ? without(result, ['content']) : result
}
