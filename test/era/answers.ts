// What servers say to the two questions, and what HTTP says instead. One name for each row of the tables that tests read.
import type { Answer, Id, SendFailure } from '../../src/wire/index.ts'

export const result = (value: Record<string, unknown>): Answer => ({ result: value })

export const error = (code: number, data?: unknown): Answer => ({
  error: data === undefined ? { code, message: 'no' } : { code, message: 'no', data },
})

export const supports = (...versions: unknown[]): Answer =>
  result({ supportedVersions: versions, capabilities: {} })

export const unsupported = (...versions: unknown[]): Answer => error(-32022, { supported: versions })

export const agreesOn = (version: unknown): Answer => result({ protocolVersion: version, capabilities: {} })

/** Answers to `server/discover`. */
export const DISCOVER = {
  modern: supports('2026-07-28'),
  'legacy error': error(-32601),
  retry: unsupported('2026-07-28'),
  'legacy only': unsupported('2025-06-18', '2025-11-25'),
  'missing capability': error(-32021),
  'nothing shared': supports('2031-01-01'),
  nonsense: result({ ok: true }),
} as const satisfies Record<string, Answer>

/** Answers to `initialize`. */
export const INITIALIZE = {
  ok: agreesOn('2025-06-18'),
  error: error(-32601),
  'modern error': unsupported('2026-07-28'),
  'unknown version': agreesOn('1999-01-01'),
} as const satisfies Record<string, Answer>

export interface StatusOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly answer?: Answer
  readonly id?: Id | null
  readonly body?: string
}

/** An HTTP status, with the JSON-RPC response that its body holds. */
export function status(code: number, options: StatusOptions = {}): SendFailure {
  const { headers = {}, answer, id = 1, body = '' } = options
  const response =
    answer === undefined
      ? undefined
      : 'result' in answer
        ? { jsonrpc: '2.0' as const, id: id ?? 0, result: answer.result }
        : { jsonrpc: '2.0' as const, id, error: answer.error }
  return { kind: 'status', status: code, headers, body, response }
}

export const notJson = (code = 200, contentType = 'text/html'): SendFailure => ({
  kind: 'not-json-rpc',
  status: code,
  contentType,
  body: '',
})

export const network: SendFailure = { kind: 'network', message: 'ECONNREFUSED', sent: false }
export const tooLarge: SendFailure = { kind: 'too-large', bytes: 1000 }
