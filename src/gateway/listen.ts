// `subscriptions/listen`: a caller hears what it asked for and what can really come.
import { isObject } from '../base/index.ts'
import type { Clock, JsonObject } from '../base/index.ts'
import { METHOD } from '../spec/index.ts'
import type { Answer, Call } from '../wire/index.ts'
import { CHANGED_LISTS, SUBSCRIBABLE } from './changes.ts'
import type { Member } from './member.ts'
import { follow, formOfCaller, missingTasks } from './tasks/index.ts'
import type { Tasks } from './tasks/index.ts'

/** What can be listened to, for one caller. */
export interface Listenable {
  readonly members: readonly Member[]
  readonly tasks: Tasks
  readonly clock: Clock
  /** Resolves when it is known what the members tell of, or they have had their time. */
  settled(): Promise<void>
  /** Listens to a resource until the returned function is called. Rejects with an McpxError. */
  subscribe(uri: string, listener: (params: JsonObject) => void): Promise<() => void>
}

/**
 * Acknowledges the part of the filter that some server tells of, then tells of each change until the caller or mcpx ends the
 * subscription. Resolves with the result that ends it gracefully.
 */
export async function listen(to: Listenable, call: Call): Promise<Answer> {
  const asked = isObject(call.params?.['notifications']) ? call.params['notifications'] : {}
  if (asked['taskIds'] !== undefined && formOfCaller(call.caller) !== 'extension') return missingTasks()
  await to.settled()
  const stops: (() => void)[] = []
  const waiting: (() => void)[] = []
  let acknowledged = false
  // Nothing may come before the acknowledgement, and nothing that happens meanwhile may be lost.
  const tell = (method: string, params: JsonObject): void => {
    if (acknowledged) call.notify(method, params)
    else waiting.push(() => call.notify(method, params))
  }
  const kinds = CHANGED_LISTS.filter(
    (kind) =>
      asked[SUBSCRIBABLE[kind].filter] === true && to.members.some((member) => member.announces(kind)),
  )
  for (const member of to.members) {
    stops.push(
      member.changes.on((kind) => {
        if (kinds.includes(kind)) tell(SUBSCRIBABLE[kind].method, {})
      }),
    )
  }
  const uris = await subscribed(asked['resourceSubscriptions'], stops, (uri) =>
    to.subscribe(uri, (params) => tell(METHOD.resourceUpdated, params)),
  )
  const taskIds = followed(asked['taskIds'], stops, { to, call, tell })
  const notifications = {
    ...Object.fromEntries(kinds.map((kind) => [SUBSCRIBABLE[kind].filter, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
    ...(taskIds.length > 0 && { taskIds }),
  }
  call.notify(METHOD.acknowledged, { notifications })
  acknowledged = true
  for (const send of waiting) send()
  return new Promise((resolve) => {
    call.cancellation.onCancel(() => {
      for (const stop of stops) stop()
      resolve({ result: { resultType: 'complete' } })
    })
  })
}

/** Resources that one subscription may name. */
const MAX_URIS = 1000

/** Subscribes to what can be subscribed to, in the order asked for. */
async function subscribed(
  asked: unknown,
  stops: (() => void)[],
  subscribe: (uri: string) => Promise<() => void>,
): Promise<string[]> {
  const uris = Array.isArray(asked) ? asked.filter((uri) => typeof uri === 'string').slice(0, MAX_URIS) : []
  const agreed = await Promise.all(
    [...new Set(uris)].map(async (uri) => {
      try {
        stops.push(await subscribe(uri))
        return [uri]
      } catch {
        // A resource that its server does not tell of is left out of what is acknowledged.
        return []
      }
    }),
  )
  return agreed.flat()
}

/** Follows the caller's own tasks among those asked for; the others are left out of what is acknowledged. */
function followed(
  asked: unknown,
  stops: (() => void)[],
  {
    to,
    call: { caller },
    tell,
  }: {
    readonly to: Listenable
    readonly call: Call
    readonly tell: (method: string, params: JsonObject) => void
  },
): string[] {
  const { tasks, members, clock } = to
  const ids = Array.isArray(asked) ? asked.filter((id) => typeof id === 'string').slice(0, MAX_URIS) : []
  return [...new Set(ids)].filter((id) => {
    const entry = tasks.find(id, caller, members)
    if (entry === undefined) return false
    stops.push(follow(tasks, entry, { caller, clock, tell: (state) => tell(METHOD.taskChanged, state) }))
    return true
  })
}
