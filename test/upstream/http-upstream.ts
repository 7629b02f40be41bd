// A server over HTTP in this process: its behaviour can be exchanged, and its port closed and opened, while mcpx runs.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { JsonObject } from '../peers/peer.ts'

export interface Asked {
  readonly verb: string
  readonly headers: IncomingHttpHeaders
  readonly method: string
  readonly id: unknown
  readonly params: JsonObject
}

/** `cut` closes the connection without an answer. */
export type Reply =
  { readonly status?: number; readonly body?: unknown; readonly headers?: Record<string, string> } | 'cut'
export type Behaviour = (asked: Asked) => Reply | Promise<Reply>

export interface HttpUpstream extends AsyncDisposable {
  readonly url: string
  /** The requests since the last `forget`. */
  readonly asked: readonly Asked[]
  behave(behaviour: Behaviour): void
  forget(): void
  /** Refuses connections until `up`. */
  down(): Promise<void>
  up(): Promise<void>
}

export async function openUpstream(first: Behaviour): Promise<HttpUpstream> {
  const asked: Asked[] = []
  let behaviour = first
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const message = (body === '' ? {} : JSON.parse(body)) as Partial<Asked>
    const one: Asked = {
      verb: String(request.method),
      headers: request.headers,
      method: message.method ?? '',
      id: message.id,
      params: message.params ?? {},
    }
    asked.push(one)
    const reply = one.verb === 'POST' ? await behaviour(one) : { status: one.verb === 'DELETE' ? 200 : 405 }
    if (reply === 'cut') return void request.socket.destroy()
    const { status = 200, body: said, headers = {} } = reply
    const type = typeof said === 'object' ? { 'content-type': 'application/json' } : {}
    response.writeHead(status, { ...type, ...headers })
    response.end(typeof said === 'object' ? JSON.stringify(said) : said)
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const down = async () => {
    server.close()
    server.closeAllConnections()
    if (server.listening) await once(server, 'close')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    asked,
    behave: (next) => void (behaviour = next),
    forget: () => void asked.splice(0),
    down,
    up: () => listen(port),
    [Symbol.asyncDispose]: down,
  }
}

const META = 'io.modelcontextprotocol/'
const TOOLS = [{ name: 'era', inputSchema: { type: 'object' } }]
const said = (era: string) => ({ content: [{ type: 'text', text: era }] })

const answer = ({ id }: Asked, result: JsonObject): Reply => ({ body: { jsonrpc: '2.0', id, result } })
export const refuse = (
  { id }: Asked,
  code: number,
  more: { status?: number; data?: unknown } = {},
): Reply => ({
  status: more.status ?? 200,
  body: {
    jsonrpc: '2.0',
    id,
    error: { code, message: 'refused', ...(more.data === undefined ? {} : { data: more.data }) },
  },
})

function isModern({ params }: Asked): boolean {
  const { _meta } = params as { _meta?: JsonObject }
  return _meta?.[`${META}protocolVersion`] !== undefined
}

/** A modern server: it answers what comes without an envelope with the versions that it has, and what it lacks with a 404. */
export function modern(version = '1.0.0'): Behaviour {
  const whole = { resultType: 'complete', _meta: { [`${META}serverInfo`]: { name: 'fixture', version } } }
  const kept = { ...whole, ttlMs: 60_000, cacheScope: 'public' }
  return (asked) => {
    if (!isModern(asked)) return refuse(asked, -32022, { status: 400, data: { supported: ['2026-07-28'] } })
    switch (asked.method) {
      case 'server/discover':
        return answer(asked, { ...kept, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
      case 'tools/list':
        return answer(asked, { ...kept, tools: TOOLS })
      case 'tools/call':
        return answer(asked, { ...whole, ...said('modern') })
      default:
        return refuse(asked, -32601, { status: 404 })
    }
  }
}

export interface LegacyHttp {
  readonly behaviour: Behaviour
  /** Ends all sessions, as a restart does. */
  lose(): void
  /** Sessions opened so far. */
  readonly opened: readonly string[]
}

/** A legacy server with sessions. `before` sees each request first, and may answer it. */
export function legacy(before?: (asked: Asked) => Reply | undefined, version = '1.0.0'): LegacyHttp {
  const open = new Set<string>()
  const opened: string[] = []
  const behaviour: Behaviour = (asked) => {
    const early = before?.(asked)
    if (early !== undefined) return early
    if (asked.method === 'initialize') {
      const session = randomUUID()
      open.add(session)
      opened.push(session)
      const serverInfo = { name: 'fixture', version }
      const { protocolVersion } = asked.params
      const result = { protocolVersion, capabilities: { tools: {}, logging: {} }, serverInfo }
      return { ...(answer(asked, result) as object), headers: { 'mcp-session-id': session } }
    }
    const session = asked.headers['mcp-session-id']
    if (session === undefined) return { status: 400 }
    if (!open.has(String(session))) return refuse(asked, -32001, { status: 404 })
    if (asked.id === undefined) return { status: 202 }
    if (asked.method === 'tools/list') return answer(asked, { tools: TOOLS })
    if (asked.method === 'tools/call') return answer(asked, said('legacy'))
    return asked.method === 'ping' ? answer(asked, {}) : refuse(asked, -32601)
  }
  return { behaviour, opened, lose: () => open.clear() }
}

/** Both eras: what has the envelope of the modern one is answered so. */
export function dual(version = '1.0.0'): Behaviour {
  const [newer, older] = [modern(version), legacy(undefined, version).behaviour]
  return (asked) => (isModern(asked) ? newer : older)(asked)
}

export function openingsOf(asked: readonly Asked[]): string {
  const methods = asked.map(({ method }) => method.replace('server/', ''))
  return methods.filter((method) => method === 'discover' || method === 'initialize').join(' ')
}
