import type { IncomingMessage } from 'node:http'
import { eraOfDate, HEADERS } from '../spec/index.ts'
import type { Id, RpcResponse } from '../wire/index.ts'

/**
 * The error of a request whose id could not be read: legacy clients expect a null id, modern ones refuse null. Only the
 * version header can tell them apart here.
 */
export function unread(request: IncomingMessage, code: number, message: string): RpcResponse {
  const version = request.headers[HEADERS.protocolVersion.toLowerCase()]
  const modern = typeof version === 'string' && eraOfDate(version) === 'modern'
  return { jsonrpc: '2.0', ...(modern ? {} : { id: null }), error: { code, message } }
}

/** A JSON-RPC error, with a null id where there is none to repeat. */
export function refusal(code: number, message: string, id: Id | null = null): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
