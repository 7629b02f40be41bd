import type { FastifyReply } from 'fastify'
import { asMcpxError, FAILURES } from '../base/index.ts'

/** Answers with an RFC 9457 problem document whose `code` is stable. */
export async function sendProblem(reply: FastifyReply, error: unknown): Promise<void> {
  const failure = asMcpxError(error)
  const status = FAILURES[failure.code].http
  await reply
    .status(status)
    .type('application/problem+json')
    .send({ type: 'about:blank', title: failure.code, status, detail: failure.message, code: failure.code })
}
