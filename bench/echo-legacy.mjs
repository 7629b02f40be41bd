// An upstream of 2025-11-25 over Streamable HTTP with sessions, as fast as node:http is.
import { randomUUID } from 'node:crypto'
import { answerLegacy, bodyOf, listen, reply } from './frames.mjs'

/** @type {Set<unknown>} */
const sessions = new Set()

listen(async (request, response) => {
  const body = await bodyOf(request)
  const session = request.headers['mcp-session-id']
  if (request.method === 'DELETE') return reply(response, { status: sessions.delete(session) ? 204 : 404 })
  if (request.method !== 'POST') return reply(response, { status: 405 })
  const frame = JSON.parse(body)
  const text = JSON.stringify(answerLegacy(frame))
  if (frame.method === 'initialize') {
    const id = randomUUID()
    sessions.add(id)
    return reply(response, { status: 200, text, headers: { 'mcp-session-id': id } })
  }
  if (!sessions.has(session)) return reply(response, { status: session ? 404 : 400 })
  if (frame.id === undefined) return reply(response, { status: 202 })
  return reply(response, { status: 200, text })
})
