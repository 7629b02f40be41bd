import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'

/** A request's id. `1` and `"1"` are two ids; the type is part of the id and survives every hop. */
export type Id = string | number

export interface RpcRequest {
  jsonrpc: '2.0'
  id: Id
  method: string
  params?: JsonObject
}

export interface RpcNotification {
  jsonrpc: '2.0'
  method: string
  params?: JsonObject
}

export interface RpcError {
  code: number
  message: string
  data?: unknown
}

export interface RpcResult {
  jsonrpc: '2.0'
  id: Id
  result: JsonObject
}

/** `id` is null or absent where the request could not be read. */
export interface RpcFailure {
  jsonrpc: '2.0'
  id?: Id | null
  error: RpcError
}

export type RpcResponse = RpcResult | RpcFailure
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse

/** What a request ends with: a result or a JSON-RPC error of the one who was asked. */
export type Answer = { readonly result: JsonObject } | { readonly error: RpcError }

export type Shape =
  | { readonly kind: 'request'; readonly message: RpcRequest }
  | { readonly kind: 'notification'; readonly message: RpcNotification }
  | { readonly kind: 'response'; readonly message: RpcResponse }
  | { readonly kind: 'invalid'; readonly reason: string; readonly id: Id | undefined }

/**
 * Says which kind of JSON-RPC 2.0 message a parsed JSON value is, by the members that route it; the rest is not looked at.
 * A value that is none gets the reason, and its id where one can be read.
 */
export function shapeOf(value: unknown): Shape {
  if (!isObject(value))
    return invalid(value, Array.isArray(value) ? 'a batch is not a message' : 'not an object')
  if (value['jsonrpc'] !== '2.0') return invalid(value, 'jsonrpc is not "2.0"')
  if ('method' in value) return shapeOfCall(value)
  if (isObject(value['result']) && isId(value['id'])) {
    return { kind: 'response', message: value as unknown as RpcResult }
  }
  if (
    isRpcError(value['error']) &&
    (isId(value['id']) || value['id'] === null || value['id'] === undefined)
  ) {
    return { kind: 'response', message: value as unknown as RpcFailure }
  }
  return invalid(value, 'neither a request nor a response')
}

export function isId(value: unknown): value is Id {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

/** Whether a value is a JSON-RPC error object, `code` an integer and `message` a string. */
function isRpcError(value: unknown): value is RpcError {
  return isObject(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string'
}

export function answerOf(response: RpcResponse): Answer {
  return 'result' in response ? { result: response.result } : { error: response.error }
}

function shapeOfCall(value: JsonObject): Shape {
  if (typeof value['method'] !== 'string') return invalid(value, 'method is not a string')
  if (value['params'] !== undefined && !isObject(value['params']))
    return invalid(value, 'params is not an object')
  if (!('id' in value)) return { kind: 'notification', message: value as unknown as RpcNotification }
  if (!isId(value['id'])) return invalid(value, 'id is neither a string nor a number')
  return { kind: 'request', message: value as unknown as RpcRequest }
}

function invalid(value: unknown, reason: string): Shape {
  const id = isObject(value) && isId(value['id']) ? value['id'] : undefined
  return { kind: 'invalid', reason, id }
}
