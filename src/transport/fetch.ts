// Small documents of strangers: bounded in time and size, and nothing is followed.
import { fetch } from 'undici'
import type { Agents } from './agents.ts'

export interface FetchInit {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** Less than the shortest time for which a file may be waited for that is locked meanwhile, in ms. */
const PATIENCE = 10_000
const MAX_BYTES = 1024 * 1024

/** Resolves with a response whose body is in memory. A redirect is an answer like any other. */
export async function fetchBounded(url: string, init: FetchInit, agents: Agents): Promise<Response> {
  const { method, headers = {}, body } = init
  const response = await fetch(url, {
    ...{ method, headers: { 'user-agent': 'mcpx', ...headers }, redirect: 'manual' },
    ...(body === undefined ? {} : { body }),
    dispatcher: agents.agentFor(new URL(url)),
    signal: AbortSignal.timeout(PATIENCE),
  })
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array
    size += bytes.length
    if (size > MAX_BYTES) throw new Error(`it answered with more than ${MAX_BYTES} bytes`)
    chunks.push(bytes)
  }
  const { status } = response
  // Statuses without content take no body at all.
  const content = size === 0 ? null : Buffer.concat(chunks)
  return new Response(content, { status, headers: Object.fromEntries(response.headers) })
}
