// Calls of those who are asked by requests: each question goes to the caller as it comes, over the connection that it has open.
import { Cancellation, McpxError } from '../../base/index.ts'
import type { Clock, JsonObject } from '../../base/index.ts'
import type { Asker, Resume } from '../../pool/index.ts'
import { answerable, whyNot } from '../../wire/index.ts'
import type { Answer, Question } from '../../wire/index.ts'
import { requiredBy, subjectOf } from './course.ts'
import type { Course, Errand } from './course.ts'
import { ROOTS } from './desk.ts'
import type { Desk } from './desk.ts'
import { resultFor } from './inbox.ts'
import type { AskingServer } from './party.ts'
import { exhausted, named } from './rounds.ts'

export interface OnTheLineOptions {
  readonly clock: Clock
  readonly desk: Desk
  readonly rounds: () => number
}

/** The pause before a server that asked for nothing but a retry gets its first one, in ms; each further one is twice as long. */
const RETRY = 100

export class OnTheLine {
  readonly #options: OnTheLineOptions

  constructor(options: OnTheLineOptions) {
    this.#options = options
  }

  /** Runs a call that may ask, to its answer. Rejects with an McpxError. */
  async run(server: AskingServer, { call, params }: Errand): Promise<Answer> {
    const { caller } = call
    const { desk } = this.#options
    const own = call.ask === undefined ? {} : answerable(caller.capabilities, caller.revision)
    // A question that nobody answers ends the call some time after it.
    const cancellation = new Cancellation()
    const forget = call.cancellation.onCancel((reason) => cancellation.cancel(reason))
    const course: Course = { server, call, params, own, round: 0 }
    const put = (question: Question, given: Cancellation): Promise<Answer> =>
      desk.onTheLine(question, { call, given, late: cancellation })
    const asker: Asker = {
      principal: caller.principal,
      subject: subjectOf(call.method, params),
      parked() {},
      ask: (inquiry) => desk.answer(inquiry, course, (question) => put(question, inquiry.cancellation)),
    }
    const answers = desk.answers(own, caller.principal)
    const notify = (method: string, said: JsonObject): void => call.notify(method, said)
    const interrupted = (): void => call.interrupted?.()
    let resume: Resume | undefined
    try {
      if (desk.wantsRoots(course)) {
        const answer = await put(ROOTS, cancellation)
        if ('result' in answer) desk.learnRoots(server.ownerOf(call), answer.result)
      }
      for (let round = 0; ; round++) {
        const sent = await server.send(call, {
          params,
          cancellation,
          answers,
          asker,
          resume,
          notify,
          interrupted,
        })
        const required = requiredBy(sent)
        if (required === undefined) return sent.answer
        const questions = [...required.questions]
        if ('error' in sent.answer && !desk.mends(questions, course)) return sent.answer
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
    const { cancellation } = call
    const answers = await Promise.all(
      questions.map(async ([key, question]) => {
        const answer =
          whyNot(question, own) === undefined
            ? await put(named(question, server))
            : await this.#options.desk.withoutCaller(question, { server, call, cancellation })
        const settled = resultFor(question, answer)
        if ('result' in settled) return [key, settled.result] as const
        const text = `Server "${server.name}" asked ${question.method}, and the answer was an error: ${settled.error.message}`
        throw new McpxError('QUESTION_UNANSWERED', text, { data: { error: settled.error } })
      }),
    )
    return Object.fromEntries(answers)
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
