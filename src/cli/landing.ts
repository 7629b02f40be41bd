// Where a browser comes back to after a login: listeners on this machine alone, open while somebody may still come.
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import { McpxError } from '../base/index.ts'
import type { Arrival, Landing, LandingWish } from '../oauth/index.ts'

type Arrive = (params: URLSearchParams) => Promise<Arrival>

interface Open {
  readonly server: Server
  readonly port: number
  users: number
}

const PATH = '/callback'

/** Listeners by port: several logins may share one, and are told apart by their state. */
export class Landings {
  readonly #open = new Map<number, Promise<Open>>()

  /** Rejects with `PORT_TAKEN` where the port that must be it is another program's. */
  async land({ uri, port, best }: LandingWish, arrive: Arrive): Promise<Landing> {
    const wanted = uri === undefined ? port : Number(new URL(uri).port)
    const open = await this.#take(wanted, best, arrive)
    let isOpen = true
    return {
      redirectUri: uri ?? `http://127.0.0.1:${open.port}${PATH}`,
      close: () => {
        if (isOpen) this.#leave(open)
        isOpen = false
      },
    }
  }

  async #take(wanted: number | undefined, best: string | undefined, arrive: Arrive): Promise<Open> {
    if (wanted !== undefined) {
      try {
        return await this.#on(wanted, arrive)
      } catch (cause) {
        const text = `port ${wanted}, to which the browser comes back, is taken. Is another login waiting? End it, or give another port`
        throw new McpxError('PORT_TAKEN', text, { cause })
      }
    }
    const known = best !== undefined && URL.canParse(best) ? Number(new URL(best).port) : 0
    return this.#on(known, arrive).catch(() => this.#on(0, arrive))
  }

  async #on(port: number, arrive: Arrive): Promise<Open> {
    const shared = port === 0 ? undefined : this.#open.get(port)
    if (shared !== undefined) {
      const open = await shared
      open.users++
      return open
    }
    const opening = listen(port, arrive)
    if (port !== 0) this.#open.set(port, opening)
    try {
      const open = await opening
      this.#open.set(open.port, opening)
      return open
    } catch (error) {
      this.#open.delete(port)
      throw error
    }
  }

  #leave(open: Open): void {
    open.users--
    if (open.users > 0) return
    this.#open.delete(open.port)
    // The page that says how it went is still on its way.
    open.server.close()
    open.server.closeIdleConnections()
  }
}

function listen(port: number, arrive: Arrive): Promise<Open> {
  return new Promise((resolve, reject) => {
    const server = createServer({ keepAlive: false }, (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1')
      // Browsers ask for icons too.
      const isArrival = request.method === 'GET' && url.searchParams.has('state')
      if (!isArrival) return page(response, 404, 'There is nothing here.')
      void arrive(url.searchParams).then(({ ok, text }) => page(response, ok ? 200 : 400, text))
    })
    // It waits for a person, which is no reason for a process to go on.
    server.unref()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      if (address === null || typeof address === 'string') return reject(new Error('no port'))
      resolve({ server, port: address.port, users: 1 })
    })
  })
}

function page(response: ServerResponse, status: number, text: string): void {
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>mcpx</title><body><p>${escaped(text)}</p></body></html>\n`
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    // The address holds a code.
    'referrer-policy': 'no-referrer',
    connection: 'close',
  })
  response.end(body)
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
