// What a server's author hands in, and what the author's own functions are handed.
import type { Clock, JsonObject } from '../../base/index.ts'
import type { Era, LogLevel } from '../../spec/index.ts'
import type { ServerEvent } from './event.ts'
import type { Mode } from './mode.ts'

/** Whether a request from a place that is not allowed is refused, or only reported. */
export type Policy = 'enforce' | 'observe'

export interface OriginOptions {
  /** For requests that the modern era serves; `enforce` unless said otherwise. */
  readonly modern?: Policy | undefined
  /** For requests that the legacy handler serves; `observe` unless said otherwise. */
  readonly legacy?: Policy | undefined
  /** Origins of web pages that may call, besides those on this machine: `https://app.example.com`. */
  readonly allowed?: readonly string[] | ((origin: string) => boolean) | undefined
  /** Host names that requests may be sent to, besides those of this machine. Where it is left out, any. */
  readonly hosts?: readonly string[] | undefined
}

/** How long, and by whom, a result may be kept. */
export interface Hint {
  /** In milliseconds; 0 unless said otherwise. */
  readonly ttlMs?: number | undefined
  /** `private` unless said otherwise. */
  readonly cacheScope?: 'private' | 'public' | undefined
}

/** Answers one method: with a result, or by throwing; an error with an integer `code` becomes a JSON-RPC error. */
export type Method = (params: JsonObject, context: MethodContext) => object | Promise<object>

export interface MethodContext {
  /** What the client calls itself; not verified. */
  readonly clientInfo: JsonObject | undefined
  readonly clientCapabilities: JsonObject
  readonly protocolVersion: string
  /** The least severe level that the client wants logs of; undefined where it wants none. */
  readonly logLevel: LogLevel | undefined
  /** Aborted when the client closes the connection before it has its answer. */
  readonly signal: AbortSignal
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The request as the adapter got it: an IncomingMessage, which may carry what middleware put there, or a Request. */
  readonly request: unknown
  /** Sends progress (`progress`, `total`, `message`); nothing where the client did not ask for it. */
  progress(params: JsonObject): void
  /** Sends a log message (`level`, `data`, `logger`); nothing where the client wants none of that level. */
  log(params: LogParams): void
}

export interface LogParams {
  readonly level: LogLevel
  readonly data: unknown
  readonly logger?: string | undefined
}

export interface ModernEraOptions {
  readonly serverInfo: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities?: object | undefined
  readonly instructions?: string | undefined
  /** `server/discover` is made from these options and need not be here. */
  readonly methods: Readonly<Record<string, Method>>
  /** By method; they count where a result says nothing itself. */
  readonly hints?: Readonly<Record<string, Hint>> | undefined
  /** `serve` unless said otherwise. A function is asked anew for each request. */
  readonly mode?: Mode | (() => Mode) | undefined
  readonly origin?: OriginOptions | undefined
  /** Who gets a request that looks modern and lacks the mark of it; `legacy` unless said otherwise. */
  readonly ambiguous?: Era | undefined
  /** The largest body that is looked at, in bytes; 4 MiB unless said otherwise. */
  readonly maxBody?: number | undefined
  /** How long a modern request may be silent before its client is shown that it is alive, in ms; 15 s unless said otherwise. */
  readonly keepAlive?: number | undefined
  /** Called once for each request, when its outcome is known. What it throws is dropped. */
  readonly onEvent?: ((event: ServerEvent) => void) | undefined
  readonly clock?: Clock | undefined
}
