import { Option } from 'commander'
import type { Command } from 'commander'
import type { ClientReport, ClientsReport } from '../../http/index.ts'
import type { Era } from '../../spec/index.ts'
import { formatAge, print, printable, printJson, styled, table } from '../output.ts'
import { ask, neededDaemon } from './daemon-client.ts'
import type { CommonOptions } from './shared.ts'

interface ClientsOptions extends CommonOptions {
  readonly stuck?: boolean
  readonly era?: Era
}

/** `mcpx clients`: who calls the running daemon, in which era, and who is stuck. */
export function addClients(program: Command): void {
  program
    .command('clients')
    .description('show who calls the running daemon: era, revision asked and served, who is stuck')
    .option('-c, --config <file>', 'the configuration file; without it one is searched for')
    .option('--stuck', 'only those that are refused and have had no success since')
    .addOption(new Option('--era <era>', 'only those that were seen in it').choices(['legacy', 'modern']))
    .option('--json', 'print JSON')
    .action(async (options: ClientsOptions) => {
      const report = chosen(await ask<ClientsReport>(neededDaemon(options), '/v1/clients'), options)
      if (options.json === true) printJson(report)
      else printReport(report, Date.now())
    })
}

/** The report with the wanted clients only; its sums stay those of all. */
function chosen(report: ClientsReport, { stuck, era }: ClientsOptions): ClientsReport {
  const clients = report.clients.filter(
    (client) => (stuck !== true || client.stuck) && (era === undefined || client.eras[era] !== null),
  )
  return { ...report, clients }
}

function printReport(
  { clients, stuck, fallback, ambiguous, requests, forgotten }: ClientsReport,
  now: number,
): void {
  if (clients.length === 0) return print('No such client has called.')
  const head = [
    'CLIENT',
    'FROM',
    'ERA',
    'ASKED',
    'SERVED',
    'REQUESTS',
    'REFUSED',
    'FELL BACK',
    'LAST SEEN',
    'STATE',
  ]
  print(table([head, ...clients.map((client) => rowOf(client, now))]))
  print('')
  print(
    `requests        ${requests.modern} modern, ${requests.legacy} legacy, ${requests.unknown} of no known era`,
  )
  const rate = fallback.rate === null ? '' : ` (${Math.round(fallback.rate * 100)} % of initialize requests)`
  print(`fallback pairs  ${fallback.pairs}${rate}, ${fallback.lostMs} ms lost`)
  print(`ambiguous       ${ambiguous.header} by header, ${ambiguous.method} by method`)
  print(`stuck clients   ${stuck === 0 ? '0' : styled('red', String(stuck))}`)
  if (forgotten > 0) print(`${forgotten} clients that were not seen for longest are no longer shown.`)
}

function rowOf(client: ClientReport, now: number): string[] {
  const { name, version, agent, remote, transport, era, asked, served } = client
  const title = name ?? (agent === null ? '(no name)' : `(no name, ${agent})`)
  return [
    version === null ? title : `${title} ${version}`,
    remote ?? transport,
    era ?? '-',
    asked ?? '-',
    served ?? '-',
    String(client.requests),
    String(client.refusals),
    String(client.fallbackPairs),
    `${formatAge(Math.max(0, now - client.lastSeen))} ago`,
    stateOf(client, now),
  ].map((cell) => printable(cell).replaceAll('\n', '?'))
}

function stateOf({ stuckSince, lastError }: ClientReport, now: number): string {
  if (stuckSince === null) return 'ok'
  const { status, code } = lastError ?? { status: null, code: null }
  const last = [status === null ? [] : [`HTTP ${status}`], code === null ? [] : [String(code)]]
    .flat()
    .join(', ')
  return `stuck for ${formatAge(Math.max(0, now - stuckSince))} (${last})`
}
