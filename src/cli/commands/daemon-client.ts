// Questions to a running daemon's REST interface.
import { FAILURES, isObject, McpxError } from '../../base/index.ts'
import type { FailureCode } from '../../base/index.ts'
import { findConfig } from '../config-source.ts'
import { findDaemon } from '../daemon-record.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { stateDir } from '../paths.ts'
import { readToken } from '../token-file.ts'

/** The daemon that serves the configuration of a command, where one runs. */
export function runningDaemon({ config: named }: { readonly config?: string }): DaemonRecord | undefined {
  return findDaemon(findConfig({ cwd: process.cwd(), env: process.env, named }))
}

/** The same for a command that is nothing without it. Throws `USAGE`. */
export function neededDaemon(options: { readonly config?: string }): DaemonRecord {
  const daemon = runningDaemon(options)
  if (daemon !== undefined) return daemon
  throw new McpxError('USAGE', 'No daemon of this configuration runs. Start one with mcpx daemon.')
}

/** Asks the daemon, as the principal of the key in `MCPX_KEY`, else as the local user. Throws its problem document as an McpxError, or `STOPPING` where it does not answer. */
export async function ask<T>(
  daemon: DaemonRecord,
  path: string,
  init: { method?: string; body?: unknown } = {},
): Promise<T> {
  const { method = 'GET', body } = init
  const headers = { ...credential(), ...(body !== undefined && { 'content-type': 'application/json' }) }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  let response: Response
  try {
    const signal = AbortSignal.timeout(10_000)
    response = await fetch(`${daemon.url}${path}`, { method, headers, ...sent, signal })
  } catch (error) {
    throw new McpxError(
      'STOPPING',
      `The daemon (process ${daemon.pid}) at ${daemon.url} does not answer. Is it stopping?`,
      { cause: error },
    )
  }
  const value: unknown = response.status === 204 ? undefined : await response.json()
  if (response.ok) return value as T
  const { code, detail } = isObject(value) ? value : {}
  throw new McpxError(
    isFailureCode(code) ? code : 'INTERNAL',
    typeof detail === 'string' ? detail : `The daemon answered ${path} with HTTP ${response.status}.`,
  )
}

/** The text of a stream of events, as it comes. Throws `STOPPING` where the daemon does not answer. */
export async function* openEvents(daemon: DaemonRecord, path: string): AsyncGenerator<string> {
  const response = await fetch(`${daemon.url}${path}`, { headers: credential() }).catch(() => undefined)
  if (response?.ok !== true || response.body === null) {
    const why = response === undefined ? 'does not answer' : `answered HTTP ${response.status}`
    throw new McpxError('STOPPING', `The daemon (process ${daemon.pid}) at ${daemon.url} ${why}.`)
  }
  const decoder = new TextDecoder()
  try {
    for await (const bytes of response.body) yield decoder.decode(bytes as Uint8Array, { stream: true })
  } catch (error) {
    const text = `The daemon (process ${daemon.pid}) at ${daemon.url} went away.`
    throw new McpxError('STOPPING', text, { cause: error })
  }
}

function credential(): { authorization?: string } {
  const { env } = process
  const named = env['MCPX_KEY']
  const key = named === undefined || named === '' ? readToken(stateDir(env)) : named
  if (key === undefined) return {}
  // The key itself is not for a terminal's history.
  if (!/^[\w.~+/-]+=*$/.test(key))
    throw new McpxError('KEY_UNKNOWN', 'MCPX_KEY holds no key: mcpx keys add prints one, without spaces.')
  return { authorization: `Bearer ${key}` }
}

export function isFailureCode(code: unknown): code is FailureCode {
  return typeof code === 'string' && Object.hasOwn(FAILURES, code)
}
