// What a server's answer asks for before it is one, and how the request is gone on with.
import type { JsonObject } from '../../base/index.ts'
import type { Resume } from '../../pool/index.ts'
import { ERRORS, METHOD } from '../../spec/index.ts'
import type { RevisionId } from '../../spec/index.ts'
import { enveloped, lowerReply, raiseQuestion, readInputRequired } from '../../wire/index.ts'
import type { Answer, Call, Question, RpcRequest } from '../../wire/index.ts'
import type { AskingServer, Round, Sent } from './party.ts'
import { urlsRequired } from './rounds.ts'
import type { StateContent } from './states.ts'
import { refusal } from './strays.ts'

/** A call, and its params as the server knows them. */
export interface Errand {
  readonly call: Call
  readonly params: JsonObject | undefined
}

/** A call under way. */
export interface Course {
  readonly server: AskingServer
  readonly call: Call
  readonly params: JsonObject | undefined
  /** What the caller itself can be asked. */
  readonly own: JsonObject
  readonly round: number
}

/** What a server's result asks for, and how the request is gone on with. */
export interface Required {
  readonly questions: Round
  readonly goOn: (responses: JsonObject) => Resume | undefined
  readonly state: (kept: JsonObject, round: number) => StateContent
}

/** What is called, as it is remembered and configured. */
export function subjectOf(method: string, params: JsonObject | undefined): string {
  return `${method} ${JSON.stringify(params?.['name'] ?? params?.['uri'] ?? '')}`
}

export function requiredBy({ answer }: Sent): Required | undefined {
  if ('error' in answer) {
    const urls = answer.error.code === ERRORS.urlElicitationRequired ? urlsRequired(answer.error) : undefined
    if (urls === undefined) return undefined
    return { questions: urls, goOn: () => undefined, state: (_, round) => ({ kind: 'again', round }) }
  }
  const required = readInputRequired(answer.result)
  if (required === undefined) return undefined
  const { questions, state } = required
  return {
    questions,
    goOn: (responses) => ({ responses, state }),
    state: (kept, round) => ({ kind: 'relay', upstream: state, kept, round }),
  }
}

/** A server's request as a question; what its hop said in `_meta` belongs to that hop. */
export function questionOf({ method, params }: RpcRequest, revision: RevisionId): Question {
  const bare = enveloped(params, {
    ...{ revision, client: undefined, progressToken: undefined, logLevel: undefined },
  })
  const said = bare !== undefined && Object.keys(bare).length > 0 ? bare : undefined
  return raiseQuestion({ method, params: said }, revision)
}

export function answersItself(server: AskingServer, question: Question): boolean {
  return server.roots !== undefined && question.method === METHOD.rootsList
}

export function spelled(answer: Answer, question: Question, revision: RevisionId): Answer {
  if ('error' in answer) return answer
  const result = lowerReply(question.method, answer.result, revision)
  return result === undefined ? refusal(question, `revision ${revision} cannot say the answer`) : { result }
}
