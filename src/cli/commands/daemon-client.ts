// Questions to a running daemon's REST interface.
import { isObject, McpxError } from '../../base/index.ts'
import type { DaemonRecord } from '../daemon-record.ts'

/** Asks the daemon. Throws its problem document as an McpxError, or `STOPPING` where it does not answer. */
export async function ask<T>(
  daemon: DaemonRecord,
  path: string,
  init: { method?: string; body?: unknown } = {},
): Promise<T> {
  const { method = 'GET', body } = init
  let response: Response
  try {
    const json =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    response = await fetch(`${daemon.url}${path}`, { method, ...json, signal: AbortSignal.timeout(10_000) })
  } catch (error) {
    throw new McpxError(
      'STOPPING',
      `The daemon (process ${daemon.pid}) at ${daemon.url} does not answer. Is it stopping?`,
      { cause: error },
    )
  }
  const value: unknown = await response.json()
  if (response.ok) return value as T
  const detail = isObject(value) ? value['detail'] : undefined
  throw new McpxError(
    response.status === 404 ? 'SETTING_UNKNOWN' : 'CONFIG_INVALID',
    typeof detail === 'string' ? detail : `HTTP ${response.status}`,
  )
}
