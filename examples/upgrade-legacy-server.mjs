// A legacy server that somebody wrote by hand, upgraded to serve clients of 2026-07-28 too. From this folder's parent:
//   npm run build && node examples/upgrade-legacy-server.mjs [--mode off|observe|dry-run|serve|sunset] [--port N]
// It prints its URL and one line for each request. The old server ends where the line says so, and is not changed by a byte.
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'
import { withModernEra } from 'mcpx/server'

const serverInfo = { name: 'dice', version: '1.0.0' }
const tool = {
  name: 'roll',
  description: 'Rolls dice.',
  inputSchema: { type: 'object', properties: { count: { type: 'integer', minimum: 1, maximum: 20 } } },
}

/** @typedef {{ count?: number }} Roll */

const listTools = () => ({ tools: [tool] })

/** @param {{ name?: unknown, arguments?: Roll }} params */
function callTool(params) {
  if (params.name !== tool.name) throw Object.assign(new Error('Unknown tool'), { code: -32602 })
  const rolls = Array.from({ length: params.arguments?.count ?? 1 }, () => 1 + Math.floor(Math.random() * 6))
  return { content: [{ type: 'text', text: rolls.join(' ') }] }
}

/** @type {(method: string, params: Record<string, unknown>) => object} */
function answer(method, params) {
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
    case 'ping':
      return {}
    case 'tools/list':
      return listTools()
    case 'tools/call':
      return callTool(params)
    default:
      throw Object.assign(new Error(`Method not found: ${method}`), { code: -32601 })
  }
}

/** @type {import('node:http').RequestListener} */
async function legacyHandler(request, response) {
  if (request.method !== 'POST') return void response.writeHead(405, { Allow: 'POST' }).end()
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const { id, method, params } = JSON.parse(body)
  if (id === undefined) return void response.writeHead(202).end()
  let outcome
  try {
    outcome = { result: answer(method, params ?? {}) }
  } catch (error) {
    const { code = -32603, message } = /** @type {Error & { code?: number }} */ (error)
    outcome = { error: { code, message } }
  }
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
}

// --- here the old server ends ---

const { values } = parseArgs({
  options: { mode: { type: 'string' }, port: { type: 'string', default: '0' } },
})

const handler = withModernEra(legacyHandler, {
  serverInfo,
  capabilities: { tools: {} },
  instructions: 'Rolls dice that nobody can predict.',
  methods: { 'tools/list': listTools, 'tools/call': callTool },
  hints: { 'tools/list': { ttlMs: 3_600_000, cacheScope: 'public' } },
  mode: /** @type {import('mcpx/server').Mode | undefined} */ (values.mode),
  onEvent: ({ era, reason, servedBy, method, status, code, verdict }) => {
    console.log(JSON.stringify({ era, reason, servedBy, method, status, code, verdict }))
  },
})

const http = createServer(handler)
http.listen(Number(values.port), '127.0.0.1', () => {
  const address = http.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/mcp`)
})
