import type { MethodFacts } from './facts.ts'

/** https://modelcontextprotocol.io/seps/2663-tasks-extension */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/**
 * What extensions add to the modern revisions, and what is known by name there: methods of no revision's own table. The name
 * that leads to a task's holder is the task's id.
 */
export const EXTENSION_METHODS = {
  'tasks/get': { kind: 'request', sentBy: 'client', nameFrom: 'taskId' },
  'tasks/update': { kind: 'request', sentBy: 'client', nameFrom: 'taskId' },
  'tasks/cancel': { kind: 'request', sentBy: 'client', nameFrom: 'taskId' },
  'notifications/tasks': { kind: 'notification', sentBy: 'server' },
} as const satisfies Record<string, MethodFacts>

export type ExtensionMethod = keyof typeof EXTENSION_METHODS
