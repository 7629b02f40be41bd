// What callers are told of tasks: in the capabilities, and of each tool.
import { isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { eraOf, hasFeature } from '../../spec/index.ts'
import type { Caller } from '../../wire/index.ts'
import type { TaskServer } from './party.ts'
import { DECLARED, formOfServer } from './shape.ts'
import type { TaskForm } from './shape.ts'

const CORE: JsonObject = { list: {}, cancel: {}, requests: { tools: { call: {} } } }

/**
 * Adds the tasks that a server brings. In the modern era the server decides, so only one that has tasks counts; of 2025-11-25
 * it is the caller that decides, and mcpx holds its tasks where the server has none.
 */
export function carryTasks(
  { capabilities, tasks }: { readonly capabilities: JsonObject; readonly tasks: TaskForm },
  { revision }: Pick<Caller, 'revision'>,
  into: JsonObject,
): void {
  if (hasFeature(revision, 'coreTasks')) {
    if (capabilities['tools'] !== undefined) into['tasks'] = CORE
  } else if (eraOf(revision) === 'modern' && tasks !== 'none') {
    const { extensions } = into
    into['extensions'] = {
      ...(isObject(extensions) ? extensions : {}),
      ...(DECLARED['extensions'] as object),
    }
  }
}

/** The tools of a server whose calls may all become tasks, as those know them who ask for a task themselves. */
export function withTaskSupport(
  tools: readonly JsonObject[],
  { upstream }: TaskServer,
  { revision }: Pick<Caller, 'revision'>,
): readonly JsonObject[] {
  const { current } = upstream
  if (!hasFeature(revision, 'coreTasks') || current === undefined || formOfServer(current) !== 'extension')
    return tools
  return tools.map((tool) =>
    tool['execution'] === undefined ? { ...tool, execution: { taskSupport: 'optional' } } : tool,
  )
}
