// What the suite is pointed at: the fixture itself, or mcpx with the fixture as its only server.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from '../../bench/children.mjs'
import { TASKS } from './cells.mjs'

const FIXTURE = fileURLToPath(new URL('../../test/fixtures/everything/server.mjs', import.meta.url))
const TASKS_FIXTURE = fileURLToPath(new URL('../../test/fixtures/everything/tasks.mjs', import.meta.url))
const MCPX = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** Resolves with the URL of the fixture for a client, in one era or in all that it has. @param {string} client @param {'legacy' | 'modern'} [era] */
export async function startFixture(client, era) {
  const args = client === TASKS ? [TASKS_FIXTURE, era ?? 'modern'] : [FIXTURE, '--era', era ?? 'both']
  const { line } = await start([...args, '--port', '0'])
  return line
}

/**
 * Resolves with the URL of mcpx's endpoint.
 * @param {import('./cells.mjs').Cell} cell
 * @param {string} folder
 */
export async function startMcpx({ client, era, transport }, folder) {
  const server =
    transport === 'http'
      ? { url: await startFixture(client, era) }
      : { command: process.execPath, args: client === TASKS ? [TASKS_FIXTURE, era] : [FIXTURE, '--era', era] }
  await mkdir(folder, { recursive: true })
  const config = join(folder, 'mcpx.json')
  // The suite calls tools by the fixture's own names, and asks for roots, which no server that is shared by all gets to know.
  const everything = { ...server, scope: 'principal' }
  await writeFile(config, JSON.stringify({ mcpServers: { everything }, naming: 'none' }))
  const { line } = await start([MCPX, 'daemon', '--config', config, '--port', '0', '--json'], {
    MCPX_STATE_DIR: join(folder, 'state'),
  })
  return /** @type {string} */ (JSON.parse(line).mcp)
}
