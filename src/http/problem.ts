import type { FastifyReply } from 'fastify'
import { asMcpxError, FAILURES, McpxError } from '../base/index.ts'

/** Answers with an RFC 9457 problem document whose `code` is stable. */
export async function sendProblem(reply: FastifyReply, error: unknown): Promise<void> {
  const failure = refusedBody(error) ?? asMcpxError(error)
  const status = FAILURES[failure.code].http
  await reply
    .status(status)
    .type('application/problem+json')
    .send({ type: 'about:blank', title: failure.code, status, detail: failure.message, code: failure.code })
}

/** What fastify says of a body that it does not take is the caller's doing. */
function refusedBody(error: unknown): McpxError | undefined {
  if (!(error instanceof Error) || !('statusCode' in error) || !('code' in error)) return undefined
  const { statusCode, code } = error
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return undefined
  return new McpxError(String(code).endsWith('JSON_BODY') ? 'INPUT_NOT_JSON' : 'USAGE', error.message)
}
