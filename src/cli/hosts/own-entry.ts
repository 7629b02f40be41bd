// mcpx's own entry in the files of other clients.
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isLoopback, isObject } from '../../base/index.ts'

/** The name under which clients have mcpx. */
export const OWN_NAME = 'mcpx'

/** What starts `mcpx serve` from anywhere: hosts have another PATH and folder than a shell, so all of it is absolute. */
export function ownEntry(config: string | undefined): { command: string; args: string[] } {
  const main = fileURLToPath(new URL('../main.js', import.meta.url))
  const named = config === undefined ? [] : ['--config', config]
  return { command: process.execPath, args: [main, 'serve', ...named] }
}

/** Whether an entry is mcpx: serving what mcpx serves through mcpx would never end. */
export function isOwn(name: string, entry: unknown): boolean {
  if (!isObject(entry)) return false
  const { command, args, url = entry['serverUrl'] } = entry
  if (typeof url === 'string') return name === OWN_NAME && isOwnUrl(url)
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === 'string')
  const serve = words.indexOf('serve')
  return serve > 0 && words.slice(0, serve).some(isProgram)
}

function isProgram(word: string): boolean {
  const path = word.replaceAll('\\', '/')
  return /^mcpx(@.*|\.cmd|\.exe|\.js)?$/i.test(basename(path)) || path.endsWith('/cli/main.js')
}

function isOwnUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { hostname, pathname } = new URL(url)
  return isLoopback(hostname) && pathname.startsWith('/mcp')
}
