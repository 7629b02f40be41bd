// What the commands have in common: the options that settings give them, and a gateway for as long as they run.
import { Option } from 'commander'
import type { Command } from 'commander'
import { SILENT } from '../../base/index.ts'
import { flagName, SETTING_PATHS, SETTINGS } from '../../config/index.ts'
import type { SettingPath } from '../../config/index.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { createRuntime } from '../runtime.ts'
import type { Runtime } from '../runtime.ts'
import { onStopSignal } from '../signals.ts'
import { runningDaemon } from './daemon-client.ts'

export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
  readonly [flag: string]: unknown
}

/** Adds `--config` and a flag for each setting. */
export function withSettings(command: Command): Command {
  command.option('-c, --config <file>', 'the configuration file; without it one is searched for')
  for (const path of SETTING_PATHS) {
    const option = new Option(`${flagName(path)} <value>`, SETTINGS[path].description)
    command.addOption(option.helpGroup('Settings:'))
  }
  return command
}

/** The settings that the command line gives, by path. */
export function settingFlags(options: CommonOptions): Record<string, unknown> {
  const given = SETTING_PATHS.map((path) => [path, options[attributeOf(path)]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

/** The daemon that a command may work through: settings of this one command cannot be the daemon's. */
export function sharedDaemon(options: CommonOptions): DaemonRecord | undefined {
  return Object.keys(settingFlags(options)).length > 0 ? undefined : runningDaemon(options)
}

/** Runs with a gateway whose servers are ended afterwards, whatever happens. Only failures are logged, to stderr. */
export async function withRuntime<T>(
  options: CommonOptions,
  run: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const runtime = createRuntime({
    configPath: options.config,
    flags: settingFlags(options),
    log: () => SILENT,
  })
  const unheard = onStopSignal(() => {
    void runtime.stop('interrupted').finally(() => process.exit(130))
  })
  try {
    return await run(runtime)
  } finally {
    unheard()
    await runtime.stop('the command is done')
  }
}

/** `--upstream-probe-timeout` as commander names its value. */
function attributeOf(path: SettingPath): string {
  return new Option(`${flagName(path)} <value>`).attributeName()
}
