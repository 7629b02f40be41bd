// Callers that listen to tasks: a server that tells of them is heard, and any other is looked at as often as it wants to be.
import type { Clock, JsonObject } from '../../base/index.ts'
import { METHOD } from '../../spec/index.ts'
import type { Caller } from '../../wire/index.ts'
import type { Entry } from './book.ts'
import type { TaskServer } from './party.ts'
import { isTerminal, lowerTask, pauseOf } from './shape.ts'
import type { Tasks } from './tasks.ts'

/** Tells of each new state of a task, in the extension's shape, until it is over or the returned function is called. */
export function follow(
  tasks: Tasks,
  entry: Entry,
  to: { readonly caller: Caller; readonly clock: Clock; readonly tell: (state: JsonObject) => void },
): () => void {
  const stop = tasks.book.listen(entry.id, (seen) => {
    const { resultType: _, ...state } = seen
    to.tell(state)
  })
  let over = false
  let timer: { cancel(): void } | undefined
  const look = async (): Promise<void> => {
    try {
      await tasks.look(entry, to.caller)
    } catch {
      // A server that cannot be reached now may be later; who listens learns of it then.
    }
    if (over || isTerminal(entry.state)) return
    timer = to.clock.after(pauseOf(entry.state), () => void look())
  }
  void look()
  return () => {
    over = true
    timer?.cancel()
    stop()
  }
}

/** Tells a session of 2025-11-25 of its own tasks, until the returned function is called. */
export function watchTasks(
  tasks: Tasks,
  { members, caller }: { readonly members: readonly TaskServer[]; readonly caller: Caller },
  notify: (method: string, params: JsonObject) => void,
): () => void {
  return tasks.book.watch(({ member, caller: maker, hidden, state }) => {
    const own = !hidden && maker.principal === caller.principal && maker.session === caller.session
    if (!own || maker.session === undefined || !members.includes(member)) return
    const { _meta: _, ...task } = lowerTask(state)
    notify(METHOD.taskStatus, task)
  })
}
