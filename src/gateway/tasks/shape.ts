// Tasks in their two spellings: the extension's, which is the newest shape, and that of 2025-11-25.
import { isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { Connection } from '../../pool/index.ts'
import { ERRORS, eraOf, hasFeature, META, TASKS_EXTENSION } from '../../spec/index.ts'
import type { Answer, Caller, RpcError } from '../../wire/index.ts'
import type { TaskIds } from './ids.ts'

/** How a peer has tasks: as the extension of the modern era, as 2025-11-25 has them, or not at all. */
export type TaskForm = 'extension' | 'core' | 'none'

export type TaskSupport = 'required' | 'optional' | 'forbidden'

/** A task in the extension's shape, whoever's id it carries. */
export type TaskState = JsonObject

/** What a client that can take tasks declares, and a server that gives them. */
export const DECLARED: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } }

/** What a client declares, and that it takes tasks. */
export function takingTasks(answers: JsonObject | undefined): JsonObject {
  const { extensions } = answers ?? {}
  const all = { ...(extensions as object | undefined), ...(DECLARED['extensions'] as object) }
  return { ...answers, extensions: all }
}

/** How often a task is looked at whose server does not say, in ms, and the least that it can say. */
const POLL = 1_000
const MIN_POLL = 20

/** How long a task is left alone between two looks, in ms. */
export function pauseOf({ pollIntervalMs: poll }: TaskState): number {
  return Math.max(MIN_POLL, typeof poll === 'number' ? poll : POLL)
}

const TERMINAL: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled'])

export function isTerminal({ status }: TaskState): boolean {
  return TERMINAL.has(status)
}

/** The form in which a caller can take tasks. In the modern era each request says so itself. */
export function formOfCaller({
  revision,
  capabilities,
}: Pick<Caller, 'revision' | 'capabilities'>): TaskForm {
  if (hasFeature(revision, 'coreTasks')) return 'core'
  return eraOf(revision) === 'modern' && declaresExtension(capabilities) ? 'extension' : 'none'
}

/** The form in which a server gives tasks for calls of its tools. */
export function formOfServer({
  verdict,
  capabilities,
}: Pick<Connection, 'verdict' | 'capabilities'>): TaskForm {
  if (verdict.era === 'modern') return declaresExtension(capabilities) ? 'extension' : 'none'
  if (!hasFeature(verdict.revision, 'coreTasks')) return 'none'
  return ['tasks', 'requests', 'tools', 'call'].reduce<unknown>(memberOf, capabilities) === undefined
    ? 'none'
    : 'core'
}

function declaresExtension({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION])
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined
}

/** What a listed tool says of being called as a task. */
export function supportOf(tool: JsonObject | undefined): TaskSupport {
  const support = memberOf(tool?.['execution'], 'taskSupport')
  return support === 'required' || support === 'optional' ? support : 'forbidden'
}

/** The task that a server made of a call, in the extension's shape; undefined for any other answer. */
export function readCreated(answer: Answer): TaskState | undefined {
  if ('error' in answer) return undefined
  const { result } = answer
  if (result['resultType'] === 'task') return typeof result['taskId'] === 'string' ? result : undefined
  const { task, content, _meta } = result
  if (content !== undefined || !isObject(task) || typeof task['taskId'] !== 'string') return undefined
  return { ...raiseTask(task), ...(_meta !== undefined && { _meta }) }
}

/** A task of 2025-11-25 in the extension's shape, without what only a look at its outcome shows. */
export function raiseTask({ ttl = null, pollInterval, ...rest }: JsonObject): TaskState {
  return { ...rest, ttlMs: ttl, ...(pollInterval !== undefined && { pollIntervalMs: pollInterval }) }
}

/**
 * A task in the extension's shape as 2025-11-25 has it. A call that came to an error of its tool has failed there, and what it
 * came to is fetched apart.
 */
export function lowerTask(state: TaskState): JsonObject {
  const {
    ttlMs = null,
    pollIntervalMs,
    resultType: _,
    result,
    error: __,
    inputRequests: ___,
    ...rest
  } = state
  const failed = isObject(result) && result['isError'] === true
  return {
    ...rest,
    ...(failed && { status: 'failed' }),
    ttl: ttlMs,
    ...(pollIntervalMs !== undefined && { pollInterval: pollIntervalMs }),
  }
}

/** The seed of a task, which says nothing yet of what came of it. */
export function seedOf(state: TaskState): TaskState {
  const { result: _, error: __, inputRequests: ___, ...seed } = state
  return seed
}

/** A result that names the task that it belongs to, or, without an id, one that names none. */
export function related(result: JsonObject, id: string | undefined): JsonObject {
  const { _meta: meta, ...rest } = result
  const { [META.relatedTask]: _, ...others } = isObject(meta) ? meta : {}
  if (id !== undefined) return { ...rest, _meta: { ...others, [META.relatedTask]: { taskId: id } } }
  return Object.keys(others).length > 0 ? { ...rest, _meta: others } : rest
}

/** The task that a message says it belongs to. */
function relatedTo(params: JsonObject | undefined): string | undefined {
  const id = memberOf(memberOf(params?.['_meta'], META.relatedTask), 'taskId')
  return typeof id === 'string' ? id : undefined
}

/** Whether a server refused a call because its client cannot take a task. */
export function needsTasks(answer: Answer): boolean {
  if (!('error' in answer) || answer.error.code !== ERRORS.missingClientCapability) return false
  const required = memberOf(answer.error.data, 'requiredCapabilities')
  return memberOf(memberOf(required, 'extensions'), TASKS_EXTENSION) !== undefined
}

/** The error for a client that would have to take a task. */
export function missingTasks(): { readonly error: RpcError } {
  const message = `Missing required client capability: the extension ${TASKS_EXTENSION}`
  return {
    error: { code: ERRORS.missingClientCapability, message, data: { requiredCapabilities: DECLARED } },
  }
}

export function notFound(): { readonly error: RpcError } {
  return { error: { code: ERRORS.invalidParams, message: 'Failed to retrieve task: Task not found' } }
}

/**
 * Messages between a server and a caller as either knows the task that they belong to: the server by its own id, the caller by
 * the sealed one. The same object where they belong to none.
 */
export function retold(
  { server, principal }: { readonly server: string; readonly principal: string },
  ids: TaskIds,
): { down(said: JsonObject): JsonObject; up<T extends JsonObject | undefined>(params: T): T | JsonObject } {
  return {
    down: (said) => {
      const own = relatedTo(said)
      return own === undefined ? said : related(said, ids.of({ server, id: own, held: false }, principal))
    },
    up: (params) => {
      const sealed = relatedTo(params)
      if (params === undefined || sealed === undefined) return params
      const ref = ids.read(sealed, principal)
      return related(params, ref?.server === server ? ref.id : undefined)
    },
  }
}
