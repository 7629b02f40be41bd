// What params say of the hop that they travel.
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { META, METHOD } from '../spec/index.ts'
import type { Id } from '../wire/index.ts'

/** What goes on from an earlier answer of a server that asks by results. */
export interface Resume {
  readonly responses: JsonObject | undefined
  readonly state: string | undefined
}

/** The params with what a retry adds. Legacy servers have no such members, and answers that came early are kept for them. */
export function resumed(params: JsonObject | undefined, resume: Resume | undefined): JsonObject | undefined {
  if (resume === undefined) return params
  const { responses, state } = resume
  return {
    ...params,
    ...(responses === undefined ? {} : { inputResponses: responses }),
    ...(state === undefined ? {} : { requestState: state }),
  }
}

/** The request that a notification belongs to where all of them share a pipe. */
export function subscriptionOf(params: JsonObject): Id | undefined {
  const meta = params['_meta']
  const id = isObject(meta) ? meta[META.subscriptionId] : undefined
  return typeof id === 'number' ? id : undefined
}

/** What concerns everybody, whichever request's stream brings it. */
export const CHANGES: ReadonlySet<string> = new Set([
  ...[METHOD.toolsChanged, METHOD.promptsChanged, METHOD.resourcesChanged, METHOD.resourceUpdated],
  ...[METHOD.taskStatus, METHOD.taskChanged],
])
