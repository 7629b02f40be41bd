import type { Command } from 'commander'
import { listen, reportServers } from '../../http/index.ts'
import type { ServerReport } from '../../http/index.ts'
import { LOCAL_USER } from '../../endpoint/index.ts'
import { systemClock } from '../../transport/index.ts'
import { print, styled, table } from '../output.ts'
import { createRuntime, endpointLimits, MCPX_INFO } from '../runtime.ts'
import type { Runtime } from '../runtime.ts'
import { VERSION } from '../version.ts'
import { settingFlags, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

/** `mcpx daemon`: all servers behind one address, until it is told to stop. */
export function addDaemon(program: Command): void {
  withSettings(program.command('daemon'))
    .description('serve all servers over HTTP, at /mcp and each at /mcp/<server>')
    .option('-p, --port <number>', 'short for --http-port; 0 takes a free one')
    .option('--json', 'print the address as one line of JSON')
    .action(async (options: CommonOptions & { readonly port?: string }) => {
      const flags = {
        ...settingFlags(options),
        ...(options.port === undefined ? {} : { 'http.port': options.port }),
      }
      const { createLog } = await import('../logger.ts')
      const runtime = createRuntime({ configPath: options.config, flags, log: createLog })
      try {
        await run(runtime, options.json === true)
      } finally {
        await runtime.stop('the daemon stops')
      }
    })
}

async function run(runtime: Runtime, json: boolean): Promise<void> {
  const { gateway, settings, log, config } = runtime
  const told = stopSignal()
  const listener = await listen({
    host: settings.get('http.host'),
    port: settings.get('http.port'),
    serverInfo: MCPX_INFO,
    limits: endpointLimits(settings),
    allowedHosts: () => settings.get('http.allowedHosts'),
    allowedOrigins: () => settings.get('http.allowedOrigins'),
    preferenceSource: (server) => preferenceSource(runtime, server),
    version: VERSION,
    clock: systemClock,
    gateway,
    log,
  })
  const mcp = `${listener.url}/mcp`
  if (json) print(JSON.stringify({ mcp, v1: `${listener.url}/v1`, pid: process.pid }))
  else
    print(
      `mcpx ${VERSION} serves ${gateway.members.length} servers of ${config.path} at ${styled('bold', mcp)}`,
    )
  // What a server offers is not known before it has been asked once.
  const warm = Promise.all(
    gateway.members.map((member) =>
      member
        .lists(LOCAL_USER)
        .get('tools')
        .catch(() => undefined),
    ),
  )
  if (!json) void warm.then(() => print(welcome(reportServers(gateway), mcp)))
  const signal = await told
  log.info('stopping', { signal })
  await listener.close('mcpx is stopping')
}

/** Where a server's preference comes from: its own key, or the layer of the setting. */
function preferenceSource({ config, settings }: Runtime, server: string): string {
  if (config.servers.get(server)?.protocol !== undefined) return `server (${config.path})`
  const { source, detail } = settings.explain('upstream.protocol')
  return detail === undefined ? source : `${source} (${detail})`
}

/** The first signal asks for an orderly end; the second one ends at once, and the guardian ends what is left. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let asked = false
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        resolve(signal)
      })
    }
  })
}

function welcome(servers: readonly ServerReport[], mcp: string): string {
  const rows = servers.map(({ name, state, era, revision, eraSource, transport, tools, startMs }) => [
    name,
    state,
    era ?? '-',
    revision ?? '-',
    eraSource ?? '-',
    transport,
    tools === null ? '-' : String(tools),
    startMs === null ? '-' : `${startMs} ms`,
  ])
  const failures = servers.flatMap(({ error }) => (error === null ? [] : [styled('red', error.message)]))
  const paste = [
    ['Claude Code', `claude mcp add --transport http mcpx ${mcp}`],
    ['Cursor', `~/.cursor/mcp.json  {"mcpServers": {"mcpx": {"url": "${mcp}"}}}`],
    ['VS Code', `code --add-mcp '{"name": "mcpx", "type": "http", "url": "${mcp}"}'`],
  ].map(([client = '', line = '']) => `  ${client.padEnd(12)}${line}`)
  return [
    '',
    table([['SERVER', 'STATE', 'ERA', 'REVISION', 'FOUND BY', 'TRANSPORT', 'TOOLS', 'STARTED IN'], ...rows]),
    ...(failures.length > 0 ? ['', ...failures] : []),
    '',
    'Paste into a client:',
    ...paste,
    '',
  ].join('\n')
}
