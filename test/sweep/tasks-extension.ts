// The messages of io.modelcontextprotocol/tasks, as its SEP-2663 has them: the official schema of 2026-07-28 is without them.
import type { JsonObject } from '../../src/base/index.ts'

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` })
const text = { type: 'string' }
const envelope = { jsonrpc: { const: '2.0' }, id: ref('RequestId') }

const STATES = ['working', 'input_required', 'completed', 'failed', 'cancelled']
const TASK = {
  taskId: text,
  status: { enum: STATES },
  statusMessage: text,
  createdAt: text,
  lastUpdatedAt: text,
  ttlMs: { type: ['integer', 'null'] },
  pollIntervalMs: { type: 'integer' },
}
const REQUIRED = ['taskId', 'status', 'createdAt', 'lastUpdatedAt', 'ttlMs']
/** What a task has besides, by its state. */
const OUTCOMES: Readonly<Record<string, JsonObject>> = {
  input_required: { inputRequests: ref('InputRequests') },
  completed: { result: ref('CallToolResult') },
  failed: { error: ref('Error') },
}

/** A task in each of its states, with the members that its place adds. */
function detailed(more: JsonObject, required: readonly string[]): JsonObject {
  const states = STATES.map((status) => ({
    type: 'object',
    properties: { ...TASK, status: { const: status }, ...OUTCOMES[status], ...more },
    required: [...REQUIRED, ...Object.keys(OUTCOMES[status] ?? {}), ...required],
  }))
  return { anyOf: states }
}

function request(method: string, more: JsonObject = {}): JsonObject {
  const params = {
    type: 'object',
    properties: { _meta: ref('RequestMetaObject'), taskId: text, ...more },
    required: ['_meta', 'taskId', ...Object.keys(more)],
  }
  return {
    type: 'object',
    properties: { ...envelope, method: { const: method }, params },
    required: ['jsonrpc', 'id', 'method', 'params'],
  }
}

const complete = { _meta: ref('ResultMetaObject'), resultType: { const: 'complete' } }
const done = { type: 'object', properties: complete, required: ['resultType'] }

export const TASKS_EXTENSION: Readonly<Record<string, JsonObject>> = {
  CreateTaskResult: {
    type: 'object',
    properties: { ...complete, resultType: { const: 'task' }, ...TASK },
    required: ['resultType', ...REQUIRED],
  },
  GetTaskRequest: request('tasks/get'),
  UpdateTaskRequest: request('tasks/update', { inputResponses: ref('InputResponses') }),
  CancelTaskRequest: request('tasks/cancel'),
  GetTaskResult: detailed(complete, ['resultType']),
  UpdateTaskResult: done,
  CancelTaskResult: done,
  TaskNotification: {
    type: 'object',
    properties: {
      jsonrpc: { const: '2.0' },
      method: { const: 'notifications/tasks' },
      params: detailed({ _meta: ref('NotificationMetaObject') }, []),
    },
    required: ['jsonrpc', 'method', 'params'],
  },
}
