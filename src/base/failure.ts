/**
 * Every failure that mcpx itself raises. A code says what happened; its row says how each surface shows it:
 * `rpc` as a JSON-RPC error, `http` on the REST interface, `exit` from the command line (docs/errors.md), and whether the
 * same attempt may succeed later. An error that an upstream answers with is never one of these: it passes through.
 */
export const FAILURES = {
  USAGE: { rpc: -32602, http: 400, exit: 64, retry: 'never' },
  INPUT_NOT_JSON: { rpc: -32700, http: 400, exit: 65, retry: 'never' },
  CONFIG_NOT_FOUND: { rpc: -32603, http: 500, exit: 66, retry: 'never' },
  CONFIG_SYNTAX: { rpc: -32603, http: 500, exit: 78, retry: 'never' },
  CONFIG_INVALID: { rpc: -32603, http: 400, exit: 78, retry: 'never' },
  NAME_CLASH: { rpc: -32603, http: 409, exit: 78, retry: 'never' },
  SETTING_UNKNOWN: { rpc: -32602, http: 404, exit: 64, retry: 'never' },
  CORPUS_NOT_FOUND: { rpc: -32603, http: 500, exit: 66, retry: 'never' },
  CORPUS_INVALID: { rpc: -32603, http: 500, exit: 65, retry: 'never' },
  PORT_TAKEN: { rpc: -32603, http: 503, exit: 69, retry: 'never' },
  SERVER_UNKNOWN: { rpc: -32602, http: 404, exit: 64, retry: 'never' },
  TOOL_UNKNOWN: { rpc: -32602, http: 404, exit: 64, retry: 'never' },
  PROMPT_UNKNOWN: { rpc: -32602, http: 404, exit: 64, retry: 'never' },
  RESOURCE_UNKNOWN: { rpc: -32602, http: 404, exit: 64, retry: 'never' },
  HEADER_MISMATCH: { rpc: -32020, http: 400, exit: 64, retry: 'never' },
  CURSOR_UNKNOWN: { rpc: -32602, http: 400, exit: 64, retry: 'never' },
  STATE_INVALID: { rpc: -32602, http: 400, exit: 65, retry: 'never' },
  ANSWER_INVALID: { rpc: -32602, http: 400, exit: 65, retry: 'never' },
  QUESTION_UNKNOWN: { rpc: -32602, http: 404, exit: 64, retry: 'never' },
  ASK_UNKNOWN: { rpc: -32602, http: 404, exit: 64, retry: 'never' },
  QUESTION_UNANSWERED: { rpc: -32603, http: 502, exit: 1, retry: 'never' },
  QUESTIONS_EXHAUSTED: { rpc: -32603, http: 502, exit: 1, retry: 'never' },
  TOO_MANY_PARKED: { rpc: -32603, http: 429, exit: 75, retry: 'after-backoff' },
  UPSTREAM_START_FAILED: { rpc: -32603, http: 502, exit: 69, retry: 'after-backoff' },
  UPSTREAM_START_TIMEOUT: { rpc: -32603, http: 504, exit: 69, retry: 'after-backoff' },
  UPSTREAM_CLOSED: { rpc: -32603, http: 502, exit: 69, retry: 'after-backoff' },
  UPSTREAM_UNREACHABLE: { rpc: -32603, http: 502, exit: 69, retry: 'after-backoff' },
  UPSTREAM_BUSY: { rpc: -32603, http: 503, exit: 69, retry: 'after-backoff' },
  UPSTREAM_TIMEOUT: { rpc: -32603, http: 504, exit: 69, retry: 'after-backoff' },
  UPSTREAM_PROTOCOL: { rpc: -32603, http: 502, exit: 69, retry: 'never' },
  UPSTREAM_ERROR: { rpc: -32603, http: 502, exit: 1, retry: 'never' },
  CLOSED_DURING_PROBE: { rpc: -32603, http: 502, exit: 69, retry: 'after-backoff' },
  ERA_REFUSED: { rpc: -32603, http: 502, exit: 69, retry: 'never' },
  NO_MUTUAL_VERSION: { rpc: -32603, http: 502, exit: 69, retry: 'never' },
  AUTH_REQUIRED: { rpc: -32603, http: 502, exit: 77, retry: 'never' },
  AUTH_UNAVAILABLE: { rpc: -32603, http: 503, exit: 69, retry: 'after-backoff' },
  NOT_AN_MCP_ENDPOINT: { rpc: -32603, http: 502, exit: 69, retry: 'never' },
  LEGACY_HTTP_REFUSED: { rpc: -32603, http: 502, exit: 69, retry: 'never' },
  HTTP_STATUS: { rpc: -32603, http: 502, exit: 69, retry: 'after-backoff' },
  KEY_MISSING: { rpc: -32603, http: 401, exit: 77, retry: 'never' },
  KEY_UNKNOWN: { rpc: -32603, http: 401, exit: 77, retry: 'never' },
  KEY_EXPIRED: { rpc: -32603, http: 401, exit: 77, retry: 'never' },
  KEY_REVOKED: { rpc: -32603, http: 401, exit: 77, retry: 'never' },
  KEY_FORBIDDEN: { rpc: -32603, http: 403, exit: 77, retry: 'never' },
  ORIGIN_REFUSED: { rpc: -32603, http: 403, exit: 77, retry: 'never' },
  HOST_REFUSED: { rpc: -32603, http: 403, exit: 77, retry: 'never' },
  BIND_REFUSED: { rpc: -32603, http: 500, exit: 78, retry: 'never' },
  BODY_TOO_LARGE: { rpc: -32603, http: 413, exit: 65, retry: 'never' },
  HEADER_TOO_LARGE: { rpc: -32603, http: 431, exit: 65, retry: 'never' },
  TOO_MANY_REQUESTS: { rpc: -32603, http: 429, exit: 75, retry: 'after-backoff' },
  TOO_MANY_STREAMS: { rpc: -32603, http: 429, exit: 75, retry: 'after-backoff' },
  ROUTE_UNKNOWN: { rpc: -32601, http: 404, exit: 64, retry: 'never' },
  MESSAGE_TOO_LARGE: { rpc: -32603, http: 502, exit: 69, retry: 'never' },
  CANCELLED: { rpc: -32603, http: 499, exit: 130, retry: 'never' },
  STOPPING: { rpc: -32603, http: 503, exit: 69, retry: 'after-backoff' },
  INTERNAL: { rpc: -32603, http: 500, exit: 70, retry: 'never' },
} as const satisfies Record<string, FailureFacts>

interface FailureFacts {
  readonly rpc: number
  readonly http: number
  readonly exit: number
  readonly retry: 'never' | 'after-backoff'
}

export type FailureCode = keyof typeof FAILURES

/** A failure of mcpx's own. `message` says what happened, to whom and what to do next; `data` holds the evidence as JSON. */
export class McpxError extends Error {
  override readonly name = 'McpxError'
  readonly code: FailureCode
  readonly data: Readonly<Record<string, unknown>>

  constructor(
    code: FailureCode,
    message: string,
    options: { cause?: unknown; data?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.data = options.data ?? {}
  }
}

/** Any thrown value as an McpxError; what is not one already was not foreseen and becomes `INTERNAL`. */
export function asMcpxError(error: unknown): McpxError {
  if (error instanceof McpxError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new McpxError('INTERNAL', message, { cause: error })
}
