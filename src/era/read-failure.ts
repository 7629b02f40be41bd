import { isObject } from '../base/index.ts'
import type { McpxError } from '../base/index.ts'
import type { Answer, Id, RpcError, SendFailure } from '../wire/index.ts'
import { isModernError } from './read-discover.ts'

/** What an HTTP outcome that is no plain answer says about the question that it was sent for. */
export type FailureReading =
  /** The body holds the answer; read it as if it had come with a 200. */
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** A refusal as legacy servers make it: no evidence of a modern server. */
  | { readonly kind: 'refused'; readonly why: string; readonly bare: boolean }
  | { readonly kind: 'not-mcp'; readonly why: string }
  | { readonly kind: 'auth'; readonly status: number; readonly refusal: McpxError | undefined }
  | { readonly kind: 'later'; readonly why: string; readonly ms: number | undefined }
  | {
      readonly kind: 'broken'
      readonly why: string
      readonly status: number | undefined
      readonly error: RpcError | undefined
    }

const AUTH = new Set([401, 403, 407])
const LATER = new Set([408, 425, 429])
/** What a server on HTTP+SSE answers to a POST on its stream's URL. */
const BARE = new Set([400, 404, 405])

/**
 * Reads what came back for the request with that id instead of an answer. Credentials, overload and breakage come first:
 * their bodies are no evidence of an era, whatever they hold.
 */
export function readFailure(failure: SendFailure, id: Id): FailureReading {
  switch (failure.kind) {
    case 'network':
      return { kind: 'broken', why: failure.message, status: undefined, error: undefined }
    case 'too-large':
      return {
        kind: 'broken',
        why: `its answer is larger than ${failure.bytes} bytes`,
        status: undefined,
        error: undefined,
      }
    case 'not-json-rpc':
      return { kind: 'not-mcp', why: describeBody(failure.status, failure.contentType) }
    case 'status':
      return readStatus(failure, id)
  }
}

function readStatus(failure: SendFailure & { kind: 'status' }, id: Id): FailureReading {
  const { status, headers, response, refusal } = failure
  if (AUTH.has(status)) return { kind: 'auth', status, refusal }
  if (LATER.has(status))
    return { kind: 'later', why: `HTTP ${status}`, ms: retryAfter(headers['retry-after']) }
  const error = response !== undefined && 'error' in response ? response.error : undefined
  if (status >= 500 || status < 400) return { kind: 'broken', why: `HTTP ${status}`, status, error }
  if (response !== undefined && response.id === id) {
    return {
      kind: 'answer',
      answer: 'result' in response ? { result: response.result } : { error: response.error },
    }
  }
  if (error !== undefined && isModernError(error)) return { kind: 'answer', answer: { error } }
  return { kind: 'refused', why: describeRefusal(status, error), bare: BARE.has(status) }
}

/** Milliseconds that a `Retry-After` in seconds asks for. Dates are left to the caller's own back-off. */
function retryAfter(value: string | undefined): number | undefined {
  const seconds = value === undefined ? Number.NaN : Number(value)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}

function describeRefusal(status: number, error: RpcError | undefined): string {
  return error === undefined ? `HTTP ${status}` : `HTTP ${status} with ${error.code}`
}

function describeBody(status: number, contentType: string): string {
  return `HTTP ${status} with ${contentType === '' ? 'no content' : contentType} instead of JSON-RPC`
}

/** The JSON-RPC error of an answer in few words, for messages and frame records. */
export function describeAnswer(answer: Answer): string {
  if ('error' in answer) return `error ${answer.error.code}: ${answer.error.message}`
  const versions = answer.result['supportedVersions']
  if (Array.isArray(versions)) return `supports ${versions.join(', ')}`
  const version = answer.result['protocolVersion']
  if (typeof version === 'string') return `agreed on ${version}`
  return isObject(answer.result) ? 'a result' : 'no result'
}
