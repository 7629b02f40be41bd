// The registry of settings. A row here is all that a new setting needs: validation, the flag, the variable, the editors'
// schema and the docs page come from it. `hot` says that whoever uses the value reads it anew each time.
import { McpxError, nearest } from '../base/index.ts'
import { apiKeys } from './api-key.ts'
import { boolean, choice, duration, integer, preference, size, strings, text } from './value-type.ts'
import type { ValueType } from './value-type.ts'

export interface Setting<Value> {
  readonly type: ValueType<Value>
  readonly default: Value
  /** Whether a change applies without a restart. */
  readonly hot: boolean
  readonly description: string
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const MIB = 2 ** 20

export const SETTINGS = {
  'upstream.protocol': setting(preference, {
    default: 'prefer-discover',
    hot: true,
    description: "In which era a server is addressed first; a server's own `protocol` overrides it.",
  }),
  'upstream.probeTimeout': setting(duration({ min: 1 }), {
    default: 2 * SECOND,
    hot: true,
    description:
      'How long a stdio server may be silent on the probe before the other era is tried beside it.',
  }),
  'upstream.startTimeout': setting(duration({ min: 1 }), {
    default: 60 * SECOND,
    hot: true,
    description: 'How long a server may take to start and to settle its era.',
  }),
  'upstream.eraCache': setting(boolean, {
    default: true,
    hot: false,
    description: 'Whether the era of each server is remembered between starts.',
  }),
  'upstream.eraMaxAge': setting(duration({ max: 365 * 24 * HOUR }), {
    default: 24 * HOUR,
    hot: true,
    description: 'The age at which a remembered legacy era is probed again.',
  }),
  'upstream.callTimeout': setting(duration({ min: 1 }), {
    default: 120 * SECOND,
    hot: true,
    description: 'How long a call may go without an answer or progress.',
  }),
  'upstream.callTimeoutMax': setting(duration({ min: 1 }), {
    default: HOUR,
    hot: true,
    description: 'How long a call may take in all, whatever progress it reports.',
  }),
  'http.port': setting(integer(0, 65_535), {
    default: 6279,
    hot: false,
    description: 'The port that the daemon listens on; 0 takes a free one.',
  }),
  'http.host': setting(text, {
    default: '127.0.0.1',
    hot: false,
    description: 'The address that the daemon listens on.',
  }),
  'http.maxBody': setting(size(), {
    default: 4 * MIB,
    hot: true,
    description: 'The largest request body that is read.',
  }),
  'http.maxHeader': setting(size({ min: 1024, max: MIB }), {
    default: 16 * 1024,
    hot: false,
    description: 'The largest head of a request: its first line and its headers together.',
  }),
  'http.maxRate': setting(integer(0, 1_000_000), {
    default: 0,
    hot: true,
    description: 'Requests over HTTP that one principal may send in a second; 0 sets no bound.',
  }),
  'http.maxStreams': setting(integer(0, 1_000_000), {
    default: 10_000,
    hot: true,
    description: 'Event streams over HTTP that one principal may have open; 0 sets no bound.',
  }),
  'http.keepAlive': setting(duration({ min: 1 }), {
    default: 15 * SECOND,
    hot: true,
    description: 'How often a silent event stream carries a comment, so that proxies keep it open.',
  }),
  'http.allowedHosts': setting(strings, {
    default: [],
    hot: true,
    description: 'Values of `Host` that are accepted besides loopback names.',
  }),
  'http.allowedOrigins': setting(strings, {
    default: [],
    hot: true,
    description: 'Values of `Origin` that are accepted besides loopback ones.',
  }),
  'auth.local': setting(choice(['token', 'open']), {
    default: 'token',
    hot: true,
    description:
      'What makes a caller over HTTP the local user: the token of the state folder, or nothing at all.',
  }),
  'auth.keys': setting(apiKeys, {
    default: [],
    hot: true,
    description:
      'Keys that callers may send, besides those of `mcpx keys`: each as `<name>:sha256:<hash>`, from `mcpx keys add --print-hash`.',
  }),
  'lists.patience': setting(duration(), {
    default: 3 * SECOND,
    hot: true,
    description: 'How long a list waits for servers that are still starting.',
  }),
  naming: setting(choice(['prefix', 'none']), {
    default: 'prefix',
    hot: false,
    description: "Whether the names of a server's tools and prompts begin with the server's name.",
  }),
  'pool.maxStarting': setting(integer(1, 1_000), {
    default: 4,
    hot: false,
    description: 'How many servers may be starting at a time.',
  }),
  'pool.idleTimeout': setting(duration(), {
    default: 5 * MINUTE,
    hot: true,
    description: 'How long an unused server is kept running.',
  }),
  'pool.stopGrace': setting(duration(), {
    default: 2 * SECOND,
    hot: false,
    description: 'How long a process may take to end after its stdin is closed, before it is asked to.',
  }),
  'pool.killGrace': setting(duration(), {
    default: 3 * SECOND,
    hot: false,
    description: 'How long a process may take to end after it is asked to, before it is killed.',
  }),
  'pool.capabilities': setting(choice(['auto', 'exact', 'union']), {
    default: 'auto',
    hot: true,
    description:
      'Whether a legacy server is told exactly what its caller can be asked, in a session of its own, or all that any caller may be; auto is union for a process that is shared by all, and else exact.',
  }),
  'questions.ttl': setting(duration({ min: 1 }), {
    default: 10 * MINUTE,
    hot: true,
    description: 'How long a question of a server waits for an answer.',
  }),
  'questions.stateTtl': setting(duration({ min: 1 }), {
    default: 30 * MINUTE,
    hot: true,
    description: 'How long the state that a modern client carries between rounds is good.',
  }),
  'questions.rounds': setting(integer(1, 100), {
    default: 8,
    hot: true,
    description: 'How often one call may ask for more input.',
  }),
  'questions.inbox': setting(choice(['watched', 'always', 'off']), {
    default: 'watched',
    hot: true,
    description: 'When questions that a caller cannot answer go to the inbox.',
  }),
  'questions.maxParked': setting(integer(1, 100_000), {
    default: 100,
    hot: true,
    description: 'Calls of one principal that may wait for answers.',
  }),
  'questions.maxParkedAll': setting(integer(1, 100_000), {
    default: 1_000,
    hot: true,
    description: 'Calls that may wait for answers in all.',
  }),
  'state.key': setting(
    { ...strings, secret: true, write: (keys) => keys.map(() => '(key)').join(',') },
    {
      default: [],
      hot: false,
      description:
        'Keys of 32 bytes in base64 that seal what clients carry: the first seals, all of them open. None takes those of the state folder.',
    },
  ),
  'stdio.drain': setting(duration(), {
    default: 30 * SECOND,
    hot: true,
    description: 'How long answers to open requests are waited for after stdin has ended.',
  }),
  'stdio.maxLine': setting(size({ min: 1024 }), {
    default: 64 * MIB,
    hot: false,
    description:
      'The longest line that is read from a pipe; a longer one fails one message, not the connection.',
  }),
  'legacy.sessionIdle': setting(duration({ min: 1 }), {
    default: 24 * HOUR,
    hot: true,
    description: 'How long a legacy session without traffic is kept.',
  }),
  'legacy.streamTime': setting(duration(), {
    default: 0,
    hot: true,
    description:
      'How long the response to a request stays open before a client of 2025-11-25 is let go, to fetch the answer with a GET; 0 keeps it open. For networks that cut long responses to a POST.',
  }),
  'legacy.maxSessions': setting(integer(0, 1_000_000), {
    default: 20_000,
    hot: true,
    description:
      'Legacy sessions over HTTP of one principal that are kept; idle ones make room, and take up where they were when they come back. 0 sets no bound.',
  }),
  'legacy.sse': setting(boolean, {
    default: false,
    hot: false,
    description: 'Whether HTTP+SSE, the transport of 2024-11-05, is served at /sse and /messages.',
  }),
  'log.level': setting(choice(['debug', 'info', 'warn', 'error', 'silent']), {
    default: 'info',
    hot: true,
    description: 'The least important kind of line that is logged.',
  }),
} as const satisfies Record<string, Setting<unknown>>

export type SettingPath = keyof typeof SETTINGS
/** Durations are milliseconds, sizes bytes. */
export type SettingValue<Path extends SettingPath> = (typeof SETTINGS)[Path]['default']
export type SettingValues = { readonly [Path in SettingPath]?: SettingValue<Path> }

export const SETTING_PATHS = Object.keys(SETTINGS) as readonly SettingPath[]

export function isSettingPath(path: string): path is SettingPath {
  return Object.hasOwn(SETTINGS, path)
}

/** The path itself. Throws CONFIG_INVALID with the nearest known path where there is no such setting. */
export function settingPath(path: string): SettingPath {
  if (isSettingPath(path)) return path
  const meant = nearest(path, SETTING_PATHS)
  const advice =
    meant === undefined ? `the settings are ${SETTING_PATHS.join(', ')}` : `did you mean "${meant}"?`
  throw new McpxError('CONFIG_INVALID', `There is no setting ${JSON.stringify(path.slice(0, 60))}; ${advice}`)
}

/** `upstream.probeTimeout` → `--upstream-probe-timeout`. */
export function flagName(path: SettingPath): string {
  return `--${words(path).join('-')}`
}

/** `upstream.probeTimeout` → `MCPX_UPSTREAM_PROBE_TIMEOUT`. */
export function variableName(path: SettingPath): string {
  return `MCPX_${words(path).join('_').toUpperCase()}`
}

function words(path: string): string[] {
  return path.split(/\.|(?=[A-Z])/).map((word) => word.toLowerCase())
}

function setting<Value>(
  type: ValueType<Value>,
  facts: NoInfer<Omit<Setting<Value>, 'type'>>,
): Setting<Value> {
  return { type, ...facts }
}
