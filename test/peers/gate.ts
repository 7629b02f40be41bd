// What a test holds closed and opens: fixtures ask it over HTTP and wait for the answer, so that no time decides anything.
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Gate extends AsyncDisposable {
  /** The address that a fixture asks. */
  url(label: string): string
  /** Resolves once so many requests for the label are or were held. */
  reached(label: string, count?: number): Promise<void>
  /** Answers what is held for the label, and all that comes later, with the text. */
  open(label: string, said?: string): void
  /** Requests for the label so far. */
  count(label: string): number
}

export async function openGate(): Promise<Gate> {
  const held = new Map<string, ServerResponse[]>()
  const opened = new Map<string, string>()
  const counts = new Map<string, number>()
  const watchers = new Set<() => void>()

  const server = createServer((request, response) => {
    const label = decodeURIComponent((request.url ?? '/').slice(1))
    counts.set(label, (counts.get(label) ?? 0) + 1)
    const said = opened.get(label)
    if (said !== undefined) response.end(said)
    else held.set(label, [...(held.get(label) ?? []), response])
    for (const look of watchers) look()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: (label) => `http://127.0.0.1:${port}/${encodeURIComponent(label)}`,
    reached: (label, count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if ((counts.get(label) ?? 0) < count) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
    open: (label, said = 'open') => {
      opened.set(label, said)
      for (const response of held.get(label) ?? []) response.end(said)
      held.delete(label)
    },
    count: (label) => counts.get(label) ?? 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
