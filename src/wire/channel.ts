// The contract between those who move messages (transport) and those who understand them (pool).
import type { McpxError } from '../base/index.ts'
import type { Authorizer } from './authorizer.ts'
import type { Id, RpcMessage, RpcResponse } from './message.ts'

export type TransportKind = 'stdio' | 'streamable-http' | 'http+sse'

/** Where an upstream is. Values are ready to use: nothing in them is still to be expanded. */
export type Target = StdioTarget | HttpTarget

export interface StdioTarget {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
}

export interface HttpTarget {
  readonly kind: 'http'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Whoever holds credentials for it besides the headers. */
  readonly authorizer?: Authorizer | undefined
}

/** Opens channels. Rejects with an McpxError when the process cannot be started or the stream cannot be opened. */
export interface Dialer {
  dial(target: Target, transport: TransportKind, listener: ChannelListener): Promise<Channel>
}

/**
 * One way to one upstream: a child's pipes or an HTTP endpoint. It frames and unframes, and knows nothing of eras, sessions
 * apart: a session id that an HTTP server hands out with a result is sent back with everything that follows. A lost session
 * is answered by a new channel.
 */
export interface Channel {
  readonly transport: TransportKind
  /** The id of the session that this channel belongs to; HTTP only, and only where the server handed one out. */
  readonly sessionId?: string | undefined
  /** What the process wrote to stderr last; stdio only. */
  stderr?(): readonly string[]
  /**
   * Sends one message. Never throws: what goes wrong comes to the listener, and after `close` nothing does. Headers are for
   * HTTP and ignored elsewhere.
   */
  send(message: RpcMessage, headers?: Readonly<Record<string, string>>): void
  /** Gives up waiting for a request's answer. On HTTP its stream is closed, which tells a modern server. */
  abandon(id: Id): void
  /**
   * Opens the stream on which a legacy Streamable HTTP server sends what belongs to no request, and keeps it open. Asked for
   * once; a server without such a stream is left alone.
   */
  openStream?(headers?: Readonly<Record<string, string>>): void
  /**
   * Ends the channel and what it owns, by the shutdown ladder where that is a process. Resolves when all of it is gone. The
   * headers go with the end of an HTTP session.
   */
  close(headers?: Readonly<Record<string, string>>): Promise<void>
}

export interface ChannelListener {
  /**
   * A message arrived; `via` is the request whose own response stream brought it, undefined on a shared pipe. An error
   * without an id that comes via a request is that request's answer.
   */
  onMessage(message: RpcMessage, via: Id | undefined): void
  /** The server ended a request's stream before the answer, and the channel comes back for the rest of it. */
  onInterrupted?(id: Id): void
  /** Sending failed or the answer cannot come. `id` is the request's, undefined for anything else. */
  onFailed(id: Id | undefined, failure: SendFailure): void
  /** The channel is gone, and with it what was in flight. Called once, and nothing after it. */
  onClosed(reason: CloseReason): void
}

export type SendFailure =
  /** Any status other than 2xx. `body` is clipped; `response` is the JSON-RPC response found in it. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      readonly response: RpcResponse | undefined
      /** What whoever holds the credentials says of a 401 or 403. */
      readonly refusal?: McpxError | undefined
    }
  /**
   * A 2xx whose body holds no JSON-RPC message for the request (HTML, text, empty, 202). On a pipe, with status 0, a line
   * that has the request's id and is no response.
   */
  | {
      readonly kind: 'not-json-rpc'
      readonly status: number
      readonly contentType: string
      readonly body: string
    }
  /** The stream ended, or the connection broke, before the answer. `sent` false proves that nothing reached the server. */
  | { readonly kind: 'network'; readonly message: string; readonly sent: boolean }
  /** A message over the limit was dropped; `bytes` is the limit. */
  | { readonly kind: 'too-large'; readonly bytes: number }

export type CloseReason =
  /** mcpx closed it. */
  | { readonly kind: 'closed' }
  /** The process ended by itself; `stderr` holds its last lines. */
  | {
      readonly kind: 'exited'
      readonly code: number | null
      readonly signal: string | null
      readonly stderr: readonly string[]
    }
  /** The stream that the channel lives on ended (HTTP+SSE). */
  | { readonly kind: 'disconnected'; readonly message: string }
