import { isObject } from '../base/index.ts'
import { methodIn, newest, revision } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { RpcError } from './message.ts'

/** What is known of the request that an error answers. */
export interface ErrorContext {
  readonly method?: string | undefined
  readonly uri?: string | undefined
}

/**
 * An error in the newest shape, spelled for the caller's revision: resource not found is the only one that has another code in
 * older ones. It is known by its `data.uri`, and by the method where that is given.
 */
export function lowerError(error: RpcError, to: RevisionId, context: ErrorContext = {}): RpcError {
  const code = revision(to).errors['resourceNotFound']
  const newestCode = revision(newest()).errors['resourceNotFound']
  if (code === undefined || code === newestCode || error.code !== newestCode) return error
  if (uriIn(error.data) === undefined || !readsResource(context.method)) return error
  return { ...error, code }
}

/** An error of an upstream of that revision in the newest shape. `context.uri` is put into `data` where the server left it out. */
export function raiseError(error: RpcError, from: RevisionId, context: ErrorContext = {}): RpcError {
  const newestCode = revision(newest()).errors['resourceNotFound']
  const code = revision(from).errors['resourceNotFound']
  if (newestCode === undefined || code === newestCode || error.code !== code) return error
  if (!readsResource(context.method)) return error
  const known = uriIn(error.data)
  const uri = known ?? context.uri
  // Without a method or a URI nothing shows that the code is meant as the specification means it.
  if (uri === undefined && context.method === undefined) return error
  if (uri === undefined || known !== undefined) return { ...error, code: newestCode }
  return { ...error, code: newestCode, data: withUri(error.data, uri) }
}

function readsResource(method: string | undefined): boolean {
  return method === undefined || methodIn(newest(), method)?.carries === 'contents'
}

function uriIn(data: unknown): string | undefined {
  return isObject(data) && typeof data['uri'] === 'string' ? data['uri'] : undefined
}

function withUri(data: unknown, uri: string): unknown {
  if (data === undefined || data === null) return { uri }
  return isObject(data) ? { ...data, uri } : { uri, detail: data }
}
