// The HTTP connections of the process: one keep-alive pool an origin, shared by all channels.
import { Agent, EnvHttpProxyAgent } from 'undici'
import type { Dispatcher } from 'undici'
import { isLoopback } from '../base/index.ts'
import type { Environment } from './environment.ts'

export interface Agents {
  /** What requests to that origin are dispatched to. */
  agentFor(url: URL): Dispatcher
  close(): Promise<void>
}

// How long an answer may take is for the pool to say: a quiet stream is not a broken one.
const AGENT_OPTIONS = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } }

/** Proxy variables count where one is set, and never for this machine's own addresses. */
export function createAgents(environment: Environment): Agents {
  const direct = new Agent(AGENT_OPTIONS)
  const httpProxy = variable(environment, 'http_proxy')
  const httpsProxy = variable(environment, 'https_proxy')
  const noProxy = variable(environment, 'no_proxy') ?? ''
  const proxies = { ...(httpProxy && { httpProxy }), ...(httpsProxy && { httpsProxy }), noProxy }
  const proxied =
    httpProxy || httpsProxy ? new EnvHttpProxyAgent({ ...AGENT_OPTIONS, ...proxies }) : undefined
  return {
    agentFor: (url) => (proxied === undefined || isLoopback(url.hostname) ? direct : proxied),
    async close() {
      await Promise.all([direct.destroy(), proxied?.destroy()])
    },
  }
}

function variable(environment: Environment, name: string): string | undefined {
  return environment[name] ?? environment[name.toUpperCase()]
}
