// The frames that the bench servers and the load generator have in common, and one way to listen.
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

export const MODERN = '2026-07-28'
export const LEGACY = '2025-11-25'

const TOOL = {
  name: 'echo',
  description: 'Answers with its text',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}
const SERVER = { name: 'bench-echo', version: '1.0.0' }
const HINTS = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' }
const META = { 'io.modelcontextprotocol/serverInfo': SERVER }

/** @typedef {import('node:http').IncomingMessage} Incoming */
/** @typedef {import('node:http').ServerResponse} Outgoing */
/** @typedef {{ status: number, text?: string, headers?: object }} Answer */
/** @typedef {{ method: string, id?: number | string, params?: any }} Frame */

/** The answer of a server of 2026-07-28. @param {Frame} frame */
export function answerModern({ id, method, params }) {
  const result = { ...resultOf(method, params), resultType: 'complete', _meta: META }
  if (method === 'tools/call') return { jsonrpc: '2.0', id, result }
  if (method === 'tools/list') return { jsonrpc: '2.0', id, result: { ...result, ...HINTS } }
  if (method !== 'server/discover') return { jsonrpc: '2.0', id, error: { code: -32601, message: method } }
  const about = { supportedVersions: [MODERN], capabilities: { tools: {} } }
  return { jsonrpc: '2.0', id, result: { ...about, ...result, ...HINTS } }
}

/** The answer of a server that opens with `initialize`. @param {Frame} frame */
export function answerLegacy({ id, method, params }) {
  if (method === 'initialize') {
    const result = { protocolVersion: LEGACY, capabilities: { tools: {} }, serverInfo: SERVER }
    return { jsonrpc: '2.0', id, result }
  }
  const result = resultOf(method, params)
  return result
    ? { jsonrpc: '2.0', id, result }
    : { jsonrpc: '2.0', id, error: { code: -32601, message: method } }
}

/** @param {string} method @param {any} params @returns {object | undefined} */
function resultOf(method, params) {
  if (method === 'tools/call') return { content: [{ type: 'text', text: params.arguments.text }] }
  if (method === 'tools/list') return { tools: [TOOL] }
  if (method === 'ping') return {}
  return undefined
}

/** The whole body; by events, which cost less than an iterator. @param {Incoming} request @returns {Promise<string>} */
export function bodyOf(request) {
  return new Promise((resolve, reject) => {
    /** @type {Buffer[]} */
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => resolve(Buffer.concat(chunks).toString()))
    request.on('error', reject)
  })
}

/** Ends a response; an empty text has no body. @param {Outgoing} response @param {Answer} answer */
export function reply(response, { status, text = '', headers }) {
  const length = { 'content-length': Buffer.byteLength(text) }
  const type = text === '' ? undefined : { 'content-type': 'application/json' }
  response.writeHead(status, { ...length, ...type, ...headers }).end(text)
}

/**
 * Listens on loopback, on a free port, and prints the URL.
 * @param {(request: Incoming, response: Outgoing) => Promise<void>} handler
 */
export function listen(handler) {
  // Longer than any pause between two rounds: a connection that is closed meanwhile would be measured as an error.
  const http = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    handler(request, response).catch((cause) => {
      console.error(cause)
      response.destroy()
    })
  })
  http.listen(0, '127.0.0.1', () => {
    const address = http.address()
    console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/mcp`)
  })
}

/** The value of `--name` on the command line. @param {string} name */
export function option(name) {
  const { values } = parseArgs({ options: { [name]: { type: 'string' } } })
  return String(values[name])
}
