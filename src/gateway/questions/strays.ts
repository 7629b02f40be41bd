// What a server asks outside of any call, or during calls of several principals: never a guess between users.
import { Cancellation, clip, keepLatest } from '../../base/index.ts'
import type { Clock, JsonObject, Timer } from '../../base/index.ts'
import type { Need, StrayInquiry } from '../../pool/index.ts'
import { ERRORS, METHOD } from '../../spec/index.ts'
import { raiseQuestion, whyNot } from '../../wire/index.ts'
import type { Answer, Ask, Question } from '../../wire/index.ts'
import { INBOX_ANSWERS } from './inbox.ts'
import type { Inbox } from './inbox.ts'
import type { AskingServer } from './party.ts'

export interface StraysOptions {
  readonly clock: Clock
  readonly inbox: Inbox
  /** The principal of whoever runs mcpx: what belongs to nobody else goes to that inbox. */
  readonly operator: string
}

interface Known {
  /** What the owner said last. */
  roots: JsonObject | undefined
  /** Servers that were told nothing in time. */
  readonly missed: Set<AskingServer>
  readonly waiting: Set<(roots: JsonObject) => void>
}

/** How long a question about roots waits for a call of the owner who can be asked, in ms. */
const PATIENCE = 30_000
/** Owners whose roots are known; the oldest go first. */
const MAX_OWNERS = 1000

/** Roots by owner: whoever an instance belongs to. */
export class Strays {
  readonly #options: StraysOptions
  readonly #owners = new Map<string, Known>()

  constructor(options: StraysOptions) {
    this.#options = options
  }

  /** Answers a question in the newest shape. Never rejects. */
  answer(inquiry: StrayInquiry, server: AskingServer, owner: Need): Promise<Answer> {
    const { method, params } = inquiry.request
    const question = raiseQuestion({ method, params }, inquiry.revision)
    if (question.method === METHOD.rootsList) return this.#roots(server, owner, inquiry.cancellation)
    const { inbox, operator } = this.#options
    const [only, ...others] = inquiry.among
    const principal = others.length > 0 || only === undefined ? operator : only
    if (!inbox.takes(principal) || whyNot(question, INBOX_ANSWERS) !== undefined) {
      return Promise.resolve(
        refusal(question, 'it cannot be told which call asks, and nobody watches the inbox'),
      )
    }
    return inbox.put({ server: server.name, principal, question }, inquiry.cancellation)
  }

  /** The owner's roots are these now. */
  learn(owner: string, roots: JsonObject): void {
    const known = this.#known(owner)
    known.roots = roots
    for (const take of known.waiting) take(roots)
    known.waiting.clear()
    for (const server of known.missed) server.rootsChanged(owner)
    known.missed.clear()
  }

  /** The owner's roots have changed: it is asked for them, if it can be, and the server is told. */
  async renew(owner: string, ask: Ask | undefined, server: AskingServer): Promise<void> {
    const known = this.#owners.get(owner)
    if (known !== undefined) known.roots = undefined
    const answer = await ask?.({ method: METHOD.rootsList, params: undefined }, new Cancellation())
    if (answer !== undefined && 'result' in answer) this.learn(owner, answer.result)
    server.rootsChanged(owner)
  }

  /** Whether a server waits for the owner's roots. */
  wants(owner: string): boolean {
    const known = this.#owners.get(owner)
    return known !== undefined && known.waiting.size + known.missed.size > 0
  }

  #roots(server: AskingServer, owner: Need, cancellation: Cancellation): Promise<Answer> {
    if (server.roots !== undefined) return Promise.resolve({ result: { roots: server.roots } })
    const known = this.#known(owner.owner)
    if (known.roots !== undefined) return Promise.resolve({ result: known.roots })
    return new Promise((resolve) => {
      let timer: Timer | undefined
      let forget: (() => void) | undefined
      const settle = (answer: Answer): void => {
        timer?.cancel()
        forget?.()
        known.waiting.delete(take)
        resolve(answer)
      }
      const take = (roots: JsonObject): void => settle({ result: roots })
      const question = { method: METHOD.rootsList, params: undefined }
      known.waiting.add(take)
      timer = this.#options.clock.after(PATIENCE, () => {
        known.missed.add(server)
        settle(refusal(question, 'its owner did not say'))
      })
      forget = cancellation.onCancel((reason) => settle(refusal(question, reason)))
    })
  }

  #known(owner: string): Known {
    const known = this.#owners.get(owner) ?? {
      ...{ roots: undefined, missed: new Set(), waiting: new Set() },
    }
    keepLatest(this.#owners, [owner, known], MAX_OWNERS)
    return known
  }
}

export function refusal(question: Question, why: string): Answer {
  const message = `Nobody can be asked ${clip(question.method)}: ${clip(why, 200)}`
  return { error: { code: ERRORS.methodNotFound, message } }
}
