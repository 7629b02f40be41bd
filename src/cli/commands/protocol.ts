import type { Command } from 'commander'
import { SILENT } from '../../base/index.ts'
import { reportProtocol } from '../../http/index.ts'
import type { ProtocolReport } from '../../http/index.ts'
import { formatAge, print, printJson, table } from '../output.ts'
import { createRuntime } from '../runtime.ts'
import { ask, runningDaemon } from './daemon-client.ts'
import { preferenceSource } from './preference-source.ts'
import { settingFlags, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

/** `mcpx protocol`: each server's era, what it was found by, and what is remembered. */
export function addProtocol(program: Command): void {
  withSettings(program.command('protocol'))
    .description(
      'show the era of each server: the preference, the live one, what is remembered, the last probe',
    )
    .argument('[server]', 'only this one, with the frames of its last probe')
    .option('--json', 'print JSON')
    .action(async (server: string | undefined, options: CommonOptions) => {
      const all = await reports(options)
      const shown = all.filter(({ name }) => server === undefined || name === server)
      if (options.json === true) return printJson({ servers: shown })
      printReports(shown)
      if (server !== undefined) for (const report of shown) printFrames(report)
    })
}

/** The daemon's word where one runs, else what the configuration and the state folder say. */
async function reports(options: CommonOptions): Promise<readonly ProtocolReport[]> {
  const daemon = runningDaemon(options)
  if (daemon !== undefined) return (await ask<{ servers: ProtocolReport[] }>(daemon, '/v1/protocol')).servers
  const runtime = createRuntime({
    configPath: options.config,
    flags: settingFlags(options),
    log: () => SILENT,
  })
  const told = reportProtocol(runtime.gateway, Date.now(), (server) => preferenceSource(runtime, server))
  await runtime.stop('the command is done')
  return told
}

function printReports(shown: readonly ProtocolReport[]): void {
  const rows = shown.map(({ name, preference, preferenceSource: source, live, record }) => [
    name,
    preference,
    source,
    live?.era ?? '-',
    live?.revision ?? '-',
    live?.eraSource ?? '-',
    record === null ? '-' : `${record.era} (${record.source}, ${formatAge(record.ageMs)} ago)`,
  ])
  print(table([['SERVER', 'PREFERENCE', 'SET BY', 'ERA', 'REVISION', 'FOUND BY', 'REMEMBERED'], ...rows]))
}

function printFrames({ probe }: ProtocolReport): void {
  if (probe.length === 0) return print('\nNo probe yet.')
  const rows = probe.map(({ dir, method, ms, summary }) => [
    `${ms} ms`,
    dir === 'sent' ? '→' : '←',
    method,
    summary,
  ])
  print(`\n${table([['AT', '', 'FRAME', 'SAYS'], ...rows])}`)
}
