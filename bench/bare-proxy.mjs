// The floor of a JSON proxy in this runtime: HTTP in, parse, serialise, HTTP out, and the same back. Nothing else.
import { Pool } from 'undici'
import { bodyOf, listen, option, reply } from './frames.mjs'

const upstream = new URL(option('url'))
const pool = new Pool(upstream.origin, { pipelining: 1 })
const PASSED_UP = [
  'content-type',
  'accept',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
]
const PASSED_DOWN = ['content-type', 'mcp-session-id']

listen(async (request, response) => {
  const message = JSON.parse(await bodyOf(request))
  const answer = await pool.request({
    path: upstream.pathname,
    method: 'POST',
    headers: only(PASSED_UP, request.headers),
    body: JSON.stringify(message),
  })
  const received = await answer.body.text()
  const text = received && JSON.stringify(JSON.parse(received))
  const headers = only(PASSED_DOWN, answer.headers)
  reply(response, { status: answer.statusCode, text, headers })
})

/** @param {string[]} names @param {NodeJS.Dict<string | string[]>} headers */
function only(names, headers) {
  /** @type {Record<string, string | string[]>} */
  const kept = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}
