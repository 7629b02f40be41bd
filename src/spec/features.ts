import { META } from './names.ts'
import type { RevisionId } from './table.ts'

/** Where on the wire a feature appears. */
export type Place =
  | 'result'
  | 'cacheableResult'
  | 'resultMeta'
  | 'notificationMeta'
  | 'progress'
  | 'tool'
  | 'toolSchema'
  | 'toolResult'
  | 'prompt'
  | 'promptArgument'
  | 'resource'
  | 'resourceTemplate'
  | 'resourceLink'
  | 'block'
  | 'blockType'
  | 'contents'
  | 'annotations'
  | 'serverCapabilities'
  | 'implementation'
  | 'error'
  | 'question'
  | 'requestedSchema'
  /** A text or number of a requested schema; what is yes or no has had its default from the start. */
  | 'formField'
  | 'samplingMessage'
  /** What a client declares for sampling. */
  | 'samplingCapability'
  | 'root'
  /** The answer to an elicitation or to the question for roots. */
  | 'reply'

/** What stands in the feature's place for a caller whose revision lacks it. */
export type Fallback =
  /** Nothing. */
  | 'removed'
  /** Nothing there; the same facts are in the `initialize` result. */
  | 'in-initialize'
  /** A text block, unless one says the same already. */
  | 'text'
  /** An embedded text resource of the same URI. */
  | 'embedded-resource'
  /** A schema that says `type: object` at its root, or none where that would be untrue. */
  | 'object-root'
  /** The code that the revision has for it. */
  | 'other-code'
  /** An enumeration whose titles stand in `enumNames`. */
  | 'enum-names'
  /** What clients need not declare, because all of them had it. */
  | 'implied'
  /** The question cannot be put. */
  | 'refused'

export interface FeatureFacts {
  readonly at: readonly Place[]
  /** The member that carries it, the type of a block at `blockType`, the capability at `serverCapabilities`. */
  readonly field: string
  readonly since: RevisionId
  /** The last revision that has it; absent where the newest has. */
  readonly until?: RevisionId
  readonly fallback: Fallback
}

/** Everything about the shapes of results, notifications and errors that not all revisions share, one row a feature. */
export const FEATURES = {
  audio: { at: ['blockType'], field: 'audio', since: '2025-03-26', fallback: 'text' },
  toolAnnotations: { at: ['tool'], field: 'annotations', since: '2025-03-26', fallback: 'removed' },
  completions: { at: ['serverCapabilities'], field: 'completions', since: '2025-03-26', fallback: 'removed' },
  progressMessage: { at: ['progress'], field: 'message', since: '2025-03-26', fallback: 'removed' },

  structuredContent: {
    at: ['toolResult'],
    field: 'structuredContent',
    since: '2025-06-18',
    fallback: 'text',
  },
  resourceLink: {
    at: ['blockType'],
    field: 'resource_link',
    since: '2025-06-18',
    fallback: 'embedded-resource',
  },
  outputSchema: { at: ['tool'], field: 'outputSchema', since: '2025-06-18', fallback: 'removed' },
  lastModified: { at: ['annotations'], field: 'lastModified', since: '2025-06-18', fallback: 'removed' },
  contentMeta: { at: ['block', 'contents'], field: '_meta', since: '2025-06-18', fallback: 'removed' },
  listedMeta: {
    at: ['tool', 'prompt', 'resource', 'resourceTemplate', 'root'],
    field: '_meta',
    since: '2025-06-18',
    fallback: 'removed',
  },
  replyMeta: {
    at: ['reply'],
    field: '_meta',
    since: '2024-11-05',
    until: '2025-11-25',
    fallback: 'removed',
  },
  title: {
    at: [
      'tool',
      'prompt',
      'promptArgument',
      'resource',
      'resourceTemplate',
      'resourceLink',
      'implementation',
    ],
    field: 'title',
    since: '2025-06-18',
    fallback: 'removed',
  },

  icons: {
    at: ['tool', 'prompt', 'resource', 'resourceTemplate', 'resourceLink', 'implementation'],
    field: 'icons',
    since: '2025-11-25',
    fallback: 'removed',
  },
  implementationDescription: {
    at: ['implementation'],
    field: 'description',
    since: '2025-11-25',
    fallback: 'removed',
  },
  websiteUrl: { at: ['implementation'], field: 'websiteUrl', since: '2025-11-25', fallback: 'removed' },
  execution: {
    at: ['tool'],
    field: 'execution',
    since: '2025-11-25',
    until: '2025-11-25',
    fallback: 'removed',
  },
  coreTasks: {
    at: ['serverCapabilities'],
    field: 'tasks',
    since: '2025-11-25',
    until: '2025-11-25',
    fallback: 'removed',
  },
  urlElicitation: { at: ['question'], field: 'url', since: '2025-11-25', fallback: 'refused' },
  elicitationId: {
    at: ['question'],
    field: 'elicitationId',
    since: '2025-11-25',
    until: '2025-11-25',
    fallback: 'removed',
  },
  /** Before it, every elicitation is a form. */
  elicitationMode: { at: ['question'], field: 'mode', since: '2025-11-25', fallback: 'removed' },
  schemaDialect: { at: ['requestedSchema'], field: '$schema', since: '2025-11-25', fallback: 'removed' },
  formDefaults: { at: ['formField'], field: 'default', since: '2025-11-25', fallback: 'removed' },
  titledEnums: { at: ['requestedSchema'], field: 'oneOf', since: '2025-11-25', fallback: 'enum-names' },
  /** Arrays of an enumeration's values. */
  multiSelect: { at: ['requestedSchema'], field: 'items', since: '2025-11-25', fallback: 'refused' },
  samplingTools: {
    at: ['question', 'samplingCapability'],
    field: 'tools',
    since: '2025-11-25',
    fallback: 'refused',
  },
  samplingContext: { at: ['samplingCapability'], field: 'context', since: '2025-11-25', fallback: 'implied' },
  /** Several blocks in one message, and those of tools among them. */
  samplingBlocks: { at: ['question'], field: 'content', since: '2025-11-25', fallback: 'refused' },
  samplingMessageMeta: { at: ['samplingMessage'], field: '_meta', since: '2025-11-25', fallback: 'removed' },
  /** A question that is to be answered as a core task. */
  taskQuestion: {
    at: ['question'],
    field: 'task',
    since: '2025-11-25',
    until: '2025-11-25',
    fallback: 'removed',
  },

  /** A `structuredContent` that is not an object. */
  structuredValue: { at: ['toolResult'], field: 'structuredContent', since: '2026-07-28', fallback: 'text' },
  jsonSchema: { at: ['toolSchema'], field: 'type', since: '2026-07-28', fallback: 'object-root' },
  resultType: { at: ['result'], field: 'resultType', since: '2026-07-28', fallback: 'removed' },
  ttlMs: { at: ['cacheableResult'], field: 'ttlMs', since: '2026-07-28', fallback: 'removed' },
  cacheScope: { at: ['cacheableResult'], field: 'cacheScope', since: '2026-07-28', fallback: 'removed' },
  serverInfo: { at: ['resultMeta'], field: META.serverInfo, since: '2026-07-28', fallback: 'in-initialize' },
  subscriptionId: {
    at: ['notificationMeta'],
    field: META.subscriptionId,
    since: '2026-07-28',
    fallback: 'removed',
  },
  extensions: { at: ['serverCapabilities'], field: 'extensions', since: '2026-07-28', fallback: 'removed' },
  /** Resource not found as `-32602`. */
  resourceNotFound: { at: ['error'], field: 'code', since: '2026-07-28', fallback: 'other-code' },
} as const satisfies Record<string, FeatureFacts>

export type FeatureName = keyof typeof FEATURES
