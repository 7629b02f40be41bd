// What is reported of each request: bounded in size, and free of what the request asked or was answered.
import { clip, isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { Classification } from '../../era/index.ts'
import type { Era } from '../../spec/index.ts'
import type { Mode } from './mode.ts'

/** What decided the era: see Classification; or `verb`, not a POST, or `unread`, a body too large, taken by others or broken off. */
export type Reason = Classification['reason'] | 'verb' | 'unread'

/** What the modern answer would have been; without a code it is a success, as far as can be told without running anything. */
export interface Verdict {
  readonly status: number
  readonly code?: number
  readonly message?: string
}

export interface ServerEvent {
  /** What the request is; `servedBy` says who answered it. */
  readonly era: Era
  readonly reason: Reason
  readonly servedBy: Era
  readonly mode: Mode
  /** The HTTP method. */
  readonly verb: string
  /** The JSON-RPC method, clipped. */
  readonly method: string | undefined
  /** The protocol version that the request names, clipped. */
  readonly revision: string | undefined
  /** The HTTP status; undefined where the client was gone before there was one. */
  readonly status: number | undefined
  /** The code of the modern era's JSON-RPC error. The legacy handler's answers are not looked into. */
  readonly code: number | undefined
  /** In mode `dry-run`, for requests that mode `serve` would serve in the modern era. */
  readonly verdict: Verdict | undefined
  /** Whether `Origin` or `Host` is one that `enforce` refuses. */
  readonly originWouldBlock: boolean
  readonly clientInfo: { readonly name: string; readonly version: string } | undefined
  /** How long it took, in milliseconds. */
  readonly ms: number
  /** What a method threw that had no `code`, and that the client is told nothing of. */
  readonly thrown?: unknown
}

/** A client's name and version as far as they are text, clipped. */
export function clippedInfo(info: unknown): ServerEvent['clientInfo'] {
  if (!isObject(info)) return undefined
  return { name: clippedText(info, 'name'), version: clippedText(info, 'version') }
}

function clippedText(info: JsonObject, member: string): string {
  const value = info[member]
  return typeof value === 'string' ? clip(value) : ''
}
