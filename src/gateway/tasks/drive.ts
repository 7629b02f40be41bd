// Waits for the end of a task, asking its caller on the way what the task asks.
import { Cancellation, McpxError } from '../../base/index.ts'
import type { Clock } from '../../base/index.ts'
import { ERRORS } from '../../spec/index.ts'
import { readQuestions } from '../../wire/index.ts'
import type { Answer, Call } from '../../wire/index.ts'
import type { Questions } from '../questions/index.ts'
import type { Entry } from './book.ts'
import { pauseOf, related } from './shape.ts'
import type { TaskState } from './shape.ts'

export interface DriveOptions {
  readonly clock: Clock
  readonly questions: Questions
  readonly look: (entry: Entry, call: Call) => Promise<Answer>
  readonly listen: (entry: Entry, listener: () => void) => () => void
}

export interface Drive {
  /** The longest that it may take, in ms. */
  readonly longest: number
  /** Whether the task is of no use to anybody once this call is given up. */
  readonly owned: boolean
}

/**
 * Looks at a task until it is over, as often as its server wants it, and resolves with what the call came to. Rejects with
 * an McpxError when the call is given up or the task takes too long; a task that is owned is cancelled then.
 */
export async function drive(
  entry: Entry,
  { call, longest, owned }: Drive & { readonly call: Call },
  options: DriveOptions,
): Promise<Answer> {
  const { clock } = options
  const latest = clock.now() + longest
  const asked = new Set<string>()
  for (;;) {
    const answer = await options.look(entry, call)
    if ('error' in answer) return answer
    const state = answer.result
    const outcome = outcomeOf(state)
    if (outcome !== undefined) return outcome
    if (state['status'] === 'input_required' && (await ask(entry, state, { call, asked, options }))) continue
    const stopped =
      call.cancellation.reason ??
      (clock.now() >= latest ? `it took longer than ${longest / 1000} s` : undefined)
    if (stopped !== undefined) {
      if (owned) entry.task.cancel(entry.caller).catch(() => {})
      const code = call.cancellation.reason === undefined ? 'UPSTREAM_TIMEOUT' : 'CANCELLED'
      throw new McpxError(code, `The task of server "${entry.member.name}" was not waited for: ${stopped}`)
    }
    await rest(Math.min(pauseOf(state), Math.max(1, latest - clock.now())), entry, { call, options })
  }
}

/** What a call came to that was a task; undefined while it is one. */
export function outcomeOf(state: TaskState): Answer | undefined {
  const { status, result, error, statusMessage } = state
  switch (status) {
    case 'completed':
      return { result: { resultType: 'complete', ...(result as object) } }
    case 'failed':
      if (error !== undefined) return { error: error as { code: number; message: string } }
      return { error: { code: ERRORS.internal, message: textOf(statusMessage, 'The task failed') } }
    case 'cancelled':
      return { error: { code: ERRORS.internal, message: textOf(statusMessage, 'The task was cancelled') } }
    default:
      return undefined
  }
}

interface Asking {
  readonly call: Call
  readonly asked: Set<string>
  readonly options: DriveOptions
}

/** Asks the caller what it was not asked yet; false where there is nothing new. */
async function ask(entry: Entry, state: TaskState, { call, asked, options }: Asking): Promise<boolean> {
  const fresh = [...readQuestions(state['inputRequests'])].filter(([key]) => !asked.has(key))
  if (fresh.length === 0) return false
  for (const [key] of fresh) asked.add(key)
  const given = await Promise.all(
    fresh.map(async ([key, question]) => {
      const params = related(question.params ?? {}, entry.id)
      const server = entry.member.asking()
      const answer = await options.questions.put(server, call, { ...question, params })
      // The id that the caller knows is this hop's; an answer names the task by it.
      const bare = 'error' in answer ? answer : { result: related(answer.result, undefined) }
      return [key, bare] as const
    }),
  )
  await entry.task.answer(call.caller, new Map(given))
  return true
}

/** Waits, at most until something happens to the task or the call. */
function rest(
  ms: number,
  entry: Entry,
  { call, options }: { readonly call: Call; readonly options: DriveOptions },
): Promise<void> {
  const woken = new Cancellation()
  const stops = [
    call.cancellation.onCancel((reason) => woken.cancel(reason)),
    options.listen(entry, () => woken.cancel('it changed')),
  ]
  return new Promise((resolve) => {
    const timer = options.clock.after(ms, () => woken.cancel('it is time'))
    woken.onCancel(() => {
      timer.cancel()
      for (const stop of stops) stop()
      resolve()
    })
  })
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}
