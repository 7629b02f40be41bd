import type { IncomingMessage } from 'node:http'
import { eraOfDate, HEADERS } from '../spec/index.ts'
import type { Id, RpcResponse } from '../wire/index.ts'

/**
 * The error of a request whose id could not be read: legacy clients expect a null id, modern ones refuse null. Only the
 * version header can tell them apart here.
 */
export function unread(request: IncomingMessage, code: number, message: string): RpcResponse {
  return { jsonrpc: '2.0', ...(namesModern(request) ? {} : { id: null }), error: { code, message } }
}

/** Whether the version header names a modern revision, known or not. */
export function namesModern(request: IncomingMessage): boolean {
  const version = request.headers[HEADERS.protocolVersion.toLowerCase()]
  return typeof version === 'string' && eraOfDate(version) === 'modern'
}

/** A JSON-RPC error, with a null id where there is none to repeat. */
export function refusal(code: number, message: string, id: Id | null = null): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
