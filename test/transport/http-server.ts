import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Tells connections apart. */
  readonly port: number | undefined
}

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly origin: string
  /** Requests so far, with their whole bodies. */
  readonly seen: readonly Seen[]
  readonly server: Server
}

export type Handler = (seen: Seen, response: ServerResponse, request: IncomingMessage) => void

/** A real server on a free port of this machine; `/mcp` is its endpoint. */
export async function serve(handler: Handler): Promise<TestServer> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers, socket } = request
      const one = { method, url, headers, body: Buffer.concat(chunks).toString(), port: socket.remotePort }
      seen.push(one)
      handler(one, response, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/mcp`,
    seen,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function json(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

/** Begins an event stream; the response is left open. */
export function stream(response: ServerResponse, ...events: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (const text of events) response.write(text)
}

export function result(id: unknown, value: Record<string, unknown> = {}): Record<string, unknown> {
  return { jsonrpc: '2.0', id, result: value }
}

export function event(data: unknown, fields = ''): string {
  return `${fields}data: ${JSON.stringify(data)}\n\n`
}
