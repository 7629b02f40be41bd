import type { Target } from './responder.ts'

/** Bytes that may wait for a client that does not read when more is sent; a stream over it is broken off. */
const MAX_BUFFERED = 16 * 1024 * 1024

/** A Response that is not there yet as the place where an answer goes. */
export function fetchTarget(request: Request): { target: Target; response: Promise<Response> } {
  const encoder = new TextEncoder()
  const listeners: (() => void)[] = []
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined
  let give: (response: Response) => void = () => {}
  const response = new Promise<Response>((resolve) => {
    give = resolve
  })
  const gone = (): void => {
    stream = undefined
    for (const listener of listeners.splice(0)) listener()
  }
  const breakOff = (error: unknown): void => {
    stream?.error(error)
    gone()
  }
  const target: Target = {
    whole(status, headers, text) {
      give(new Response(text ?? null, { status, headers }))
    },
    begin(headers) {
      const body = new ReadableStream<Uint8Array>(
        { start: (controller) => void (stream = controller), cancel: gone },
        { highWaterMark: MAX_BUFFERED, size: (chunk) => chunk?.byteLength ?? 0 },
      )
      give(new Response(body, { status: 200, headers }))
    },
    write(text) {
      if (stream === undefined) return
      if ((stream.desiredSize ?? 0) > 0) stream.enqueue(encoder.encode(text))
      else breakOff(new Error('the client does not read'))
    },
    finish() {
      stream?.close()
      stream = undefined
    },
    onGone(listener) {
      listeners.push(listener)
      const { signal } = request
      signal.addEventListener('abort', () => breakOff(signal.reason), { once: true })
      if (signal.aborted) breakOff(signal.reason)
    },
  }
  return { target, response }
}
