// All servers of the soak that are reached over HTTP, in one process: node http-servers.mjs <name:tools:era>…  prints its origin.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { bodyOf, reply } from '../frames.mjs'
import { acknowledged, changed, Server } from './server.mjs'

/** @typedef {import('node:http').ServerResponse} Outgoing */
/** @typedef {{ server: Server, sessions: Map<string, Outgoing | undefined>, streams: Map<Outgoing, number | string> }} Hosted */

/** @type {Map<string, Hosted>} */
const hosted = new Map()
for (const one of process.argv.slice(2)) {
  const [name = '', tools, era] = one.split(':')
  const server = new Server(name, Number(tools), /** @type {'legacy' | 'modern'} */ (era))
  const host = { server, sessions: new Map(), streams: new Map() }
  hosted.set(name, host)
  server.onChange = () => {
    for (const stream of host.sessions.values()) if (stream) event(stream, changed())
    for (const [stream, id] of host.streams) event(stream, changed(id))
  }
  // Sessions are forgotten and every stream breaks, the one of the call that asked for it too.
  server.onCrash = () => {
    for (const stream of [...host.sessions.values(), ...host.streams.keys(), ...calls(host)])
      stream?.destroy()
    host.sessions.clear()
    host.streams.clear()
  }
}

/** @type {Map<Outgoing, Hosted>} */
const open = new Map()
const calls = (/** @type {Hosted} */ host) => [...open].flatMap(([call, of]) => (of === host ? [call] : []))

/** @param {Outgoing} response @param {object} message */
function event(response, message) {
  response.write(`data: ${JSON.stringify(message)}\n\n`)
}

const listener = createServer({ keepAliveTimeout: 120_000 }, async (request, response) => {
  const host = hosted.get(request.url?.slice(1) ?? '')
  if (host === undefined) return reply(response, { status: 404 })
  const session = request.headers['mcp-session-id']?.toString()
  const { server, sessions, streams } = host
  if (request.method === 'DELETE') {
    sessions.get(String(session))?.end()
    return reply(response, { status: sessions.delete(String(session)) ? 204 : 404 })
  }
  const stream = () => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  if (request.method === 'GET') {
    if (server.era === 'modern' || typeof session !== 'string') return reply(response, { status: 405 })
    if (!sessions.has(session)) return reply(response, { status: 404 })
    sessions.set(session, response)
    response.on('close', () => sessions.get(session) === response && sessions.set(session, undefined))
    return stream()
  }
  const frame = JSON.parse(await bodyOf(request))
  if (frame.method === 'notifications/cancelled') server.cancel(`${session} ${frame.params.requestId}`)
  if (frame.id === undefined) return reply(response, { status: 202 })
  if (server.era === 'modern' && frame.method === 'subscriptions/listen') {
    streams.set(response, frame.id)
    response.on('close', () => streams.delete(response))
    stream()
    return event(response, acknowledged(frame.id))
  }
  /** @type {Record<string, string>} */
  const headers = {}
  if (server.era === 'legacy' && frame.method === 'initialize') {
    headers['mcp-session-id'] = randomUUID()
    sessions.set(headers['mcp-session-id'], undefined)
  } else if (server.era === 'legacy' && !sessions.has(String(session))) {
    return reply(response, { status: session ? 404 : 400 })
  }
  const key = server.era === 'legacy' ? `${session} ${frame.id}` : response
  open.set(response, host)
  response.on('close', () => {
    open.delete(response)
    if (server.era === 'modern') server.cancel(key)
  })
  server.take(
    frame,
    (answer) => {
      const status = 'error' in answer && server.era === 'modern' ? 404 : 200
      if (!response.destroyed) reply(response, { status, headers, text: JSON.stringify(answer) })
    },
    key,
  )
})
listener.listen(0, '127.0.0.1', () => {
  const address = listener.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
})
