// Finds and reads the configuration file.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { McpxError } from '../base/index.ts'
import { CONFIG_FILE_NAMES, parseConfigFile } from '../config/index.ts'
import type { ConfigFile } from '../config/index.ts'
import { userConfigFile } from './paths.ts'

export interface ConfigPlace {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What `--config` names. */
  readonly named: string | undefined
}

/**
 * The path of the file that `--config` or `MCPX_CONFIG` names, or of the first one from the working folder upward, or of the
 * user's own. Throws `CONFIG_NOT_FOUND`.
 */
export function findConfig(place: ConfigPlace): string {
  const named = place.named ?? nonEmpty(place.env['MCPX_CONFIG'])
  if (named !== undefined) {
    const path = resolve(place.cwd, named)
    if (existsSync(path)) return path
    throw new McpxError('CONFIG_NOT_FOUND', `There is no configuration file ${path}.`)
  }
  const found = [...upward(place.cwd), userConfigFile(place.env)].find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new McpxError(
    'CONFIG_NOT_FOUND',
    `No configuration file was found. mcpx looks for ${CONFIG_FILE_NAMES.join(', ')} from ${place.cwd} upward, then for ` +
      `${userConfigFile(place.env)}. Create one with an "mcpServers" object, or name one with --config.`,
  )
}

/** Reads the configuration. Throws `CONFIG_NOT_FOUND`, `CONFIG_SYNTAX` or `CONFIG_INVALID`. */
export function readConfig(place: ConfigPlace): ConfigFile {
  const path = findConfig(place)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw new McpxError(
      'CONFIG_NOT_FOUND',
      `The configuration file ${path} cannot be read (${String(code)}).`,
      { cause: error },
    )
  }
  return parseConfigFile(text, { path })
}

function upward(folder: string): string[] {
  const here = CONFIG_FILE_NAMES.map((name) => join(folder, name))
  const parent = dirname(folder)
  return parent === folder ? here : [...here, ...upward(parent)]
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
