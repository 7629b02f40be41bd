import { McpxError } from '../../base/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Era } from '../../spec/index.ts'
import { SYSTEM_CLOCK } from './clock.ts'
import type { ServerEvent } from './event.ts'
import { MODES } from './mode.ts'
import type { Mode } from './mode.ts'
import type { ModernEraOptions, OriginOptions } from './options.ts'
import { ToolHeaders } from './tool-headers.ts'

/** The options with their defaults. */
export interface Settings {
  readonly options: ModernEraOptions
  readonly origin: OriginOptions
  readonly ambiguous: Era
  readonly maxBody: number
  readonly keepAlive: number
  readonly clock: Clock
  readonly toolHeaders: ToolHeaders
  mode(): Mode
  report: ((event: ServerEvent) => void) | undefined
}

const MAX_BODY = 4 * 1024 * 1024
const KEEP_ALIVE = 15_000

/** Throws USAGE for options with which nothing could be served. */
export function settingsOf(options: ModernEraOptions): Settings {
  const { mode = 'serve', onEvent, clock = SYSTEM_CLOCK } = options
  if (typeof mode === 'string') checkMode(mode)
  for (const [name, method] of Object.entries(options.methods)) {
    if (typeof method !== 'function') throw new McpxError('USAGE', `methods["${name}"] must be a function`)
  }
  return {
    options,
    origin: options.origin ?? {},
    ambiguous: options.ambiguous ?? 'legacy',
    maxBody: options.maxBody ?? MAX_BODY,
    keepAlive: options.keepAlive ?? KEEP_ALIVE,
    clock,
    toolHeaders: new ToolHeaders(options, clock),
    mode: typeof mode === 'function' ? () => checkMode(mode()) : () => mode,
    report: onEvent,
  }
}

function checkMode(mode: Mode): Mode {
  if (!MODES.includes(mode)) throw new McpxError('USAGE', `mode must be one of ${MODES.join(', ')}`)
  return mode
}
