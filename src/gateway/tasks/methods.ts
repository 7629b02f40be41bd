// `tasks/*`, as callers of either form send them.
import { clip, isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { ERRORS, eraOf, METHOD } from '../../spec/index.ts'
import type { Answer, Call } from '../../wire/index.ts'
import { pageOf } from '../pages.ts'
import type { Entry } from './book.ts'
import { MAX_TTL } from './book.ts'
import { outcomeOf } from './drive.ts'
import type { TaskServer } from './party.ts'
import { formOfCaller, isTerminal, lowerTask, missingTasks, notFound, related } from './shape.ts'
import type { TaskForm } from './shape.ts'
import { ACKNOWLEDGED } from './task.ts'
import type { Tasks } from './tasks.ts'

type Handler = (tasks: Tasks, call: Call, entry: Entry) => Promise<Answer>

/** What each form has. A task that 2025-11-25 lists is found by no id. */
const HANDLERS: Readonly<Record<Exclude<TaskForm, 'none'>, Partial<Record<string, Handler>>>> = {
  extension: {
    [METHOD.tasksGet]: (tasks, { caller }, entry) => tasks.look(entry, caller),
    [METHOD.tasksUpdate]: update,
    [METHOD.tasksCancel]: async (_, { caller }, entry) => emptied(await entry.task.cancel(caller)),
  },
  core: {
    [METHOD.tasksGet]: async (tasks, { caller }, entry) => lowered(await tasks.look(entry, caller)),
    [METHOD.tasksResult]: result,
    [METHOD.tasksCancel]: cancel,
  },
}

/** Answers a request about tasks of these servers. Rejects with an McpxError. */
export async function aboutTasks(tasks: Tasks, members: readonly TaskServer[], call: Call): Promise<Answer> {
  const { method, caller, params } = call
  const form = formOfCaller(caller)
  if (form === 'core' && method === METHOD.tasksList) return list(tasks, members, call)
  const handler = HANDLERS[form === 'core' ? 'core' : 'extension'][method]
  if (handler === undefined || (form === 'none' && eraOf(caller.revision) === 'legacy'))
    return { error: { code: ERRORS.methodNotFound, message: `Method not found: ${clip(method)}` } }
  if (form === 'none') return missingTasks()
  const entry = tasks.find(params?.['taskId'], caller, members)
  return entry === undefined ? notFound() : handler(tasks, call, entry)
}

async function update(_: Tasks, { caller, params }: Call, entry: Entry): Promise<Answer> {
  const responses = params?.['inputResponses']
  if (!isObject(responses)) {
    const message = 'params.inputResponses must be an object of answers by key'
    return { error: { code: ERRORS.invalidParams, message } }
  }
  const given = Object.entries(responses).filter((pair): pair is [string, JsonObject] => isObject(pair[1]))
  return emptied(
    await entry.task.answer(caller, new Map(given.map(([key, answer]) => [key, { result: answer }]))),
  )
}

/** Waits for the outcome, and asks the caller meanwhile what the task asks. */
async function result(tasks: Tasks, call: Call, entry: Entry): Promise<Answer> {
  const outcome = await tasks.drive(entry, call, { longest: MAX_TTL, owned: false })
  return 'error' in outcome ? outcome : { result: related(outcome.result, entry.id) }
}

async function cancel(tasks: Tasks, call: Call, entry: Entry): Promise<Answer> {
  const { caller } = call
  const before = await tasks.look(entry, caller)
  if ('error' in before) return before
  if (isTerminal(before.result)) {
    const message = `Cannot cancel task: already in terminal status '${String(before.result['status'])}'`
    return { error: { code: ERRORS.invalidParams, message } }
  }
  const answer = await entry.task.cancel(caller)
  if ('error' in answer) return answer
  // Whoever serves the extension may end the task later; here it counts as cancelled at once, and stays so.
  const after = await tasks.look(entry, caller)
  if ('error' in after) return after
  const state =
    outcomeOf(after.result) === undefined ? { ...after.result, status: 'cancelled' } : after.result
  tasks.book.see(entry, state)
  return lowered({ result: state })
}

async function list(tasks: Tasks, members: readonly TaskServer[], call: Call): Promise<Answer> {
  const own = tasks.book
    .of(call.caller.principal)
    .filter(({ member, hidden }) => !hidden && members.includes(member))
  // The order is that of the making; states may change from page to page, so the cursor is over the ids.
  const page = pageOf(
    own.map(({ id }) => ({ id })),
    call.params?.['cursor'],
  )
  const states = await Promise.all(
    page.items.map(async ({ id }) => {
      const entry = tasks.find(id, call.caller, members)
      if (entry === undefined) return []
      const answer = await tasks.look(entry, call.caller).catch(() => ({ result: entry.state }))
      return 'result' in answer ? [bare(lowerTask(answer.result))] : []
    }),
  )
  const { nextCursor } = page
  return { result: { tasks: states.flat(), ...(nextCursor !== undefined && { nextCursor }) } }
}

function lowered(answer: Answer): Answer {
  return 'error' in answer ? answer : { result: lowerTask(answer.result) }
}

/** An acknowledgement says nothing of the task. */
function emptied(answer: Answer): Answer {
  return 'error' in answer ? answer : ACKNOWLEDGED
}

function bare(told: JsonObject): JsonObject {
  const { _meta: _, ...task } = told
  return task
}
