// Callers of a server that somebody has to log in to first: each is told where, in the best way that it can be told.
import { isObject, McpxError } from '../base/index.ts'
import type { Cancellation, JsonObject } from '../base/index.ts'
import { ERRORS, hasFeature, METHOD, methodIn, newest } from '../spec/index.ts'
import { answerable } from '../wire/index.ts'
import type { Answer, Call } from '../wire/index.ts'
import type { Questions } from './questions/index.ts'

/** Who knows of the logins that are under way. */
export interface LoginWatch {
  /** Resolves when no login of that server and principal is under way any more, at the latest after `ms`. Never rejects. */
  over(
    target: { readonly name: string; readonly principal: string },
    wait: { readonly ms: number; readonly cancellation: Cancellation },
  ): Promise<void>
}

export interface LoginDeskOptions {
  readonly questions: Questions
  readonly watch: LoginWatch | undefined
}

interface Needed {
  readonly server: string
  readonly principal: string
  /** Begins the login, or gives the one that is under way. Rejects with the McpxError that says why there can be none. */
  readonly begin: () => Promise<{ readonly url: string; readonly id: string }>
}

interface Refused {
  readonly error: McpxError
  readonly needed: Needed
}

const KEY = 'login'
/** How long a call waits for a login that its caller said it has begun, in ms: less than hosts wait for an answer. */
const WAIT = 45_000

export class LoginDesk {
  readonly #options: LoginDeskOptions

  constructor(options: LoginDeskOptions) {
    this.#options = options
  }

  /** Runs a call; where it needs a login, its caller is told. A caller that says it has begun the login is waited with for its end. */
  async run(call: Call, run: () => Promise<Answer>): Promise<Answer> {
    const first = await attempt(run)
    if ('answer' in first) return first.answer
    const { watch } = this.#options
    if (replyIn(call) !== 'accept' || watch === undefined) return this.#told(first, call)
    const { server: name, principal } = first.needed
    await watch.over({ name, principal }, { ms: WAIT, cancellation: call.cancellation })
    const second = await attempt(run)
    return 'answer' in second ? second.answer : this.#told(second, call)
  }

  async #told({ error, needed }: Refused, call: Call): Promise<Answer> {
    const { server } = needed
    const { url, id } = await needed.begin()
    const { revision, capabilities } = call.caller
    const { elicitation } = answerable(capabilities, revision)
    const mayAsk = methodIn(newest(), call.method)?.mayAsk === true
    const declined = replyIn(call) !== undefined && replyIn(call) !== 'accept'
    if (mayAsk && !declined && isObject(elicitation) && elicitation['url'] !== undefined) {
      const message = `Server "${server}" needs a login. Open the address, log in, and the call goes on.`
      const params = { mode: 'url', elicitationId: id, url, message }
      const answer = this.#asked(server, call, params)
      if (answer !== undefined) return answer
    }
    throw new McpxError(error.code, `${error.message} To log in, open ${url}`, {
      data: error.data,
      cause: error,
    })
  }

  #asked(server: string, call: Call, params: JsonObject): Answer | undefined {
    if (call.asked === 'by-result')
      return this.#options.questions.askFirst(server, call, [KEY, { method: METHOD.elicit, params }])
    if (!hasFeature(call.caller.revision, 'urlElicitation')) return undefined
    const message = String(params['message'])
    return { error: { code: ERRORS.urlElicitationRequired, message, data: { elicitations: [params] } } }
  }
}

/** Rejects with every other failure than one that a login would mend. */
async function attempt(run: () => Promise<Answer>): Promise<{ readonly answer: Answer } | Refused> {
  try {
    return { answer: await run() }
  } catch (error) {
    const needed = error instanceof McpxError ? neededBy(error) : undefined
    if (needed === undefined) throw error
    return { error: error as McpxError, needed }
  }
}

function neededBy({ code, data: { login } }: McpxError): Needed | undefined {
  if (code !== 'AUTH_REQUIRED' || !isObject(login)) return undefined
  return typeof login['begin'] === 'function' ? (login as unknown as Needed) : undefined
}

/** What the caller said when it was asked to open the address: `accept`, `decline`, `cancel`, or nothing. */
function replyIn({ params }: Call): string | undefined {
  const responses = params?.['inputResponses']
  const reply = isObject(responses) ? responses[KEY] : undefined
  if (!isObject(reply)) return undefined
  return typeof reply['action'] === 'string' ? reply['action'] : 'cancel'
}
