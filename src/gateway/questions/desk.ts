// Who answers a question: the caller, the server's own roots, the inbox, or nobody.
import { Cancellation } from '../../base/index.ts'
import type { Clock, JsonObject } from '../../base/index.ts'
import type { Inquiry } from '../../pool/index.ts'
import { METHOD } from '../../spec/index.ts'
import { whyNot } from '../../wire/index.ts'
import type { Answer, Call, Question } from '../../wire/index.ts'
import { replyFaults } from './check.ts'
import { answersItself, questionOf, spelled } from './course.ts'
import type { Course } from './course.ts'
import { GRACE, INBOX_ANSWERS, unanswered } from './inbox.ts'
import type { Inbox } from './inbox.ts'
import type { AskingServer } from './party.ts'
import { named } from './rounds.ts'
import { refusal } from './strays.ts'
import type { Strays } from './strays.ts'

export interface DeskOptions {
  readonly clock: Clock
  readonly inbox: Inbox
  readonly strays: Strays
  /** How long a question to a caller on the line waits, in ms. */
  readonly ttl: () => number
}

export const ROOTS: Question = { method: METHOD.rootsList, params: undefined }

export class Desk {
  readonly #options: DeskOptions

  constructor(options: DeskOptions) {
    this.#options = options
  }

  /** What the callers of a principal can be asked where `own` is what this one can. */
  answers(own: JsonObject, principal: string): JsonObject {
    return this.#options.inbox.takes(principal) ? merged(own, INBOX_ANSWERS) : own
  }

  /** Answers a legacy server's question, in its revision. */
  async answer(
    { request, revision, cancellation }: Inquiry,
    { server, call, own }: Course,
    put: (question: Question) => Promise<Answer>,
  ): Promise<Answer> {
    const question = questionOf(request, revision)
    const answer =
      whyNot(question, own) === undefined && !answersItself(server, question)
        ? await put(named(question, server))
        : await this.withoutCaller(question, { server, call, cancellation })
    return spelled(answer, question, revision)
  }

  /** The server's own roots, or the inbox, or a refusal at once. */
  async withoutCaller(
    question: Question,
    to: { readonly server: AskingServer; readonly call: Call; readonly cancellation: Cancellation },
  ): Promise<Answer> {
    const { server, call, cancellation } = to
    if (answersItself(server, question)) return { result: { roots: server.roots } }
    const { principal } = call.caller
    if (!this.inboxTakes(question, principal))
      return refusal(question, 'neither the caller nor the inbox answers it')
    return this.#options.inbox.put({ server: server.name, principal, question }, cancellation)
  }

  /** Puts a question to a caller that is connected, for as long as questions wait. */
  async onTheLine(
    question: Question,
    { call, given, late }: { readonly call: Call; readonly given: Cancellation; readonly late: Cancellation },
  ): Promise<Answer> {
    const { clock, ttl } = this.#options
    if (call.ask === undefined) return refusal(question, 'the caller has no connection open')
    const waiting = new Cancellation()
    const forget = given.onCancel((reason) => waiting.cancel(reason))
    let expired = false
    const timer = clock.after(ttl(), () => {
      expired = true
      waiting.cancel('it was not answered in time')
      clock.after(GRACE, () => late.cancel('its question was not answered'))
    })
    const answer = await call.ask(question, waiting)
    timer.cancel()
    forget()
    return expired ? unanswered(question) : answer
  }

  /** Whether the inbox can do what an error asks for, and the caller, whose own revision would know the error, cannot. */
  mends(questions: readonly (readonly [string, Question])[], { own, call }: Course): boolean {
    return questions.every(
      ([, question]) =>
        whyNot(question, own) !== undefined && this.inboxTakes(question, call.caller.principal),
    )
  }

  /** Whether somebody else than the caller will see the question. */
  inboxTakes(question: Question, principal: string): boolean {
    return this.#options.inbox.takes(principal) && whyNot(question, INBOX_ANSWERS) === undefined
  }

  /** Whether a server waits for the roots of a caller that can say them. */
  wantsRoots({ server, call, own }: Course): boolean {
    const owner = server.ownerOf(call)
    return owner !== undefined && own['roots'] !== undefined && this.#options.strays.wants(owner)
  }

  /** What an owner says of its roots. What is no list of roots is nothing. */
  learnRoots(owner: string | undefined, roots: unknown): void {
    if (owner === undefined || replyFaults(ROOTS, roots).length > 0) return
    this.#options.strays.learn(owner, roots as JsonObject)
  }
}

function merged(own: JsonObject, more: JsonObject): JsonObject {
  const all: JsonObject = { ...own }
  for (const [name, parts] of Object.entries(more))
    all[name] = { ...(own[name] as object), ...(parts as object) }
  return all
}
