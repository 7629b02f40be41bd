// A small legacy server without sessions, whose tools are functions that both eras call.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Method } from '../../../src/endpoint/server/index.ts'

const tool = {
  name: 'add',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
}

const add = ({ a, b }: { a: number; b: number }) => ({
  content: [{ type: 'text', text: String(a + b) }],
})

export const METHODS: Readonly<Record<string, Method>> = {
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': (params) => add(params['arguments'] as Parameters<typeof add>[0]),
}

interface Message {
  readonly id?: unknown
  readonly method: string
  readonly params: { readonly arguments: Parameters<typeof add>[0] }
}

export async function handwritten(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Message
  if (id === undefined) return void response.writeHead(202).end()
  const answer = answerOf(method, params)
  response.writeHead('error' in answer ? 400 : 200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
}

function answerOf(method: string, params: Message['params']): { result: object } | { error: object } {
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'hand', version: '1.0.0' }
      return { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } }
    }
    case 'tools/list':
      return { result: { tools: [tool] } }
    case 'tools/call':
      return { result: add(params.arguments) }
    default:
      return { error: { code: -32601, message: 'Method not found' } }
  }
}
