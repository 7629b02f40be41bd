// Opens channels to servers of every kind, and owns what they share: the guardian and the HTTP connections.
import { McpxError } from '../base/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { Channel, ChannelListener, Dialer, Target, TransportKind } from '../wire/index.ts'
import type { Agents } from './agents.ts'
import { heldOpen } from './clock.ts'
import type { Environment } from './environment.ts'
import type { FetchInit } from './fetch.ts'
import { createGuard } from './guard.ts'
import { DEFAULT_LIMITS, DEFAULT_PATIENCE } from './options.ts'
import type { Limits, Patience } from './options.ts'
import { openStdio } from './stdio.ts'

export interface DialerOptions {
  readonly clock: Clock
  readonly log: Log
  /** What the server is called in messages and logs; its command or host by default. */
  readonly name?: string
  readonly limits?: Partial<Limits>
  readonly patience?: Partial<Patience>
  /** Where children inherit their few variables from, and where proxy variables are read; the process's own by default. */
  readonly environment?: Environment
}

export interface OwningDialer extends Dialer {
  /**
   * Fetches a small document over the same connections: no redirect is followed, and the whole body has come when it resolves.
   * Rejects where that takes long, or is large.
   */
  fetch(url: string, init: FetchInit): Promise<Response>
  /** A dialer for one server, with the same guardian and connections. */
  named(name: string): Dialer
  /** Closes the channels that are still open, then what they shared. */
  close(): Promise<void>
}

/** One for the process. Nothing is started before the first `dial`. */
export function createDialer(options: DialerOptions): OwningDialer {
  const { clock, log, environment = process.env } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const patience = { ...DEFAULT_PATIENCE, ...options.patience }
  const guard = createGuard(log)
  const open = new Set<Channel>()
  let agents: Agents | undefined
  let closing: Promise<void> | undefined

  async function dial(name: string | undefined, target: Target, plan: DialPlan): Promise<Channel> {
    if (isStopping()) throw stopping()
    let channel: Channel | undefined
    const tracked: ChannelListener = {
      onMessage: (message, via) => plan.listener.onMessage(message, via),
      onInterrupted: (id) => plan.listener.onInterrupted?.(id),
      onFailed: (id, failure) => plan.listener.onFailed(id, failure),
      onClosed(reason) {
        if (channel !== undefined) open.delete(channel)
        plan.listener.onClosed(reason)
      },
    }
    channel = await start(name ?? nameOf(target), target, { ...plan, listener: tracked })
    if (isStopping()) {
      await channel.close()
      throw stopping()
    }
    open.add(channel)
    return channel
  }

  async function start(name: string, target: Target, { transport, listener }: DialPlan): Promise<Channel> {
    const shared = { name, clock, log, limits, patience }
    if (target.kind === 'stdio') {
      if (transport !== 'stdio') throw mismatch(name, transport)
      return openStdio(target, listener, { ...shared, guard, environment })
    }
    if (transport === 'stdio') throw mismatch(name, transport)
    // An HTTP client is a tenth of a second of loading, which a command that talks to pipes need not wait for.
    const http = await import('./http-transports.ts')
    agents ??= http.createAgents(environment)
    if (transport === 'http+sse') return http.openHttpSse(target, listener, { ...shared, agents })
    return http.openHttp(target, listener, { ...shared, agents })
  }

  async function fetchDocument(url: string, init: FetchInit): Promise<Response> {
    const http = await import('./http-transports.ts')
    agents ??= http.createAgents(environment)
    return http.fetchBounded(url, init, agents)
  }

  function isStopping(): boolean {
    return closing !== undefined
  }

  async function end(): Promise<void> {
    await Promise.all([...open].map((channel) => channel.close()))
    guard.close()
    await agents?.close()
  }

  return {
    dial: (target, transport, listener) => dial(options.name, target, { transport, listener }),
    fetch: fetchDocument,
    named: (name) => ({ dial: (target, transport, listener) => dial(name, target, { transport, listener }) }),
    close: () => (closing ??= heldOpen(end)),
  }
}

interface DialPlan {
  readonly transport: TransportKind
  readonly listener: ChannelListener
}

function nameOf(target: Target): string {
  if (target.kind === 'stdio') return target.command
  return URL.canParse(target.url) ? new URL(target.url).host : 'upstream'
}

function stopping(): McpxError {
  return new McpxError('STOPPING', 'mcpx is stopping and opens nothing more.')
}

function mismatch(name: string, transport: TransportKind): McpxError {
  return new McpxError('INTERNAL', `Server "${name}" cannot be reached by ${transport}.`)
}
