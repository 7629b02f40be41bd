/**
 * One cell: what the suite plays, the only era of the server behind mcpx, and how mcpx reaches it.
 * @typedef {{ client: string, era: 'legacy' | 'modern', transport: 'http' | 'stdio' }} Cell
 */
/**
 * What the suite plays: all scenarios of a revision, those alone that a revision's frozen set of requirements has, or those
 * of an extension, which belong to no revision. `by` is how mcpx is reached: where nothing is said, over HTTP.
 * @typedef {{ revision: string, by?: 'pipe' } | { requirements: string } | { scenarios: string[], fixture?: string }} Selection
 */

/** @type {Record<string, Selection>} */
export const CLIENTS = {
  '2025-06-18': { revision: '2025-06-18' },
  '2025-11-25': { revision: '2025-11-25' },
  '2026-07-28': { revision: '2026-07-28' },
  'required-2025-11-25': { requirements: '2025-11-25' },
  'required-2026-07-28': { requirements: '2026-07-28' },
  'stdio-2025-11-25': { revision: '2025-11-25', by: 'pipe' },
  'stdio-2026-07-28': { revision: '2026-07-28', by: 'pipe' },
  tasks: {
    fixture: 'tasks',
    scenarios: [
      'tasks-lifecycle',
      'tasks-capability-negotiation',
      'tasks-wire-fields',
      'tasks-request-state-removal',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-dispatch-and-envelope',
      'tasks-status-notifications',
      'tasks-required-task-error',
    ],
  },
  skills: {
    scenarios: ['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest'],
  },
}
const ERAS = /** @type {const} */ (['legacy', 'modern'])
const TRANSPORTS = /** @type {const} */ (['http', 'stdio'])

/** @type {Cell[]} */
export const CELLS = Object.keys(CLIENTS).flatMap((client) =>
  ERAS.flatMap((era) => TRANSPORTS.map((transport) => ({ client, era, transport }))),
)

/** @param {Cell} cell */
export const nameOf = ({ client, era, transport }) => `${client}/${era}/${transport}`

/** @param {string} client @returns {Selection} */
export function selectionOf(client) {
  const selection = CLIENTS[client]
  if (selection === undefined) throw new Error(`No such client: ${client}`)
  return selection
}

/** Scenarios about HTTP itself, of which a pipe has nothing. */
const OF_HTTP = new Set([
  'dns-rebinding-protection',
  'http-custom-header-server-validation',
  'http-header-validation',
  'server-session-lifecycle',
  'server-sse-multiple-streams',
  'server-sse-polling',
])

/** Whether a check says anything of how a client reaches mcpx. @param {string} client @param {{ scenario: string, id: string }} check */
export function concerns(client, { scenario, id }) {
  return !isPipe(client) || !(OF_HTTP.has(scenario) || id.includes('header') || id.includes('http'))
}

/** @param {string} client */
export function isPipe(client) {
  const selection = selectionOf(client)
  return 'by' in selection && selection.by === 'pipe'
}

/** The fixture that has what a client asks for. @param {string} client */
export function fixtureOf(client) {
  const selection = selectionOf(client)
  return ('fixture' in selection && selection.fixture) || 'everything'
}
