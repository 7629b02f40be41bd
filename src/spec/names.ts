/** The `_meta` keys that the specification gives a meaning. */
export const META = {
  progressToken: 'progressToken',
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const

/** HTTP headers, spelled as the specification does; compare them without regard to case. */
export const HEADERS = {
  protocolVersion: 'MCP-Protocol-Version',
  method: 'Mcp-Method',
  name: 'Mcp-Name',
  /** What leads the name of a header that repeats a tool's parameter. */
  paramPrefix: 'Mcp-Param-',
  sessionId: 'Mcp-Session-Id',
  lastEventId: 'Last-Event-ID',
} as const

/** Every JSON-RPC error code that some revision gives a meaning. Which revision knows which stands in its table. */
export const ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Until 2025-11-25; `invalidParams` since. */
  resourceNotFound: -32002,
  /** 2025-11-25 only. */
  urlElicitationRequired: -32042,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
} as const

/** Log levels from the least to the most severe (RFC 5424), the same in every revision. */
export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

export type LogLevel = (typeof LOG_LEVELS)[number]
