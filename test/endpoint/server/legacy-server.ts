// A legacy server as somebody wrote it by hand, in each of the ways in which a handler may read its request.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'

export const READERS = {
  events: readByEvents,
  'late events': async (request) => {
    await new Promise((resolve) => setImmediate(resolve))
    return readByEvents(request)
  },
  late: async (request) => {
    await new Promise((resolve) => setImmediate(resolve))
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  },
  readable: (request) =>
    new Promise((resolve) => {
      const chunks: Buffer[] = []
      request.on('readable', () => {
        for (let chunk = request.read(3) ?? request.read(); chunk !== null; chunk = request.read())
          chunks.push(chunk as Buffer)
      })
      request.on('end', () => resolve(Buffer.concat(chunks).toString()))
    }),
  pipe: async (request) => {
    const hash = createHash('sha256')
    request.pipe(hash)
    await once(hash, 'finish')
    return JSON.stringify({ jsonrpc: '2.0', id: 1, method: hash.digest('hex') })
  },
  none: () => Promise.resolve('{"jsonrpc":"2.0","id":1,"method":"unread"}'),
} as const satisfies Record<string, (request: IncomingMessage) => Promise<string>>

function readByEvents(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (text += chunk))
    request.on('end', () => resolve(text))
    request.on('error', reject)
  })
}

type Reader = keyof typeof READERS

/** Answers as its kind does, down to the oddities: its own spelling of headers, every error with a 200. */
export function legacyHandler(reader: Reader = 'events') {
  return (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    handle(reader, request, response).catch(() => void response.destroy())
}

async function handle(reader: Reader, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader('X-Powered-By', 'hand')
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'Mcp-Session-Id': 'abc' })
    response.write('id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
    response.end(': bye\n\n')
    return
  }
  if (request.method !== 'POST') {
    response.writeHead(request.method === 'DELETE' ? 204 : 405, { Allow: 'POST, GET, DELETE' })
    response.end()
    return
  }
  if (request.headers['authorization'] === 'none') {
    response.writeHead(401, { 'WWW-Authenticate': 'Bearer' })
    response.end('who?')
    return
  }
  const text = await READERS[reader](request)
  response.setHeader('X-Received', `${text.length} ${createHash('sha256').update(text).digest('hex')}`)
  response.setHeader('X-Headers', JSON.stringify(request.rawHeaders).slice(0, 2000))
  answer(text, response)
}

function answer(text: string, response: ServerResponse): void {
  const say = (value: object): void => {
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end(JSON.stringify(value))
  }
  let message: { id?: unknown; method?: string; params?: { name?: string } }
  try {
    message = JSON.parse(text) as typeof message
  } catch {
    response.statusCode = 400
    return say({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } })
  }
  const { id, method, params } = message
  if (id === undefined) {
    response.writeHead(202)
    response.end()
  } else if (method === 'initialize') {
    const result = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'hand' },
    }
    response.setHeader('Mcp-Session-Id', 'abc')
    say({ jsonrpc: '2.0', id, result })
  } else if (method === 'tools/call' && params?.name === 'slow') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    response.write('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n')
    setImmediate(() => response.end(`data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}\n\n`))
  } else if (method === 'tools/call') {
    say({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: `called ${params?.name}` }] } })
  } else {
    say({ jsonrpc: '2.0', id, error: { code: -32601, message: `no ${method}` } })
  }
}
