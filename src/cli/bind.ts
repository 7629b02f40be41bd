// Whether a daemon may listen where its settings say.
import { isLoopback, McpxError } from '../base/index.ts'
import type { Settings } from '../config/index.ts'

/** Whether other machines can reach the address that the daemon listens on. */
export function isExposed(settings: Settings): boolean {
  const host = settings.get('http.host')
  return !isLoopback(host.includes(':') ? `[${host}]` : host)
}

/** Throws BIND_REFUSED for an address that others reach, where a caller without a credential would be the local user. */
export function checkBind(settings: Settings, insecure: boolean): void {
  if (insecure || !isExposed(settings) || settings.get('auth.local') === 'token') return
  throw new McpxError(
    'BIND_REFUSED',
    `The daemon would listen on ${settings.get('http.host')} and let in everybody who reaches it as its local user. ` +
      'Set auth.local to "token" and give callers keys (mcpx keys add), listen on 127.0.0.1 (http.host), or say --insecure.',
  )
}
