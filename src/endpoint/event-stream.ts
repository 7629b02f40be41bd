import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/index.ts'
import { formatComment, SSE_HEADERS } from '../wire/index.ts'

/** Makes a response a stream of events that lives until either side ends it. `keepAlive` in ms: how often it carries a comment. */
export function beginEventStream(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  io: { readonly clock: Clock; readonly keepAlive: () => number },
): void {
  response.writeHead(200, { ...headers, ...SSE_HEADERS })
  const tick = (): void => {
    response.write(formatComment())
    timer = io.clock.after(io.keepAlive(), tick)
  }
  let timer = io.clock.after(io.keepAlive(), tick)
  response.once('close', () => timer.cancel())
}
