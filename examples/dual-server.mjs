// A server that speaks both eras: the same tools for clients that open with `initialize` and for those of 2026-07-28.
//   node examples/dual-server.mjs                       over stdio
//   node examples/dual-server.mjs --http [--port N]     over HTTP, with sessions for the older clients; prints its URL
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
} from '@modelcontextprotocol/node'
import {
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  isInitializeRequest,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

/** @typedef {import('@modelcontextprotocol/node').NodeIncomingMessageLike} NodeRequest */
/** @typedef {import('node:http').RequestListener} RequestListener */

/** Minutes and degrees Celsius. @type {Record<string, { minutes: number, celsius: number }>} */
const TEAS = {
  assam: { minutes: 4, celsius: 95 },
  chamomile: { minutes: 6, celsius: 95 },
  sencha: { minutes: 2, celsius: 75 },
}
const names = Object.keys(TEAS)
const TEA = z.enum(/** @type {[string, ...string[]]} */ (names))
const SIZE = z.object({ size: z.enum(['small', 'large']) })

/** @param {string} text */
const says = (text) => ({ content: [{ type: /** @type {const} */ ('text'), text }] })

function makeServer() {
  const server = new McpServer({ name: 'tea', title: 'Tea', version: '1.0.0' })

  server.registerTool(
    'brewing',
    {
      title: 'How to brew',
      description: 'Says how long and how hot a tea is brewed.',
      inputSchema: z.object({ tea: TEA }),
      outputSchema: z.object({ minutes: z.number(), celsius: z.number() }),
      annotations: { readOnlyHint: true },
    },
    // Only structured content: a client that cannot read it needs it as text.
    ({ tea }) => ({ content: [], structuredContent: { ...TEAS[tea] } }),
  )

  server.registerTool(
    'order',
    {
      title: 'Order',
      description: 'Orders a tea, and asks for the size.',
      inputSchema: z.object({ tea: TEA }),
    },
    ({ tea }, { mcpReq }) => {
      const answer = acceptedContent(mcpReq.inputResponses, 'size', SIZE)
      if (answer) return says(`One ${answer.size} ${tea}.`)
      if (mcpReq.inputResponses) return says('Nothing ordered.')
      const question = inputRequired.elicit({ message: `Which size of ${tea}?`, requestedSchema: SIZE })
      return inputRequired({ inputRequests: { size: question } })
    },
  )

  server.registerPrompt(
    'recommend',
    {
      title: 'Recommend a tea',
      description: 'Asks for a tea that goes with a mood.',
      argsSchema: z.object({
        mood: completable(z.string(), (typed) =>
          ['sleepy', 'curious', 'calm'].filter((mood) => mood.startsWith(typed)),
        ),
      }),
    },
    ({ mood }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `I feel ${mood}. Which tea?` } }],
    }),
  )

  server.registerResource('menu', 'tea://menu', { title: 'Menu', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: names.join('\n') }],
  }))
  server.registerResource('leaf', 'tea://leaf', { title: 'A leaf', mimeType: 'image/svg+xml' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'image/svg+xml', blob: Buffer.from('<svg/>').toString('base64') }],
  }))
  server.registerResource(
    'tea',
    new ResourceTemplate('tea://teas/{name}', {
      list: undefined,
      complete: { name: (typed) => names.filter((name) => name.startsWith(typed)) },
    }),
    { title: 'One tea', mimeType: 'application/json' },
    (uri, { name }) => ({
      contents: [
        { uri: uri.href, mimeType: 'application/json', text: JSON.stringify(TEAS[String(name)] ?? null) },
      ],
    }),
  )
  return server
}

/** @param {number} port */
function serveHttp(port) {
  const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: 'reject' }))
  /** @type {Map<string, NodeStreamableHTTPServerTransport>} */
  const sessions = new Map()
  const hostIsLocal = localhostHostValidation()
  const originIsLocal = localhostOriginValidation()

  const http = createServer((request, response) => {
    if (!hostIsLocal(request, response) || !originIsLocal(request, response)) return
    handle(request, response).catch((cause) => {
      console.error(cause)
      response.destroy()
    })
  })

  /** @type {(...exchange: Parameters<RequestListener>) => Promise<void>} */
  async function handle(request, response) {
    const web = await toWebRequest(/** @type {NodeRequest} */ (request))
    const body =
      request.method === 'POST'
        ? await web
            .clone()
            .json()
            .catch(() => undefined)
        : undefined
    if (!(await isLegacyRequest(web, body)))
      return modern(/** @type {NodeRequest} */ (request), response, body)
    const session = sessions.get(String(request.headers['mcp-session-id']))
    const transport = session ?? (isInitializeRequest(body) ? await open() : undefined)
    if (transport) return transport.handleRequest(request, response, body)
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end(
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"No such session: initialize first"}}',
    )
  }

  async function open() {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    })
    await makeServer().connect(transport)
    return transport
  }

  http.listen(port, '127.0.0.1', () => {
    const address = http.address()
    console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/mcp`)
  })
}

const { values } = parseArgs({
  options: { http: { type: 'boolean', default: false }, port: { type: 'string', default: '0' } },
})
if (values.http) serveHttp(Number(values.port))
else serveStdio(makeServer)
