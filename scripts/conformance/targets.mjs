// What the suite is pointed at: the fixture itself, or mcpx with the fixture as its only server.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from '../../bench/children.mjs'

const FIXTURE = fileURLToPath(new URL('../../test/fixtures/everything/server.mjs', import.meta.url))
const MCPX = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** Resolves with the fixture's URL. @param {'legacy' | 'modern' | 'both'} era */
export async function startFixture(era) {
  const { line } = await start([FIXTURE, '--era', era, '--port', '0'])
  return line
}

/**
 * Resolves with the URL of mcpx's endpoint.
 * @param {import('./cells.mjs').Cell} cell
 * @param {string} folder
 */
export async function startMcpx({ era, transport }, folder) {
  const server =
    transport === 'http'
      ? { url: await startFixture(era) }
      : { command: process.execPath, args: [FIXTURE, '--era', era] }
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
