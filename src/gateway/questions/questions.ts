// Carries what a server asks during a call to whoever can answer, whatever the revisions of the two are.
import { Cancellation, McpxError } from '../../base/index.ts'
import type { Clock, JsonObject } from '../../base/index.ts'
import type { Asker, Inquiry } from '../../pool/index.ts'
import { ERRORS, METHOD } from '../../spec/index.ts'
import type { RevisionId } from '../../spec/index.ts'
import {
  answerable,
  enveloped,
  lowerReply,
  raiseQuestion,
  readInputRequired,
  whyNot,
} from '../../wire/index.ts'
import type { Answer, Call, Question, RpcRequest } from '../../wire/index.ts'
import { replyFaults } from './check.ts'
import { HeldCall } from './held-call.ts'
import { INBOX_ANSWERS, unanswered } from './inbox.ts'
import type { Inbox } from './inbox.ts'
import type { Parking } from './parking.ts'
import type { AskingServer, Resume, Round, Sent } from './party.ts'
import { inputRequired, named, urlsRequired } from './rounds.ts'
import { invalid } from './states.ts'
import type { Bound, StateContent, States } from './states.ts'
import { refusal } from './strays.ts'
import type { Strays } from './strays.ts'

export interface QuestionsOptions {
  readonly clock: Clock
  readonly states: States
  readonly inbox: Inbox
  readonly parking: Parking
  readonly strays: Strays
  /** How long a question to a caller on the line waits, in ms. */
  readonly ttl: () => number
  readonly rounds: () => number
}

/** A call, and its params as the server knows them. */
interface Errand {
  readonly call: Call
  readonly params: JsonObject | undefined
}

/** A call under way. */
interface Course {
  readonly server: AskingServer
  readonly call: Call
  readonly bound: Bound
  readonly params: JsonObject | undefined
  /** What the caller itself can be asked. */
  readonly own: JsonObject
  readonly round: number
}

/** What a server's result asks for, and how the request is gone on with. */
interface Required {
  readonly questions: Round
  readonly goOn: (responses: JsonObject) => Resume | undefined
  readonly state: (kept: JsonObject, round: number) => StateContent
}

const ROOTS: Question = { method: METHOD.rootsList, params: undefined }
const ROOTS_KEY = 'roots-1'
/** The pause before a server that asked for nothing but a retry gets its first one, in ms; each further one is twice as long. */
const RETRY = 100
/** How long a server may take to end a call after a question on the line was not answered, in ms. */
const GRACE = 10_000

export class Questions {
  readonly #options: QuestionsOptions

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  /** Runs a call that may ask. Resolves with its answer, or with the round that its caller is asked. Rejects with an McpxError. */
  run(server: AskingServer, { call, params }: Errand): Promise<Answer> {
    return call.asked === 'by-result'
      ? this.#byResult(server, { call, params })
      : this.#byRequest(server, { call, params })
  }

  /** What the callers of a principal can be asked where `own` is what this one can. */
  answers(own: JsonObject, principal: string): JsonObject {
    return this.#options.inbox.takes(principal) ? merged(own, INBOX_ANSWERS) : own
  }

  async #byResult(server: AskingServer, { call, params: given }: Errand): Promise<Answer> {
    const { states, parking } = this.#options
    const { principal, capabilities, revision } = call.caller
    const { inputResponses, requestState, ...params } = given ?? {}
    const bound = { server: server.name, principal, request: states.digest(call.method, call.params) }
    if (requestState !== undefined && typeof requestState !== 'string') throw invalid('it is not a string')
    const responses = responsesIn(inputResponses)
    const state = requestState === undefined ? undefined : states.open(requestState, bound)
    if (state?.kind === 'parked') return parking.retry(state, call, responses)
    const own = answerable(capabilities, revision)
    const course = { server, call, bound, params, own, round: state?.round ?? 0 }
    if (state === undefined) {
      const owner = server.ownerOf(call)
      if (owner !== undefined && this.#options.strays.wants(owner) && own['roots'] !== undefined) {
        const content = { kind: 'again', round: 1 } as const
        return inputRequired(new Map([[ROOTS_KEY, ROOTS]]), states.seal(content, bound))
      }
      const early = responses && { responses, state: undefined }
      return this.#send(course, early)
    }
    if (state.kind === 'again') {
      this.#learnRoots(server.ownerOf(call), responses?.[ROOTS_KEY])
      return this.#send(course, undefined)
    }
    return this.#send(course, { responses: { ...state.kept, ...responses }, state: state.upstream })
  }

  async #send(course: Course, resume: Resume | undefined): Promise<Answer> {
    const { server, call, params, own, bound } = course
    const held = new HeldCall(resume?.responses)
    const detach = held.attach(call)
    try {
      held.begin(
        server.send(call, {
          ...{ params, resume, cancellation: held.cancellation },
          answers: this.answers(own, bound.principal),
          asker: this.#asker(course, held),
          notify: (method, said) => held.notify(method, said),
        }),
      )
      const turn = await held.next()
      if (turn.kind === 'sent') return await this.#finish(turn.sent, course)
      const finish = (sent: Sent, latest: Call): Promise<Answer> =>
        this.#finish(sent, { ...course, call: latest, round: held.rounds })
      return this.#options.parking.park(held, turn.round, { bound, finish })
    } finally {
      detach()
    }
  }

  #asker(course: Course, held: HeldCall): Asker {
    return {
      principal: course.bound.principal,
      subject: subjectOf(course.call.method, course.params),
      parked: () => held.parked(),
      ask: (inquiry) => this.#answer(inquiry, course, (question) => held.put(question, inquiry.cancellation)),
    }
  }

  /** What becomes of a server's answer: the caller's, unless more is needed first. */
  async #finish(sent: Sent, course: Course): Promise<Answer> {
    const required = requiredBy(sent)
    if (required === undefined) return sent.answer
    const { server, own, bound } = course
    const round = course.round + 1
    if (round > this.#options.rounds()) throw exhausted(server)
    const asked = new Map(
      [...required.questions].filter(([, question]) => whyNot(question, own) === undefined),
    )
    const others = [...required.questions].filter(([key]) => !asked.has(key))
    if ('error' in sent.answer && others.some(([, question]) => !this.#inboxTakes(question, bound.principal)))
      return sent.answer
    const kept = await this.#elsewhere(others, course)
    if (asked.size === 0 && others.length > 0) {
      return this.#send({ ...course, round }, required.goOn(kept))
    }
    const questions = new Map([...asked].map(([key, question]) => [key, named(question, server)]))
    return inputRequired(questions, this.#options.states.seal(required.state(kept, round), bound))
  }

  /** Answers of those who are not the caller, by key. An answer has no error, so a question that none is found for is left out. */
  async #elsewhere(
    questions: readonly (readonly [string, Question])[],
    { server, call }: Course,
  ): Promise<JsonObject> {
    const given: JsonObject = {}
    await Promise.all(
      questions.map(async ([key, question]) => {
        const answer = await this.#withoutCaller(question, { server, call, cancellation: call.cancellation })
        if ('result' in answer) given[key] = answer.result
        else if (question.method === METHOD.elicit) given[key] = { action: 'cancel' }
      }),
    )
    return given
  }

  async #byRequest(server: AskingServer, { call, params }: Errand): Promise<Answer> {
    const { caller } = call
    const own = call.ask === undefined ? {} : answerable(caller.capabilities, caller.revision)
    // A question that nobody answers ends the call some time after it.
    const cancellation = new Cancellation()
    const forget = call.cancellation.onCancel((reason) => cancellation.cancel(reason))
    const bound = { server: server.name, principal: caller.principal, request: '' }
    const course: Course = { server, call, bound, params, own, round: 0 }
    const put = (question: Question, given: Cancellation): Promise<Answer> =>
      this.#onTheLine(question, { call, given, late: cancellation })
    const asker: Asker = {
      principal: caller.principal,
      subject: subjectOf(call.method, params),
      parked() {},
      ask: (inquiry) => this.#answer(inquiry, course, (question) => put(question, inquiry.cancellation)),
    }
    const answers = this.answers(own, caller.principal)
    const notify = (method: string, said: JsonObject): void => call.notify(method, said)
    const interrupted = (): void => call.interrupted?.()
    let resume: Resume | undefined
    try {
      await this.#rootsFirst(course, (question) => put(question, cancellation))
      for (let round = 0; ; round++) {
        const sent = await server.send(call, { params, cancellation, answers, asker, resume, notify, interrupted })
        const required = requiredBy(sent)
        if (required === undefined) return sent.answer
        const questions = [...required.questions]
        if ('error' in sent.answer && !this.#mends(questions, course)) return sent.answer
        if (round >= this.#options.rounds()) throw exhausted(server)
        if (questions.length === 0) await this.#pause(RETRY * 2 ** round, cancellation)
        resume = required.goOn(
          await this.#collect(questions, course, (question) => put(question, cancellation)),
        )
      }
    } finally {
      forget()
    }
  }

  /** The answers of a round on the line. Rejects where one of them is an error, which no answer could say. */
  async #collect(
    questions: readonly (readonly [string, Question])[],
    course: Course,
    put: (question: Question) => Promise<Answer>,
  ): Promise<JsonObject> {
    const { server, call, own } = course
    const answers = await Promise.all(
      questions.map(async ([key, question]) => {
        const answer =
          whyNot(question, own) === undefined
            ? await put(named(question, server))
            : await this.#withoutCaller(question, { server, call, cancellation: call.cancellation })
        if ('result' in answer) return [key, answer.result] as const
        if (question.method === METHOD.elicit) return [key, { action: 'cancel' }] as const
        const text = `Server "${server.name}" asked ${question.method}, and the answer was an error: ${answer.error.message}`
        throw new McpxError('QUESTION_UNANSWERED', text, { data: { error: answer.error } })
      }),
    )
    return Object.fromEntries(answers)
  }

  /** Answers a legacy server's question, in its revision. */
  async #answer(
    { request, revision, cancellation }: Inquiry,
    { server, call, own }: Course,
    put: (question: Question) => Promise<Answer>,
  ): Promise<Answer> {
    const question = questionOf(request, revision)
    const answer =
      whyNot(question, own) === undefined && !answersItself(server, question)
        ? await put(named(question, server))
        : await this.#withoutCaller(question, { server, call, cancellation })
    return spelled(answer, question, revision)
  }

  /** The server's own roots, or the inbox, or a refusal at once. */
  async #withoutCaller(
    question: Question,
    to: { readonly server: AskingServer; readonly call: Call; readonly cancellation: Cancellation },
  ): Promise<Answer> {
    const { server, call, cancellation } = to
    if (answersItself(server, question)) return { result: { roots: server.roots } }
    const { principal } = call.caller
    if (!this.#inboxTakes(question, principal))
      return refusal(question, 'neither the caller nor the inbox answers it')
    return this.#options.inbox.put({ server: server.name, principal, question }, cancellation)
  }

  /** Puts a question to a caller that is connected, for as long as questions wait. */
  async #onTheLine(
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
  #mends(questions: readonly (readonly [string, Question])[], { own, bound }: Course): boolean {
    return questions.every(
      ([, question]) => whyNot(question, own) !== undefined && this.#inboxTakes(question, bound.principal),
    )
  }

  #inboxTakes(question: Question, principal: string): boolean {
    return this.#options.inbox.takes(principal) && whyNot(question, INBOX_ANSWERS) === undefined
  }

  /** A server that waits for its owner's roots gets them before the next call: they may be its permissions. */
  async #rootsFirst(
    { server, call, own }: Course,
    put: (question: Question) => Promise<Answer>,
  ): Promise<void> {
    const owner = server.ownerOf(call)
    if (owner === undefined || own['roots'] === undefined || !this.#options.strays.wants(owner)) return
    const answer = await put(ROOTS)
    if ('result' in answer) this.#learnRoots(owner, answer.result)
  }

  #learnRoots(owner: string | undefined, roots: unknown): void {
    if (owner === undefined || replyFaults(ROOTS, roots).length > 0) return
    this.#options.strays.learn(owner, roots as JsonObject)
  }

  #pause(ms: number, cancellation: Cancellation): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(ms, resolve)
      cancellation.onCancel(() => {
        timer.cancel()
        resolve()
      })
    })
  }
}

/** What is called, as it is remembered and configured. */
export function subjectOf(method: string, params: JsonObject | undefined): string {
  return `${method} ${String(params?.['name'] ?? params?.['uri'] ?? '')}`
}

function requiredBy({ answer }: Sent): Required | undefined {
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

function answersItself(server: AskingServer, question: Question): boolean {
  return server.roots !== undefined && question.method === METHOD.rootsList
}

function spelled(answer: Answer, question: Question, revision: RevisionId): Answer {
  if ('error' in answer) return answer
  const result = lowerReply(question.method, answer.result, revision)
  return result === undefined ? refusal(question, `revision ${revision} cannot say the answer`) : { result }
}

function exhausted(server: AskingServer): McpxError {
  return new McpxError(
    'QUESTIONS_EXHAUSTED',
    `Server "${server.name}" asked for more and more input and never answered. Raise "questions.rounds" if it needs so many rounds.`,
  )
}

function responsesIn(value: unknown): JsonObject | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw new McpxError('ANSWER_INVALID', 'params.inputResponses must be an object of answers by key')
}

function merged(own: JsonObject, more: JsonObject): JsonObject {
  const all: JsonObject = { ...own }
  for (const [name, parts] of Object.entries(more))
    all[name] = { ...(own[name] as object), ...(parts as object) }
  return all
}
