// An upstream of 2026-07-28 over HTTP, as fast as node:http is.
import { answerModern, bodyOf, listen, reply } from './frames.mjs'

listen(async (request, response) => {
  const body = await bodyOf(request)
  if (request.method !== 'POST') return reply(response, { status: 405 })
  const frame = JSON.parse(body)
  if (frame.id === undefined) return reply(response, { status: 202 })
  const answer = answerModern(frame)
  return reply(response, { status: 'error' in answer ? 404 : 200, text: JSON.stringify(answer) })
})
