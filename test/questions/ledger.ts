// What fixtures tell of themselves, in order: they post events, and tests wait for them, so that no time decides anything.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { JsonObject } from '../peers/peer.ts'

export interface LedgerEvent extends JsonObject {
  readonly pid: number
  readonly kind: string
  readonly peer: string
}

export interface Ledger extends AsyncDisposable {
  readonly url: string
  readonly events: readonly LedgerEvent[]
  /** Those that hold all of the members, once there are so many. */
  until(like: JsonObject, count?: number): Promise<LedgerEvent[]>
  /** Those so far. */
  like(like: JsonObject): LedgerEvent[]
}

export async function openLedger(): Promise<Ledger> {
  const events: LedgerEvent[] = []
  const watchers = new Set<() => void>()
  const server = createServer(async (request, response) => {
    events.push((await json(request)) as LedgerEvent)
    response.end()
    for (const look of watchers) look()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const like = (wanted: JsonObject): LedgerEvent[] =>
    events.filter((event) => Object.entries(wanted).every(([name, value]) => event[name] === value))
  return {
    ...{ url: `http://127.0.0.1:${port}/`, events, like },
    until: (wanted, count = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = like(wanted)
          if (found.length < count) return
          watchers.delete(look)
          resolve(found)
        }
        watchers.add(look)
        look()
      }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
