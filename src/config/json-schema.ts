// The configuration file's JSON Schema, for editors: made from the registry of settings and the table of server keys.
import type { JsonObject } from '../base/index.ts'
import { IGNORED_SERVER_KEYS, SERVER_KEYS } from './servers.ts'
import { SETTING_PATHS, SETTINGS } from './settings.ts'
import type { Setting } from './settings.ts'

/**
 * JSON Schema 2020-12 of a configuration file. Stricter than the reader in one thing: words are expected in the case in
 * which they are listed, so that an editor can complete them.
 */
export function configJsonSchema(): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'mcpx configuration',
    type: 'object',
    allowTrailingCommas: true,
    properties: {
      $schema: { type: 'string' },
      mcpServers: { description: 'The servers by name.', ...SERVERS },
      servers: { description: 'Another name of `mcpServers`.', ...SERVERS },
      inputs: {
        description: "VS Code's input declarations; not used.",
        type: 'array',
        items: { type: 'object' },
      },
      sandbox: { description: 'A key of VS Code; not used.' },
      ...settingsProperties(),
    },
    additionalProperties: false,
    $defs: { server: serverSchema() },
  }
}

const SERVERS: JsonObject = {
  type: 'object',
  propertyNames: { pattern: '^[^/\\u0000-\\u001f\\u007f-\\u009f]+$' },
  additionalProperties: { $ref: '#/$defs/server' },
}

function serverSchema(): JsonObject {
  const own = Object.entries(SERVER_KEYS).map(([name, { type, description }]) => [
    name,
    { description, ...type.schema },
  ])
  const ignored = IGNORED_SERVER_KEYS.map((name) => [
    name,
    { description: 'A key of other hosts; not used.' },
  ])
  return {
    type: 'object',
    properties: Object.fromEntries([...own, ...ignored]),
    oneOf: ['command', 'url', 'serverUrl', 'httpUrl'].map((name) => ({ required: [name] })),
    additionalProperties: false,
  }
}

function settingsProperties(): JsonObject {
  const properties: JsonObject = {}
  for (const path of SETTING_PATHS) {
    const setting: Setting<unknown> = SETTINGS[path]
    const { type, description } = setting
    const leaf = { description, ...type.schema, default: writable(setting) }
    const [group = path, name] = path.split('.')
    if (name === undefined) properties[group] = leaf
    else ((properties[group] ??= emptyGroup()) as Group).properties[name] = leaf
  }
  return properties
}

interface Group extends JsonObject {
  readonly properties: JsonObject
}

function emptyGroup(): Group {
  return { type: 'object', properties: {}, additionalProperties: false }
}

/** The default as a file would have it: `2s` where the value is 2000 milliseconds. */
function writable({ type, default: value }: Setting<unknown>): unknown {
  return type.name === 'duration' || type.name === 'size' ? type.write(value) : value
}
