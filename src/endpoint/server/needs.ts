import { ERRORS } from '../../spec/index.ts'

/** An error that a method throws, with what the JSON-RPC error says. */
export interface MethodError extends Error {
  readonly code: number
  readonly data?: unknown
}

/**
 * The error to throw where a method cannot go on without a capability that the client did not declare:
 * `throw needs('elicitation')`, or `needs('elicitation.url')` for a part of one.
 */
export function needs(capability: string): MethodError {
  const requiredCapabilities = capability
    .split('.')
    .reduceRight<object>((inner, name) => ({ [name]: inner }), {})
  return Object.assign(new Error(`The client must declare the capability ${capability}`), {
    code: ERRORS.missingClientCapability,
    data: { requiredCapabilities },
  })
}
