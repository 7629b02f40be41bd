import type { Command } from 'commander'
import { asMcpxError } from '../../base/index.ts'
import { EraWatch, EventLog, listen, listenSocket, reportServers, unknownServer } from '../../http/index.ts'
import type { Listener, ServerReport, SocketListener } from '../../http/index.ts'
import type { PoolEvent } from '../../pool/index.ts'
import { LOCAL_CALLER } from '../../endpoint/index.ts'
import { systemClock } from '../../transport/index.ts'
import { findDaemon, leaveRecord, socketPath } from '../daemon-record.ts'
import { checkBind, isExposed } from '../bind.ts'
import { print, styled, table } from '../output.ts'
import { stateDir } from '../paths.ts'
import { ensureToken, tokenPath } from '../token-file.ts'
import { createRuntime, endpointLimits, endpointOptions, MCPX_INFO } from '../runtime.ts'
import type { Runtime } from '../runtime.ts'
import { onStopSignal } from '../signals.ts'
import { VERSION } from '../version.ts'
import { preferenceSource } from './preference-source.ts'
import { settingFlags, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

/** `mcpx daemon`: all servers behind one address, until it is told to stop. */
export function addDaemon(program: Command): void {
  withSettings(program.command('daemon'))
    .description('serve all servers over HTTP, at /mcp and each at /mcp/<server>')
    .option('-p, --port <number>', 'short for --http-port; 0 takes a free one')
    .option('--json', 'print the address as one line of JSON')
    .option('--insecure', 'listen where other machines reach it even if callers need no credential')
    .action(async (options: DaemonOptions) => {
      const flags = {
        ...settingFlags(options),
        ...(options.port === undefined ? {} : { 'http.port': options.port }),
      }
      const { createLog } = await import('../logger.ts')
      const runtime = createRuntime({
        ...{ configPath: options.config, flags, log: createLog },
        ...{ logins: true, insecure: options.insecure === true },
      })
      try {
        secure(runtime, options.insecure === true)
        await run(runtime, options.json === true)
      } finally {
        await runtime.stop('the daemon stops')
      }
    })
}

interface DaemonOptions extends CommonOptions {
  readonly port?: string
  readonly insecure?: boolean
}

/** Makes sure that there is a token to ask for, and says where the daemon is open. Throws BIND_REFUSED. */
function secure({ settings, log }: Runtime, insecure: boolean): void {
  checkBind(settings, insecure)
  const folder = stateDir(process.env)
  const kept = ensureToken(folder, log)
  if (!kept && settings.get('auth.local') === 'token')
    log.error('nobody can be the local user over HTTP: the token cannot be kept', {
      path: tokenPath(folder),
      advice: 'MCPX_STATE_DIR names another folder; keys of auth.keys work all the same',
    })
  if (!isExposed(settings)) return
  log.warn('other machines can reach the daemon, and what they send is not encrypted', {
    host: settings.get('http.host'),
    callers: settings.get('auth.local') === 'open' ? 'everybody is the local user' : 'with a credential',
  })
}

async function run(runtime: Runtime, json: boolean): Promise<void> {
  const { gateway, settings, log, pool, sealer, principals } = runtime
  const told = new Promise<string>(onStopSignal)
  const events = new EventLog()
  pool.onEvent((event) => publish(events, event))
  const watch = new EraWatch(systemClock)
  watch.onOutcome((outcome) => events.publish('call', outcome))
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
    ...{ gateway, log, settings, events, sealer, principals, watch },
  })
  const opened: Opened = { listener }
  try {
    await beFound(runtime, opened, watch)
    announce(runtime, listener.url, json)
    const signal = await told
    log.info('stopping', { signal })
  } finally {
    opened.forget?.()
    await Promise.all([opened.socket?.close(), listener.close('mcpx is stopping')])
  }
}

interface Opened {
  readonly listener: Listener
  socket?: SocketListener
  forget?: () => void
}

/** Opens the socket for `mcpx serve` and leaves word for the other commands. A second daemon of one configuration does neither. */
async function beFound(runtime: Runtime, opened: Opened, watch: EraWatch): Promise<void> {
  const { config, gateway, log } = runtime
  const other = findDaemon(config.path)
  if (other !== undefined && other.pid !== process.pid) {
    log.warn('another daemon serves this configuration; commands go on talking to that one', {
      pid: other.pid,
      url: other.url,
    })
    return
  }
  try {
    const socket = socketPath(config.path)
    opened.socket = await listenSocket({
      path: socket,
      version: VERSION,
      endpointFor: (server) => {
        const view = server === undefined ? gateway.merged : gateway.only(server)
        if (view === undefined) throw unknownServer(server ?? '', gateway.names)
        return endpointOptions(runtime, view, (outcome) => watch.observe(outcome))
      },
    })
    opened.forget = await leaveRecord({
      pid: process.pid,
      url: opened.listener.url,
      socket,
      version: VERSION,
      config: config.path,
    })
  } catch (error) {
    // Clients over HTTP need neither.
    log.warn('other commands cannot find this daemon: its state folder cannot be used', {
      folder: stateDir(process.env),
      error: asMcpxError(error).message,
    })
  }
}

function announce(runtime: Runtime, url: string, json: boolean): void {
  const { gateway, config, pool, settings } = runtime
  const mcp = `${url}/mcp`
  const tokenFile = settings.get('auth.local') === 'token' ? tokenPath(stateDir(process.env)) : null
  if (json) print(JSON.stringify({ mcp, v1: `${url}/v1`, pid: process.pid, tokenFile }))
  else
    print(
      `mcpx ${VERSION} serves ${gateway.members.length} servers of ${config.path} at ${styled('bold', mcp)}`,
    )
  pool.startEager()
  // What a server offers is not known before it has been asked once.
  const warm = Promise.all(
    gateway.members.map((member) =>
      member
        .lists(LOCAL_CALLER)
        .get('tools')
        .catch(() => undefined),
    ),
  )
  if (!json)
    void warm.then(() => print(welcome(reportServers(gateway), { mcp, tokenFile, config: config.path })))
}

function publish(events: EventLog, event: PoolEvent): void {
  const { server } = event
  switch (event.kind) {
    case 'start': {
      const { era, revision, source, transport } = event.connection.verdict
      return events.publish('server.start', {
        server,
        lane: event.lane,
        era,
        revision,
        eraSource: source,
        transport,
        ms: event.ms,
      })
    }
    case 'start-failed': {
      const { code, message } = event.error
      return events.publish('server.start', {
        server,
        lane: event.lane,
        error: { code, message },
        ms: event.ms,
      })
    }
    case 'stop':
      return events.publish('server.stop', { server, lane: event.lane, reason: event.reason })
    case 'era-stale':
      return events.publish('server.era.stale', { server, was: event.was ?? null, revision: event.now })
    case 'notification':
      return undefined
  }
}

interface Place {
  readonly mcp: string
  readonly tokenFile: string | null
  readonly config: string
}

function welcome(servers: readonly ServerReport[], place: Place): string {
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
  return [
    '',
    table([['SERVER', 'STATE', 'ERA', 'REVISION', 'FOUND BY', 'TRANSPORT', 'TOOLS', 'STARTED IN'], ...rows]),
    ...(failures.length > 0 ? ['', ...failures] : []),
    '',
    'Paste into a client:',
    ...pasteLines(place).map(([client, line]) => `  ${client.padEnd(12)}${line}`),
    '',
  ].join('\n')
}

/** Clients start `mcpx serve`, whose socket is the user's own: nothing secret is in their files. Over HTTP they send the token. */
function pasteLines({ mcp, tokenFile, config }: Place): [client: string, line: string][] {
  const [program = 'mcpx'] = process.argv.slice(1)
  const args = [program, 'serve', '--config', config]
  const entry = JSON.stringify({ command: process.execPath, args })
  const words = [process.execPath, ...args].map(quoted).join(' ')
  const header = tokenFile === null ? '' : ` --header "Authorization: Bearer $(cat ${quoted(tokenFile)})"`
  return [
    ['Claude Code', `claude mcp add mcpx -- ${words}`],
    ['over HTTP', `claude mcp add --transport http mcpx ${mcp}${header}`],
    ['Cursor', `~/.cursor/mcp.json  {"mcpServers": {"mcpx": ${entry}}}`],
    ['VS Code', `code --add-mcp '{"name": "mcpx", ${entry.slice(1)}'`],
  ]
}

/** A word of a shell's line, quoted where it needs to be. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
