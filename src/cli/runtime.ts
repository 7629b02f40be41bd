// The composition root: from a configuration to a running gateway.
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { McpxError } from '../base/index.ts'
import type { JsonObject, Log } from '../base/index.ts'
import { canonicalDefinition, createSettings, expandServer } from '../config/index.ts'
import type { ConfigFile, ServerDefinition, Settings } from '../config/index.ts'
import { createSealer, LOCAL_USER } from '../endpoint/index.ts'
import type { EndpointLimits, EndpointOptions, Principals, Sealer } from '../endpoint/index.ts'
import { createGateway, subjectOf } from '../gateway/index.ts'
import type { Gateway, View } from '../gateway/index.ts'
import { memoryOnly, Pool } from '../pool/index.ts'
import type { Identity, ServerSpec } from '../pool/index.ts'
import { METHOD } from '../spec/index.ts'
import { createDialer, systemClock } from '../transport/index.ts'
import type { Target } from '../wire/index.ts'
import { isExposed } from './bind.ts'
import { readConfig } from './config-source.ts'
import { openEraFile } from './era-file.ts'
import { createOAuth } from './oauth.ts'
import type { OAuth, OAuthServer } from './oauth.ts'
import { stateDir } from './paths.ts'
import { createPrincipals } from './principals.ts'
import { stateKeys } from './state-key.ts'
import { VERSION } from './version.ts'

export interface RuntimeOptions {
  readonly configPath: string | undefined
  /** Settings from the command line, by path. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly log: (settings: Settings) => Log
  /** Whether people can log in to servers while it runs: it lives long enough for that. */
  readonly logins?: boolean
  /** Whether callers without a credential may be let in wherever they come from. */
  readonly insecure?: boolean
}

export interface Runtime {
  readonly config: ConfigFile
  readonly settings: Settings
  readonly gateway: Gateway
  readonly pool: Pool
  readonly log: Log
  readonly sealer: Sealer
  /** Who a caller's credential stands for. */
  readonly principals: Principals
  readonly oauth: OAuth
  /** Ends every server and everything else that was opened. */
  stop(reason: string): Promise<void>
}

/** What mcpx calls itself, to clients and to servers. */
export const MCPX_INFO: JsonObject = { name: 'mcpx', title: 'mcpx', version: VERSION }

const IDENTITY: Identity = { info: MCPX_INFO, capabilities: {} }

/** Reads the configuration and makes the gateway; no server is started yet. Throws the McpxErrors of the configuration. */
export function createRuntime(options: RuntimeOptions): Runtime {
  const { env } = process
  const config = readConfig({ cwd: process.cwd(), env, named: options.configPath })
  const settings = createSettings({ file: config, env, flags: options.flags })
  const log = options.log(settings)
  if (config.ignored.length > 0)
    log.debug('keys of other hosts that mcpx has no use for', { keys: config.ignored })
  const eras = settings.get('upstream.eraCache')
    ? openEraFile(join(stateDir(env), 'upstream-eras.json'), { clock: systemClock, log })
    : undefined
  const dialer = createDialer({
    clock: systemClock,
    log,
    limits: { maxMessage: settings.get('stdio.maxLine') },
    patience: { stdinEnd: settings.get('pool.stopGrace'), terminate: settings.get('pool.killGrace') },
  })
  const oauth = createOAuth({
    ...{ folder: stateDir(env), clock: systemClock, log, logins: options.logins ?? false },
    fetch: (url, init) => dialer.fetch(url, init),
    onDone: ({ name }) => gateway.loggedIn(name),
  })
  const definitions = [...config.servers.values()].filter((definition) => !definition.disabled)
  const pool = new Pool(
    definitions.map((definition) => specOf(definition, config, { settings, oauth })),
    {
      dialer,
      log,
      clock: systemClock,
      random: Math.random,
      identity: IDENTITY,
      eras: eras ?? memoryOnly(),
      eraMaxAge: () => settings.get('upstream.eraMaxAge'),
      maxStarting: settings.get('pool.maxStarting'),
    },
  )
  logEvents(pool, log)
  const sealer = createSealer(stateKeys(stateDir(env), settings.get('state.key')))
  const gateway: Gateway = createGateway({
    pool,
    logins: oauth.logins,
    servers: new Map(
      definitions.map((definition) => {
        const { name, prefix = name, tools: filter } = definition
        return [name, { prefix, filter, roots: rootsOf(definition, config) }]
      }),
    ),
    questions: {
      ...{ sealer, newId: randomUUID, operator: LOCAL_USER },
      ttl: () => settings.get('questions.ttl'),
      stateTtl: () => settings.get('questions.stateTtl'),
      rounds: () => settings.get('questions.rounds'),
      inbox: () => settings.get('questions.inbox'),
      maxParked: () => settings.get('questions.maxParked'),
      maxParkedAll: () => settings.get('questions.maxParkedAll'),
    },
    naming: settings.get('naming'),
    patience: () => settings.get('lists.patience'),
    clock: systemClock,
    log,
  })
  return {
    ...{ config, settings, gateway, pool, log, oauth },
    sealer,
    principals: createPrincipals({
      ...{ folder: stateDir(env), clock: systemClock, log },
      configured: () => settings.get('auth.keys'),
      // A change of the setting must not open a daemon that other machines reach.
      local: () => (options.insecure === true || !isExposed(settings) ? settings.get('auth.local') : 'token'),
    }),
    stop: async (reason) => {
      gateway.stop(reason)
      oauth.stop()
      await pool.stop(reason)
      await dialer.close()
      await eras?.flush()
    },
  }
}

/** The endpoint's bounds, read from the settings each time. */
export function endpointLimits(settings: Settings): EndpointLimits {
  return {
    maxBody: () => settings.get('http.maxBody'),
    keepAlive: () => settings.get('http.keepAlive'),
    sessionIdle: () => settings.get('legacy.sessionIdle'),
    streamTime: () => settings.get('legacy.streamTime'),
    drain: () => settings.get('stdio.drain'),
  }
}

/** The endpoint of a view for a client on a pipe. */
export function endpointOptions(
  { settings, log, sealer }: Runtime,
  view: View,
  onOutcome?: EndpointOptions['onOutcome'],
): EndpointOptions {
  return {
    handler: view,
    serverInfo: MCPX_INFO,
    open: view.single !== undefined,
    clock: systemClock,
    log,
    limits: endpointLimits(settings),
    access: { allowedHosts: () => [], allowedOrigins: () => [], loopback: true },
    sealer,
    onOutcome,
  }
}

/** A server that may be entered by OAuth, as the configuration has it; undefined where its headers are all. */
export function oauthServerOf(definition: ServerDefinition, config: ConfigFile): OAuthServer | undefined {
  const { name, scope } = definition
  const { target, auth } = targetOf(definition, config)
  if (target instanceof McpxError || target.kind !== 'http' || auth === false) return undefined
  const named = Object.keys(target.headers).some((header) => header.toLowerCase() === 'authorization')
  const entered = named || new URL(target.url).username !== ''
  return auth === undefined && entered ? undefined : { name, scope, auth, url: target.url }
}

interface SpecMeans {
  readonly settings: Settings
  readonly oauth: OAuth
}

function specOf(
  definition: ServerDefinition,
  config: ConfigFile,
  { settings, oauth }: SpecMeans,
): ServerSpec {
  const { name, scope, start } = definition
  const { target, transport } = targetOf(definition, config)
  const entered = oauthServerOf(definition, config)
  return {
    ...{ name, scope, start, target, transport },
    digest: createHash('sha256').update(canonicalDefinition(definition)).digest('hex'),
    max: definition.max ?? (transport === 'stdio' ? PROCESSES : SESSIONS),
    asks: definition.asks.map((tool) => subjectOf(METHOD.toolsCall, { name: tool })),
    roots: definition.roots !== undefined,
    min: definition.min ?? (start === 'eager' ? 1 : 0),
    authorizerFor: entered && oauth.authorizerFor(entered),
    tuning: () => ({
      preference: definition.protocol ?? settings.get('upstream.protocol'),
      probeTimeout: definition.probeTimeout ?? settings.get('upstream.probeTimeout'),
      startTimeout: definition.startTimeout ?? settings.get('upstream.startTimeout'),
      callTimeout: definition.callTimeout ?? settings.get('upstream.callTimeout'),
      callTimeoutMax: settings.get('upstream.callTimeoutMax'),
      idleTimeout: definition.idleTimeout ?? settings.get('pool.idleTimeout'),
      mirroring: settings.get('pool.capabilities'),
    }),
  }
}

/** Instances of one server at once: most need one, and another only for callers who may not share it. */
const PROCESSES = 8
const SESSIONS = 100

/** The configured roots as the protocol has them. */
function rootsOf(
  { roots }: ServerDefinition,
  config: ConfigFile,
): { uri: string; name: string }[] | undefined {
  return roots?.map((root) => {
    if (root.startsWith('file:')) return { uri: root, name: basename(root) }
    const path = resolve(dirname(config.path), root)
    return { uri: pathToFileURL(path).href, name: basename(path) }
  })
}

function targetOf(
  definition: ServerDefinition,
  config: ConfigFile,
): {
  target: Target | McpxError
  transport: ServerSpec['transport']
  auth?: ServerDefinition['auth']
} {
  const expansion = expandServer(definition, {
    env: process.env,
    configDir: dirname(config.path),
    workspaceFolder: process.cwd(),
    userHome: homedir(),
    separator: sep === '\\' ? '\\' : '/',
    readFile: readIfThere,
  })
  if ('error' in expansion) {
    return {
      target: expansion.error,
      transport: definition.process.kind === 'stdio' ? 'stdio' : 'streamable-http',
    }
  }
  const { ok } = expansion
  if (ok.kind === 'stdio') return { target: ok, transport: 'stdio' }
  const { auth, transportHint, ...target } = ok
  return { target, auth, transport: transportHint ?? 'streamable-http' }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function logEvents(pool: Pool, log: Log): void {
  pool.onEvent((event) => {
    const { server } = event
    switch (event.kind) {
      case 'start': {
        const { era, revision, source } = event.connection.verdict
        return log.info('server started', { server, era, revision, source, lane: event.lane, ms: event.ms })
      }
      case 'start-failed':
        return event.error.code === 'CANCELLED'
          ? log.debug('server start given up', { server })
          : log.warn('server did not start', { server, code: event.error.code, error: event.error.message })
      case 'stop':
        return event.reason.kind === 'closed'
          ? log.info('server stopped', { server })
          : log.warn('server went away', { server, reason: event.reason })
      case 'era-stale':
        return log.info('the remembered era of a server was wrong', {
          server,
          was: event.was?.era,
          revision: event.now,
        })
      case 'notification':
        return undefined
    }
  })
}
