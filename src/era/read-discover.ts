import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { ERRORS, isRevisionId, revisionsOf } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Answer, RpcError } from '../wire/index.ts'

/** What an answer to `server/discover` says about the server. */
export type DiscoverReading =
  | { readonly kind: 'modern'; readonly revision: RevisionId; readonly result: JsonObject }
  | { readonly kind: 'legacy'; readonly why: string }
  | { readonly kind: 'ask-again'; readonly revision: RevisionId; readonly error: RpcError }
  | { readonly kind: 'no-mutual-version'; readonly theirs: readonly string[] }
  | { readonly kind: 'modern-error'; readonly error: RpcError }

/**
 * Reads an answer to `server/discover`. Legacy servers refuse unknown methods with any code at all, so only the three
 * codes that 2026-07-28 defines speak for a modern server; everything else is legacy.
 */
export function readDiscover(answer: Answer): DiscoverReading {
  return 'result' in answer ? readResult(answer.result) : readError(answer.error)
}

/** Whether an error can only come from a server that knows revision 2026-07-28 or later. */
export function isModernError(error: RpcError): boolean {
  if (error.code === ERRORS.unsupportedProtocolVersion) return supportedOf(error) !== undefined
  return error.code === ERRORS.headerMismatch || error.code === ERRORS.missingClientCapability
}

function readResult(result: JsonObject): DiscoverReading {
  const theirs = result['supportedVersions']
  if (!Array.isArray(theirs))
    return { kind: 'legacy', why: 'answered with something that is no discover result' }
  const versions = theirs.filter((version) => typeof version === 'string')
  const revision = newestShared('modern', versions)
  if (revision !== undefined) return { kind: 'modern', revision, result }
  if (newestShared('legacy', versions) !== undefined) {
    return { kind: 'legacy', why: `offers legacy revisions only (${versions.join(', ')})` }
  }
  return { kind: 'no-mutual-version', theirs: versions }
}

function readError(error: RpcError): DiscoverReading {
  const supported = supportedOf(error)
  if (error.code === ERRORS.unsupportedProtocolVersion && supported !== undefined) {
    const revision = newestShared('modern', supported)
    if (revision !== undefined) return { kind: 'ask-again', revision, error }
    if (newestShared('legacy', supported) !== undefined) {
      return { kind: 'legacy', why: `offers legacy revisions only (${supported.join(', ')})` }
    }
    return { kind: 'no-mutual-version', theirs: supported }
  }
  if (isModernError(error)) return { kind: 'modern-error', error }
  return { kind: 'legacy', why: `refused with ${error.code}` }
}

function supportedOf(error: RpcError): string[] | undefined {
  const supported = isObject(error.data) ? error.data['supported'] : undefined
  if (!Array.isArray(supported)) return undefined
  return supported.filter((version) => typeof version === 'string')
}

function newestShared(era: 'legacy' | 'modern', theirs: readonly string[]): RevisionId | undefined {
  return revisionsOf(era).find((ours) => theirs.some((version) => isRevisionId(version) && version === ours))
}
