import type { Command } from 'commander'
import { createSettings, SETTING_PATHS, shownValue } from '../../config/index.ts'
import type { ConfigFile, ServerDefinition } from '../../config/index.ts'
import { readConfig } from '../config-source.ts'
import { print, printJson, table } from '../output.ts'
import { preferenceSource } from './preference-source.ts'
import { settingFlags, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

/** `mcpx config`: the configuration file in force and what it says, normalised. Nothing is expanded, so nothing secret shows. */
export function addConfig(program: Command): void {
  withSettings(program.command('config'))
    .description('show the configuration file in force and what it says, normalised')
    .option('--json', 'print JSON')
    .action((options: CommonOptions) => {
      const config = readConfig({ cwd: process.cwd(), env: process.env, named: options.config })
      const settings = createSettings({ file: config, env: process.env, flags: settingFlags(options) })
      const servers = [...config.servers.values()].map((definition) => ({
        name: definition.name,
        disabled: definition.disabled,
        protocol: definition.protocol ?? settings.get('upstream.protocol'),
        protocolSource: preferenceSource({ config, settings }, definition.name),
        ...placeOf(definition),
      }))
      if (options.json === true)
        return printJson({
          path: config.path,
          servers,
          settings: shownSettings(config),
          ignored: config.ignored,
        })
      print(`${config.path}\n`)
      const rows = servers.map(({ name, disabled, protocol, protocolSource, where }) => [
        disabled ? `${name} (disabled)` : name,
        protocol,
        protocolSource,
        where,
      ])
      print(table([['SERVER', 'PROTOCOL', 'SET BY', 'WHERE'], ...rows]))
    })
}

function shownSettings({ settings }: ConfigFile): Record<string, unknown> {
  const given = SETTING_PATHS.filter((path) => settings[path] !== undefined)
  return Object.fromEntries(given.map((path) => [path, shownValue(path, settings[path])]))
}

function placeOf({ process: place }: ServerDefinition): {
  readonly transport: string
  readonly where: string
} {
  if (place.kind === 'http') return { transport: place.transportHint ?? 'http', where: place.url }
  return { transport: 'stdio', where: [place.command, ...place.args].join(' ') }
}
