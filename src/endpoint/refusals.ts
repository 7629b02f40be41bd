import type { IncomingMessage } from 'node:http'
import { headerValues } from '../era/index.ts'
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
  const headers = { joined: request.headers, raw: request.rawHeaders }
  const versions = headerValues(headers, HEADERS.protocolVersion)
  return versions?.some((version) => eraOfDate(version) === 'modern') === true
}

/** A JSON-RPC error, with a null id where there is none to repeat. */
export function refusal(code: number, message: string, id: Id | null = null): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
