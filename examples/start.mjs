// `npm start`: the modern example server on a free port, and the mcpx daemon in front of it and the others of mcpx.json.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** @type {import('node:child_process').ChildProcess[]} */
const children = []

const server = start(['examples/modern-server.mjs'], { stdio: ['ignore', 'pipe', 'inherit'] })
if (!server.stdout) throw new Error('The modern example server has no stdout')
const [url] = await once(createInterface(server.stdout), 'line')

start(['dist/cli/main.js', 'daemon', '--config', 'examples/mcpx.json', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, MCPX_EXAMPLE_MODERN_URL: url },
})
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => end(0))

/** @param {string[]} args @param {import('node:child_process').SpawnOptions} options */
function start(args, options) {
  const child = spawn(process.execPath, args, { cwd: root, ...options })
  child.once('exit', (code) => end(code ?? 1))
  children.push(child)
  return child
}

/** Ends the children; this process ends with the last of them. @param {number} code */
function end(code) {
  process.exitCode ??= code
  for (const child of children) child.kill('SIGTERM')
}
