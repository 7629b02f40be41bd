import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/**
 * The path of a package's command, to be run with Node itself: no shell is needed, on any system.
 * @param {string} pkg
 * @returns {string}
 */
export function bin(pkg, name = pkg) {
  const manifest = manifestOf(pkg)
  /** @type {{ bin: string | Record<string, string> }} */
  const { bin: commands } = require(manifest)
  const command = typeof commands === 'string' ? commands : commands[name]
  if (command === undefined) throw new Error(`${pkg} has no command ${name}`)
  return join(dirname(manifest), command)
}

/**
 * Looks in the folders themselves, since a package may not export its package.json.
 * @param {string} pkg
 */
function manifestOf(pkg) {
  for (const folder of require.resolve.paths(pkg) ?? []) {
    const candidate = join(folder, pkg, 'package.json')
    try {
      return require.resolve(candidate)
    } catch {
      continue
    }
  }
  throw new Error(`${pkg} is not installed: run npm ci`)
}
