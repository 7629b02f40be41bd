/**
 * A check of the client leg that mcpx does not pass, with the reason. The run fails if such a check passes.
 * @typedef {{ scenario: string, check: string, revisions: string[], reason: string }} ClientException
 */

/** @type {ClientException[]} */
export const CLIENT_EXCEPTIONS = []
