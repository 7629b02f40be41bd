/**
 * A check that cannot pass in the cells, with the reason in the specification's words. A cell may be named by its
 * first parts. The run fails if such a check passes.
 * @typedef {{ check: string, cells: string[], reason: string }} Exception
 */

const MODERN_TO_LEGACY = ['2026-07-28/legacy', 'required-2026-07-28/legacy', 'stdio-2026-07-28/legacy']
const NO_KEYS =
  '2026-07-28, basic/patterns/mrtr, of inputRequests: "Keys are server-assigned string identifiers". 2025-11-25, ' +
  'client/elicitation, gives elicitation/create a message and a requestedSchema and no key, and the check wants the key user_name.'
const NO_TYPED_ERROR =
  '2026-07-28, basic/index: a request that needs an undeclared capability is answered with "MissingRequiredClientCapabilityError ' +
  '(-32021) whose data.requiredCapabilities lists the missing capabilities". 2025-11-25, basic/lifecycle, has no such error: ' +
  'both parties "Only use capabilities that were successfully negotiated", so the tool ends in its own words.'

/** @type {Exception[]} */
export const EXCEPTIONS = [
  { check: 'sep-2322-elicitation-incomplete', cells: MODERN_TO_LEGACY, reason: NO_KEYS },
  { check: 'sep-2322-elicitation-complete', cells: MODERN_TO_LEGACY, reason: NO_KEYS },
  { check: 'sep-2322-ignore-unexpected-params', cells: MODERN_TO_LEGACY, reason: NO_KEYS },
  { check: 'sep-2575-server-rejects-undeclared-capability', cells: MODERN_TO_LEGACY, reason: NO_TYPED_ERROR },
  { check: 'sep-2575-missing-capability-http-400', cells: MODERN_TO_LEGACY, reason: NO_TYPED_ERROR },
]
