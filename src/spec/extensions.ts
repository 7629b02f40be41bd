import type { MethodFacts } from './facts.ts'

/** https://modelcontextprotocol.io/seps/2663-tasks-extension */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** https://modelcontextprotocol.io/seps/2640-skills-extension */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

/** https://modelcontextprotocol.io/seps/1865-mcp-apps-interactive-user-interfaces-for-mcp */
const APPS_EXTENSION = 'io.modelcontextprotocol/ui'

/** Extensions whose requests lead to the right one of several servers, by a URI or by what every revision has. */
export const MERGED_EXTENSIONS: ReadonlySet<string> = new Set([SKILLS_EXTENSION, APPS_EXTENSION])

/**
 * What extensions add to the modern revisions, and what is known by name there: methods of no revision's own table. The name
 * that leads to a task's holder is the task's id.
 */
export const EXTENSION_METHODS = {
  'tasks/get': { kind: 'request', sentBy: 'client', nameFrom: 'taskId' },
  'tasks/update': { kind: 'request', sentBy: 'client', nameFrom: 'taskId' },
  'tasks/cancel': { kind: 'request', sentBy: 'client', nameFrom: 'taskId' },
  'notifications/tasks': { kind: 'notification', sentBy: 'server' },
  'skills/list': { kind: 'request', sentBy: 'client', lists: 'skills', cacheable: true },
  'skills/get': { kind: 'request', sentBy: 'client', cacheable: true },
  'resources/directory/read': { kind: 'request', sentBy: 'client', lists: 'resources', cacheable: true },
} as const satisfies Record<string, MethodFacts>

export type ExtensionMethod = keyof typeof EXTENSION_METHODS
