// Changes of mcpx's own configuration file. What would not be read again is not written.
import { resolve } from 'node:path'
import { McpxError, nearest } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { parseConfigFile } from '../../config/index.ts'
import type { ConfigFile } from '../../config/index.ts'
import { findConfig } from '../config-source.ts'
import type { ConfigPlace } from '../config-source.ts'
import { readJson, withoutValue, withValue } from './json-text.ts'
import { changeText } from './text-file.ts'

const EMPTY = '{\n  "mcpServers": {}\n}\n'

/** The configuration in force, or the one that is to be: what `--config` or `MCPX_CONFIG` names, or `mcpx.json` here. */
export function configToChange(place: ConfigPlace): string {
  try {
    return findConfig(place)
  } catch (error) {
    if (!(error instanceof McpxError) || error.code !== 'CONFIG_NOT_FOUND') throw error
    const named = place.named ?? place.env['MCPX_CONFIG']
    return resolve(place.cwd, named === undefined || named === '' ? 'mcpx.json' : named)
  }
}

/** The configuration of a text; that of no file is empty. Throws CONFIG_SYNTAX, CONFIG_INVALID. */
export function configOf(text: string | undefined, path: string): ConfigFile {
  return parseConfigFile(text ?? EMPTY, { path })
}

/** Adds the servers at the end, in their order; one of the same name gives way. Throws USAGE for what mcpx would not read. */
export async function addServers(
  path: string,
  decide: (config: ConfigFile) => ReadonlyMap<string, JsonObject>,
): Promise<void> {
  await changeText(path, (file) => {
    const servers = decide(configOf(file?.text, path))
    if (servers.size === 0) return undefined
    let text = file?.text ?? EMPTY
    for (const [name, entry] of servers)
      text = withValue(text, entry, { path, keys: keysOf(text, path, name) })
    try {
      configOf(text, path)
    } catch (cause) {
      const why = cause instanceof McpxError ? cause.message.split('\n').slice(1).join('\n') : ''
      throw new McpxError('USAGE', `Nothing was written to ${path}, since it would not be right:\n${why}`, {
        cause,
      })
    }
    return text
  })
}

/** Takes a server out. Throws SERVER_UNKNOWN with the nearest name where there is none of this one. */
export async function removeServer(path: string, name: string): Promise<void> {
  await changeText(path, (file) => {
    const { servers } = configOf(file?.text, path)
    if (file !== undefined && servers.has(name))
      return withoutValue(file.text, { path, keys: keysOf(file.text, path, name) })
    const near = nearest(name, [...servers.keys()])
    const names = [...servers.keys()].join(', ') || 'none'
    const advice = near === undefined ? `The servers are: ${names}.` : `Did you mean "${near}"?`
    throw new McpxError('SERVER_UNKNOWN', `There is no server ${JSON.stringify(name)} in ${path}. ${advice}`)
  })
}

/** Where a server stands, or a new one is to stand: VS Code's files have `servers`. */
function keysOf(text: string, path: string, name: string): string[] {
  const { mcpServers, servers } = readJson(text, path) as Record<string, JsonObject | undefined>
  const group =
    servers !== undefined && (Object.hasOwn(servers, name) || mcpServers === undefined)
      ? 'servers'
      : 'mcpServers'
  return [group, name]
}
