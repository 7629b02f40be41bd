// A modern client by hand: each call is a request of its own, with or without answers and a state.
import type { JsonObject } from '../peers/peer.ts'

export interface Reply {
  readonly status: number
  readonly result?: JsonObject & {
    readonly resultType?: string
    readonly requestState?: string
    readonly inputRequests?: Record<string, { method: string; params: JsonObject }>
    readonly content?: readonly { readonly text: string }[]
    readonly isError?: boolean
  }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export interface Retry {
  /** Closes the call's stream; not sent. */
  readonly signal?: AbortSignal
  readonly inputResponses?: JsonObject
  readonly requestState?: string | undefined
}

export interface CallerOptions {
  readonly token?: string | undefined
  readonly capabilities?: JsonObject
}

export type Caller = (name: string, args: JsonObject, retry?: Retry) => Promise<Reply>

let lastId = 0

/** Calls tools at an endpoint. A call whose signal aborts rejects, and its stream is closed. */
export function modernCaller(
  url: string,
  { token, capabilities = { elicitation: { form: {} } } }: CallerOptions = {},
): Caller {
  return async (name, args, { signal, ...retry } = {}) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'modern', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    }
    const params = { name, arguments: args, ...retry, _meta }
    const response = await fetch(url, {
      method: 'POST',
      ...(signal && { signal }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method: 'tools/call', params }),
    })
    const said = await response.text()
    const text = said.startsWith('{')
      ? said
      : (/^data: ?(\{.*"(?:result|error)".*)$/m.exec(said)?.[1] ?? '{}')
    return { ...(JSON.parse(text) as Omit<Reply, 'status'>), status: response.status }
  }
}

export const word = (said: string): JsonObject => ({ action: 'accept', content: { word: said } })

/** The retry that answers every question of a reply the same way. */
export function answering({ result }: Reply, answer: JsonObject): Retry {
  const keys = Object.keys(result?.inputRequests ?? {})
  return {
    inputResponses: Object.fromEntries(keys.map((key) => [key, answer])),
    requestState: result?.requestState,
  }
}

export const textOf = ({ result }: Reply): string | undefined => result?.content?.[0]?.text
