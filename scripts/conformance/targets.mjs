// What the suite is pointed at: the fixture itself, or mcpx with the fixture as its only server.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from '../../bench/children.mjs'
import { fixtureOf } from './cells.mjs'
import { startPipeFront } from './pipe-front.mjs'

/** The programs, by name, with what makes them serve one era or, where they can, both. */
const FIXTURES = new Map([
  [
    'everything',
    { file: 'server.mjs', both: ['--era', 'both'], one: (/** @type {string} */ era) => ['--era', era] },
  ],
  ['tasks', { file: 'tasks.mjs', both: ['modern'], one: (/** @type {string} */ era) => [era] }],
])
/** Half of what the fixture's `test_reconnection` takes, and longer than any other call. */
const STREAM_TIME = '500ms'
const MCPX = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** The arguments for Node that start the fixture for a client, in one era or in all that it has. @param {string} client @param {'legacy' | 'modern'} [era] */
function fixtureArgs(client, era) {
  const fixture = FIXTURES.get(fixtureOf(client))
  if (fixture === undefined) throw new Error(`No fixture ${fixtureOf(client)}`)
  const path = fileURLToPath(new URL(`../../test/fixtures/everything/${fixture.file}`, import.meta.url))
  return [path, ...(era === undefined ? fixture.both : fixture.one(era))]
}

/** Resolves with the URL of the fixture for a client, in one era or in all that it has. @param {string} client @param {'legacy' | 'modern'} [era] */
export async function startFixture(client, era) {
  const { line } = await start([...fixtureArgs(client, era), '--port', '0'])
  return line
}

/**
 * Resolves with the URL of mcpx's endpoint, and with what starts one in front of its pipe.
 * @param {import('./cells.mjs').Cell} cell
 * @param {string} folder
 */
export async function startMcpx({ client, era, transport }, folder) {
  const server =
    transport === 'http'
      ? { url: await startFixture(client, era) }
      : { command: process.execPath, args: fixtureArgs(client, era) }
  await mkdir(folder, { recursive: true })
  const config = join(folder, 'mcpx.json')
  // The suite calls tools by the fixture's own names, and asks for roots, which no server that is shared by all gets to know.
  const everything = { ...server, scope: 'principal' }
  await writeFile(config, JSON.stringify({ mcpServers: { everything }, naming: 'none' }))
  // The suite sends no credential.
  const env = {
    MCPX_STATE_DIR: join(folder, 'state'),
    MCPX_AUTH_LOCAL: 'open',
    MCPX_LEGACY_STREAM_TIME: STREAM_TIME,
  }
  const { line } = await start([MCPX, 'daemon', '--config', config, '--port', '0', '--json'], env)
  return {
    url: /** @type {string} */ (JSON.parse(line).mcp),
    pipe: () => startPipeFront([MCPX, 'serve', '--config', config], env),
  }
}
