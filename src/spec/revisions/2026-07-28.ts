import type { RevisionFacts } from '../facts.ts'

/**
 * https://modelcontextprotocol.io/specification/2026-07-28. What a server asks of its client travels inside results here, so
 * those methods are not in the table (questions.ts).
 */
export const rev20260728 = {
  id: '2026-07-28',
  era: 'modern',
  opening: 'server/discover',
  http: {
    transport: 'streamable-http',
    sessions: false,
    versionHeader: 'required',
    methodHeaders: true,
    batches: false,
    getStream: false,
    resumable: 'never',
    cancelBy: 'closing-the-stream',
  },
  asks: 'by-result',
  methods: {
    'server/discover': { kind: 'request', sentBy: 'client', cacheable: true },
    'subscriptions/listen': { kind: 'request', sentBy: 'client' },
    'tools/list': { kind: 'request', sentBy: 'client', capability: 'tools', lists: 'tools', cacheable: true },
    'tools/call': {
      kind: 'request',
      sentBy: 'client',
      capability: 'tools',
      nameFrom: 'name',
      carries: 'content',
      mayAsk: true,
    },
    'prompts/list': {
      kind: 'request',
      sentBy: 'client',
      capability: 'prompts',
      lists: 'prompts',
      cacheable: true,
    },
    'prompts/get': {
      kind: 'request',
      sentBy: 'client',
      capability: 'prompts',
      nameFrom: 'name',
      carries: 'messages',
      mayAsk: true,
    },
    'resources/list': {
      kind: 'request',
      sentBy: 'client',
      capability: 'resources',
      lists: 'resources',
      cacheable: true,
    },
    'resources/templates/list': {
      kind: 'request',
      sentBy: 'client',
      capability: 'resources',
      lists: 'resourceTemplates',
      cacheable: true,
    },
    'resources/read': {
      kind: 'request',
      sentBy: 'client',
      capability: 'resources',
      nameFrom: 'uri',
      carries: 'contents',
      cacheable: true,
      mayAsk: true,
    },
    'completion/complete': { kind: 'request', sentBy: 'client', capability: 'completions' },
    'notifications/cancelled': { kind: 'notification', sentBy: 'either' },
    'notifications/progress': { kind: 'notification', sentBy: 'server' },
    'notifications/message': { kind: 'notification', sentBy: 'server', capability: 'logging' },
    'notifications/tools/list_changed': {
      kind: 'notification',
      sentBy: 'server',
      capability: 'tools.listChanged',
    },
    'notifications/prompts/list_changed': {
      kind: 'notification',
      sentBy: 'server',
      capability: 'prompts.listChanged',
    },
    'notifications/resources/list_changed': {
      kind: 'notification',
      sentBy: 'server',
      capability: 'resources.listChanged',
    },
    'notifications/resources/updated': {
      kind: 'notification',
      sentBy: 'server',
      capability: 'resources.subscribe',
    },
    'notifications/subscriptions/acknowledged': { kind: 'notification', sentBy: 'server' },
  },
  errors: {
    parse: -32700,
    invalidRequest: -32600,
    methodNotFound: -32601,
    invalidParams: -32602,
    internal: -32603,
    resourceNotFound: -32602,
    headerMismatch: -32020,
    missingClientCapability: -32021,
    unsupportedProtocolVersion: -32022,
  },
} as const satisfies RevisionFacts
