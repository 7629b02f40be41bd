// Carries what a server asks during a call to whoever can answer, whatever the revisions of the two are.
import { Cancellation, isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { Asker, Resume } from '../../pool/index.ts'
import { answerable, whyNot } from '../../wire/index.ts'
import type { Answer, Call, Question } from '../../wire/index.ts'
import { requiredBy, subjectOf } from './course.ts'
import type { Course, Errand } from './course.ts'
import { Desk, ROOTS } from './desk.ts'
import type { DeskOptions } from './desk.ts'
import { HeldCall } from './held-call.ts'
import { resultFor } from './inbox.ts'
import { OnTheLine } from './on-the-line.ts'
import type { Parking } from './parking.ts'
import type { AskingServer, Sent } from './party.ts'
import { exhausted, inputRequired, named } from './rounds.ts'
import { invalid } from './states.ts'
import type { Bound, States } from './states.ts'

export interface QuestionsOptions extends DeskOptions {
  readonly states: States
  readonly parking: Parking
  readonly rounds: () => number
}

/** A call whose caller carries a state from one round to the next. */
interface StatefulCourse extends Course {
  readonly bound: Bound
}

const ROOTS_KEY = 'roots-1'

export class Questions {
  readonly #options: QuestionsOptions
  readonly #desk: Desk
  readonly #onTheLine: OnTheLine

  constructor(options: QuestionsOptions) {
    this.#options = options
    this.#desk = new Desk(options)
    this.#onTheLine = new OnTheLine({ ...options, desk: this.#desk })
  }

  /** Runs a call that may ask. Resolves with its answer, or with the round that its caller is asked. Rejects with an McpxError. */
  run(server: AskingServer, errand: Errand): Promise<Answer> {
    return errand.call.asked === 'by-result'
      ? this.#byResult(server, errand)
      : this.#onTheLine.run(server, errand)
  }

  /** What the callers of a principal can be asked where `own` is what this one can. */
  answers(own: JsonObject, principal: string): JsonObject {
    return this.#desk.answers(own, principal)
  }

  /** Puts a question to the caller of a call that it is no part of, or to whoever answers in its place. Never rejects. */
  put(server: AskingServer, call: Call, question: Question): Promise<Answer> {
    const { capabilities, revision } = call.caller
    const { cancellation } = call
    const own = call.ask === undefined ? {} : answerable(capabilities, revision)
    return whyNot(question, own) === undefined
      ? this.#desk.onTheLine(named(question, server), { call, given: cancellation, late: new Cancellation() })
      : this.#desk.withoutCaller(question, { server, call, cancellation })
  }

  /**
   * Asks the caller of a call something before the call is made, anew and without the answer. Undefined where it has been asked often
   * enough, or has answers with it that would be lost.
   */
  askFirst(server: string, call: Call, [key, question]: readonly [string, Question]): Answer | undefined {
    const { states } = this.#options
    const bound = states.bindingOf(server, call)
    const carried = call.params?.['requestState']
    const state = typeof carried === 'string' ? states.open(carried, bound) : undefined
    const round = (state?.round ?? 0) + 1
    if ((state !== undefined && state.kind !== 'again') || round > this.#options.rounds()) return undefined
    return inputRequired(new Map([[key, question]]), states.seal({ kind: 'again', round }, bound))
  }

  async #byResult(server: AskingServer, { call, params: given }: Errand): Promise<Answer> {
    const { states, parking } = this.#options
    const { capabilities, revision } = call.caller
    const { inputResponses, requestState, ...params } = given ?? {}
    const bound = states.bindingOf(server.name, call)
    if (requestState !== undefined && typeof requestState !== 'string') throw invalid('it is not a string')
    const responses = responsesIn(inputResponses)
    const state = requestState === undefined ? undefined : states.open(requestState, bound)
    if (state?.kind === 'parked') return parking.retry(state, call, responses)
    const own = answerable(capabilities, revision)
    const course = { server, call, bound, params, own, round: state?.round ?? 0 }
    if (state === undefined) {
      if (this.#desk.wantsRoots(course)) {
        const content = { kind: 'again', round: 1 } as const
        return inputRequired(new Map([[ROOTS_KEY, ROOTS]]), states.seal(content, bound))
      }
      const early = responses && { responses, state: undefined }
      return this.#send(course, early)
    }
    if (state.kind === 'again') {
      this.#desk.learnRoots(server.ownerOf(call), responses?.[ROOTS_KEY])
      return this.#send(course, undefined)
    }
    return this.#send(course, { responses: { ...state.kept, ...responses }, state: state.upstream })
  }

  async #send(course: StatefulCourse, resume: Resume | undefined): Promise<Answer> {
    const { server, call, params, own, bound } = course
    const held = new HeldCall(resume?.responses)
    const detach = held.attach(call)
    try {
      held.begin(
        server.send(call, {
          ...{ params, resume, cancellation: held.cancellation },
          answers: this.#desk.answers(own, bound.principal),
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

  #asker(course: StatefulCourse, held: HeldCall): Asker {
    return {
      principal: course.bound.principal,
      subject: subjectOf(course.call.method, course.params),
      parked: () => held.parked(),
      ask: (inquiry) =>
        this.#desk.answer(inquiry, course, (question) => held.put(question, inquiry.cancellation)),
    }
  }

  /** What becomes of a server's answer: the caller's, unless more is needed first. */
  async #finish(sent: Sent, course: StatefulCourse): Promise<Answer> {
    const required = requiredBy(sent)
    if (required === undefined) return sent.answer
    const { server, own, bound } = course
    const round = course.round + 1
    if (round > this.#options.rounds()) throw exhausted(server)
    const asked = new Map(
      [...required.questions].filter(([, question]) => whyNot(question, own) === undefined),
    )
    const others = [...required.questions].filter(([key]) => !asked.has(key))
    if (
      'error' in sent.answer &&
      others.some(([, question]) => !this.#desk.inboxTakes(question, bound.principal))
    )
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
        const { cancellation } = call
        const answer = await this.#desk.withoutCaller(question, { server, call, cancellation })
        const settled = resultFor(question, answer)
        if ('result' in settled) given[key] = settled.result
      }),
    )
    return given
  }
}

function responsesIn(value: unknown): JsonObject | undefined {
  if (value === undefined) return undefined
  if (isObject(value)) return value
  throw new McpxError('ANSWER_INVALID', 'params.inputResponses must be an object of answers by key')
}
