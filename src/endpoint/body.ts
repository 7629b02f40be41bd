import type { IncomingMessage } from 'node:http'

export type Body = { readonly ok: true; readonly text: string } | { readonly ok: false }

/** Reads a request's body as UTF-8. Not ok when it is larger than `limit` bytes; the rest of it is then not read. */
export function readBody(request: IncomingMessage, limit: number): Promise<Body> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > limit) return resolve({ ok: false })
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) {
        request.removeAllListeners('data')
        request.pause()
        resolve({ ok: false })
        return
      }
      chunks.push(chunk)
    })
    request.on('end', () => {
      const [only] = chunks
      const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size)
      resolve({ ok: true, text: bytes.toString('utf8') })
    })
    request.on('error', reject)
  })
}
