import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Target } from './responder.ts'
import type { Visit } from './visit.ts'

/** Bytes that may wait for a client that does not read when more is sent; a stream over it is broken off. */
const MAX_BUFFERED = 16 * 1024 * 1024

/** A node:http response as the place where an answer goes. */
export function nodeTarget(request: IncomingMessage, response: ServerResponse): Target {
  const open = (): boolean => !response.writableEnded && !response.destroyed
  const head = (status: number, headers: Readonly<Record<string, string>>): void => {
    for (const [name, value] of Object.entries(headers)) {
      // What middleware has said of origins stands.
      if (!(isOfOrigins(name) && response.hasHeader('Access-Control-Allow-Origin')))
        response.setHeader(name, value)
    }
    // The rest of a body that nobody will read is not worth waiting for.
    if (!request.complete) response.setHeader('Connection', 'close')
    response.writeHead(status)
  }
  return {
    whole(status, headers, text) {
      if (!open()) return
      const bytes = text === undefined ? undefined : Buffer.from(text)
      head(status, status === 204 ? headers : { ...headers, 'Content-Length': String(bytes?.length ?? 0) })
      response.end(bytes)
    },
    begin(headers) {
      if (open()) head(200, headers)
    },
    write(text) {
      if (!open()) return
      if (response.writableLength > MAX_BUFFERED) response.destroy()
      else response.write(text)
    },
    finish() {
      if (open()) response.end()
    },
    onGone(listener) {
      if (response.destroyed) listener()
      else response.once('close', listener)
    },
  }
}

/** Has the visit told of what the legacy handler did, once its response is complete or broken off. */
export function watchResponse(response: ServerResponse, visit: Visit): void {
  if (!visit.watched) return
  response.once('close', () => {
    void visit.endLegacy(response.headersSent ? response.statusCode : undefined)
  })
}

function isOfOrigins(name: string): boolean {
  return name === 'Access-Control-Allow-Origin' || name === 'Vary'
}
