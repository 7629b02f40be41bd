import type { Command } from 'commander'
import { McpxError } from '../../base/index.ts'
import { createSettings, settingPath } from '../../config/index.ts'
import type { SettingReport } from '../../config/index.ts'
import { readConfig } from '../config-source.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { print, printJson, table } from '../output.ts'
import { ask, runningDaemon } from './daemon-client.ts'
import { settingFlags, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

interface SettingsOptions extends CommonOptions {
  readonly unset?: boolean
}

/** `mcpx settings [path] [value]`: every setting with its source; a value changes a running daemon. */
export function addSettings(program: Command): void {
  withSettings(program.command('settings'))
    .description('show the settings with their sources, or change one of a running daemon')
    .argument('[path]', 'only this one')
    .argument('[value]', 'change it in the running daemon, until that stops')
    .option('--unset', 'take a change back')
    .option('--json', 'print JSON')
    .action(async (path: string | undefined, value: string | undefined, options: SettingsOptions) => {
      const daemon = runningDaemon(options)
      if (value !== undefined || options.unset === true)
        await change(daemon, path, options.unset === true ? undefined : value)
      const wanted = path === undefined ? undefined : settingPath(path)
      const all =
        daemon === undefined
          ? localReports(options)
          : (await ask<{ settings: SettingReport[] }>(daemon, '/v1/settings')).settings
      const shown = all.filter((report) => wanted === undefined || report.path === wanted)
      if (options.json === true) printJson({ settings: shown })
      else printReports(shown)
    })
}

async function change(
  daemon: DaemonRecord | undefined,
  path: string | undefined,
  value: string | undefined,
): Promise<void> {
  if (path === undefined)
    throw new McpxError('USAGE', 'Name the setting to change: mcpx settings <path> <value>.')
  if (daemon === undefined) {
    throw new McpxError(
      'USAGE',
      'No daemon of this configuration runs. Write the setting into the configuration file to keep it.',
    )
  }
  const route = `/v1/settings/${encodeURIComponent(settingPath(path))}`
  await (value === undefined
    ? ask(daemon, route, { method: 'DELETE' })
    : ask(daemon, route, { method: 'PUT', body: { value } }))
}

function localReports(options: CommonOptions): readonly SettingReport[] {
  const file = readConfig({ cwd: process.cwd(), env: process.env, named: options.config })
  return createSettings({ file, env: process.env, flags: settingFlags(options) }).list()
}

function printReports(reports: readonly SettingReport[]): void {
  const rows = reports.map(({ path, text, source, detail, displaced }) => [
    path,
    text,
    detail === undefined ? source : `${source} (${detail})`,
    displaced.map((other) => other.source).join(', '),
  ])
  print(table([['SETTING', 'VALUE', 'SET BY', 'INSTEAD OF'], ...rows]))
}
