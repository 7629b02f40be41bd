// Finds and reads the configuration file.
import { readFileSync } from 'node:fs'
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
 * The file that `--config` or `MCPX_CONFIG` names, or the first one from the working folder upward, or the user's own.
 * Throws `CONFIG_NOT_FOUND`, `CONFIG_SYNTAX` or `CONFIG_INVALID`.
 */
export function readConfig(place: ConfigPlace): ConfigFile {
  const named = place.named ?? nonEmpty(place.env['MCPX_CONFIG'])
  if (named !== undefined) {
    const path = resolve(place.cwd, named)
    const text = readIfThere(path)
    if (text === undefined) throw new McpxError('CONFIG_NOT_FOUND', `There is no configuration file ${path}.`)
    return parseConfigFile(text, { path })
  }
  const candidates = [...upward(place.cwd), userConfigFile(place.env)]
  for (const path of candidates) {
    const text = readIfThere(path)
    if (text !== undefined) return parseConfigFile(text, { path })
  }
  throw new McpxError(
    'CONFIG_NOT_FOUND',
    `No configuration file was found. mcpx looks for ${CONFIG_FILE_NAMES.join(', ')} from ${place.cwd} upward, then for ` +
      `${userConfigFile(place.env)}. Create one with an "mcpServers" object, or name one with --config.`,
  )
}

function upward(folder: string): string[] {
  const here = CONFIG_FILE_NAMES.map((name) => join(folder, name))
  const parent = dirname(folder)
  return parent === folder ? here : [...here, ...upward(parent)]
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new McpxError(
      'CONFIG_NOT_FOUND',
      `The configuration file ${path} cannot be read (${String(code)}).`,
      { cause: error },
    )
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
