/**
 * One cell: the revision that the suite speaks, or `tasks` for the extension's scenarios in the newest one, the only era of the server behind mcpx, and how mcpx reaches it.
 * @typedef {{ client: string, era: 'legacy' | 'modern', transport: 'http' | 'stdio' }} Cell
 */

export const TASKS = 'tasks'
export const CLIENTS = ['2025-06-18', '2025-11-25', '2026-07-28', TASKS]
const ERAS = /** @type {const} */ (['legacy', 'modern'])
const TRANSPORTS = /** @type {const} */ (['http', 'stdio'])

/** @type {Cell[]} */
export const CELLS = CLIENTS.flatMap((client) =>
  ERAS.flatMap((era) => TRANSPORTS.map((transport) => ({ client, era, transport }))),
)

/** @param {Cell} cell */
export const nameOf = ({ client, era, transport }) => `${client}/${era}/${transport}`
