// `subscriptions/listen`: a caller hears what it asked for and what can really come.
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { METHOD } from '../spec/index.ts'
import type { Answer, Call } from '../wire/index.ts'
import type { ChangedList } from './changes.ts'
import type { Member } from './member.ts'

/** The filter's member for each list, and the notification that tells of it. */
const SUBSCRIBABLE = {
  tools: { filter: 'toolsListChanged', method: METHOD.toolsChanged },
  prompts: { filter: 'promptsListChanged', method: METHOD.promptsChanged },
  resources: { filter: 'resourcesListChanged', method: METHOD.resourcesChanged },
} as const satisfies Record<ChangedList, { filter: string; method: string }>

const KINDS = Object.keys(SUBSCRIBABLE) as ChangedList[]

/**
 * Acknowledges the part of the filter that some server announces, then tells of each change until the caller or mcpx ends the
 * subscription. Resolves with the result that ends it gracefully.
 */
export function listen(members: readonly Member[], call: Call): Promise<Answer> {
  const asked = isObject(call.params?.['notifications']) ? call.params['notifications'] : {}
  const honoured = KINDS.filter(
    (kind) => asked[SUBSCRIBABLE[kind].filter] === true && members.some((member) => member.announces(kind)),
  )
  const acknowledged: JsonObject = Object.fromEntries(
    honoured.map((kind) => [SUBSCRIBABLE[kind].filter, true]),
  )
  call.notify(METHOD.acknowledged, { notifications: acknowledged })
  const stops = members.map((member) =>
    member.changes.on((kind) => {
      if (honoured.includes(kind)) call.notify(SUBSCRIBABLE[kind].method, {})
    }),
  )
  return new Promise((resolve) => {
    call.cancellation.onCancel(() => {
      for (const stop of stops) stop()
      resolve({ result: { resultType: 'complete' } })
    })
  })
}
