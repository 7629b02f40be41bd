import { createRequire } from 'node:module'

/** mcpx's version, from its package.json. */
export const VERSION: string = readVersion()

function readVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('../../package.json')
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  return known ? String(manifest.version) : 'unknown'
}
