import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { asMcpxError, FAILURES, McpxError } from '../base/index.ts'

/** Answers with an RFC 9457 problem document whose `code` is stable. */
export async function sendProblem(reply: FastifyReply, error: unknown): Promise<void> {
  const failure = error instanceof McpxError ? error : (refusedBody(error) ?? asMcpxError(error))
  await reply.status(FAILURES[failure.code].http).type('application/problem+json').send(problemOf(failure))
}

/** Answers what could not be read as a request at all. `maxHeader` in bytes. */
export function clientError(
  maxHeader: number,
  onOverflow: () => void,
): (error: Error & { code?: string }, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const isOverflow = error.code === 'HPE_HEADER_OVERFLOW'
    if (isOverflow) onOverflow()
    const failure = isOverflow
      ? new McpxError(
          'HEADER_TOO_LARGE',
          `The head of the request is larger than ${maxHeader} bytes (http.maxHeader).`,
        )
      : new McpxError('USAGE', `This is no HTTP request: ${error.message}`)
    const body = JSON.stringify(problemOf(failure))
    const { http } = FAILURES[failure.code]
    const head = [
      `HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ''}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ]
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  }
}

function problemOf({ code, message }: McpxError) {
  const status = FAILURES[code].http
  return { type: 'about:blank', title: code, status, detail: message, code }
}

/** What fastify says of a body that it does not take is the caller's doing. */
function refusedBody(error: unknown): McpxError | undefined {
  if (!(error instanceof Error) || !('statusCode' in error) || !('code' in error)) return undefined
  const { statusCode, code } = error
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return undefined
  return new McpxError(String(code).endsWith('JSON_BODY') ? 'INPUT_NOT_JSON' : 'USAGE', error.message)
}
