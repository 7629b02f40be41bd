// What one legacy client is being asked: requests of mcpx's own, and who waits for their answers.
import { randomBytes, randomUUID } from 'node:crypto'
import { clip } from '../base/index.ts'
import type { Cancellation } from '../base/index.ts'
import { ERRORS, METHOD, revision } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { answerable, answerOf, lowerQuestion, raiseReply, whyNot } from '../wire/index.ts'
import type {
  Answer,
  Caller,
  Id,
  Question,
  RpcError,
  RpcNotification,
  RpcRequest,
  RpcResponse,
} from '../wire/index.ts'

/** Questions that may wait for one client's answers. */
const MAX_OPEN = 1000

/** Puts a question to the client; each of the cancellations gives it up. Never rejects. */
export type Way = (question: Question, givenUpBy: readonly Cancellation[]) => Promise<Answer>

/** Sends the client a question, or takes one back. False where nothing can reach the client. */
export type Carrier = (message: RpcRequest | RpcNotification) => boolean

interface Waiting {
  readonly method: string
  readonly from: RevisionId
  readonly settle: (answer: Answer) => void
}

/** The questions of one session or pipe, from its first to its end. */
export class OpenQuestions {
  readonly #waiting = new Map<Id, Waiting>()
  /** Another process may have asked within the same session, so the number alone would not tell its questions from these. */
  readonly #prefix = `mcpx-${randomBytes(9).toString('base64url')}`
  #asked = 0
  #over: string | undefined

  /** The way to a client that is asked by requests; undefined for one that is asked by results. */
  way(caller: Caller, carrier: Carrier): Way | undefined {
    if (revision(caller.revision).asks !== 'by-request') return undefined
    return (question, givenUpBy) => this.#put(question, { caller, carrier, givenUpBy })
  }

  /** Hands an answer to whoever waits for it. One that nobody waits for is dropped. */
  take(response: RpcResponse): void {
    const { id } = response
    const waiting = id === undefined || id === null ? undefined : this.#waiting.get(id)
    if (waiting === undefined) return
    const answer = answerOf(response)
    const { method, from } = waiting
    waiting.settle('error' in answer ? answer : { result: raiseReply(method, answer.result, from) })
  }

  /** Takes a message that names an open question and is no answer: nothing better will come for it. */
  takeInvalid(id: Id | undefined, reason: string): void {
    if (id === undefined) return
    this.#waiting.get(id)?.settle(failed(`the client's answer is no JSON-RPC response: ${reason}`))
  }

  /** Answers all that is open with an error, and from now on whatever is asked. */
  close(reason: string): void {
    this.#over ??= reason
    for (const waiting of this.#waiting.values()) waiting.settle(failed(reason))
  }

  #put(question: Question, { caller, carrier, givenUpBy }: Route): Promise<Answer> {
    const refused = this.#over ?? givenUpBy.find(({ reason }) => reason !== undefined)?.reason
    if (refused !== undefined) return Promise.resolve(failed(refused))
    if (this.#waiting.size >= MAX_OPEN) {
      return Promise.resolve(failed(`${MAX_OPEN} questions wait for the client's answers already`))
    }
    const { revision: from, capabilities } = caller
    const can = answerable(capabilities, from)
    const spelled = lowerQuestion(question, { to: from, answerable: can, newId: randomUUID })
    const why =
      whyNot(question, can) ?? (spelled === undefined ? `revision ${from} cannot say it` : undefined)
    if (spelled === undefined || why !== undefined) {
      const message = `The client cannot be asked ${clip(question.method)}: ${why}`
      return Promise.resolve({ error: { code: ERRORS.methodNotFound, message } })
    }
    const id = `${this.#prefix}-${++this.#asked}`
    return new Promise((resolve) => {
      const stops: (() => void)[] = []
      const settle = (answer: Answer): void => {
        this.#waiting.delete(id)
        for (const stop of stops) stop()
        resolve(answer)
      }
      this.#waiting.set(id, { method: question.method, from, settle })
      if (!carrier(requestOf(id, spelled))) return settle(failed('the client has no connection open'))
      for (const cancellation of givenUpBy) {
        const stop = cancellation.onCancel((reason) => {
          // A cancellation that is named twice tells both of its listeners.
          if (!this.#waiting.has(id)) return
          settle(failed(reason))
          carrier({ jsonrpc: '2.0', method: METHOD.cancelled, params: { requestId: id, reason } })
        })
        stops.push(stop)
      }
    })
  }
}

interface Route {
  readonly caller: Caller
  readonly carrier: Carrier
  readonly givenUpBy: readonly Cancellation[]
}

function requestOf(id: Id, { method, params }: Question): RpcRequest {
  return params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params }
}

function failed(reason: string): { readonly error: RpcError } {
  return { error: { code: ERRORS.internal, message: `The question was not answered: ${reason}` } }
}
