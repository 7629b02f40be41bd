// A server over HTTP in this process, of either era: a test says what it answers and holds its streams in hand.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../peers/peer.ts'
import { event, json, result, serve, stream } from '../transport/http-server.ts'

export interface Asked {
  readonly verb: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly session: string | undefined
  readonly method: string
  readonly id: unknown
  readonly params: JsonObject
}

/** A stream that belongs to no call: of a GET in the legacy era, of `subscriptions/listen` in the modern one. */
export interface Standing {
  readonly asked: Asked
  readonly isOpen: boolean
  /** Sends a notification. */
  tell(method: string, params?: JsonObject): void
  /** Breaks the connection off. */
  cut(): void
}

/** The result of a request; undefined where the response has been written. An error with a `code` is a refusal. */
export type Answering = (asked: Asked, response: ServerResponse) => unknown

export interface Host extends AsyncDisposable {
  readonly url: string
  readonly asked: readonly Asked[]
  readonly streams: readonly Standing[]
  /** Requests of that method so far. */
  times(method: string): number
  /** Resolves when so many requests of the method have come. */
  reached(method: string, count: number): Promise<void>
  /** Resolves with the stream that was opened nth, counted from 1. */
  stream(nth: number): Promise<Standing>
  close(): Promise<void>
}

export interface HostOptions {
  readonly era: 'legacy' | 'modern'
  readonly capabilities?: JsonObject
  readonly answer: Answering
  /** Takes a GET in place of the stream that is kept open. */
  readonly onGet?: (response: ServerResponse) => void
  /** Resolves when a stream may be opened. */
  readonly admits?: () => Promise<void>
}

export const refused = (code: number, message: string) => Object.assign(new Error(message), { code })
export const text = (said: unknown) => ({ content: [{ type: 'text', text: String(said) }] })

const HOP = 'io.modelcontextprotocol/'
const INFO = { name: 'host', version: '1.0.0' }
const COMPLETE = { resultType: 'complete', _meta: { [`${HOP}serverInfo`]: INFO } }
const HINTS = { ttlMs: 0, cacheScope: 'private' }

export async function openHost(options: HostOptions): Promise<Host> {
  const { era, capabilities = { tools: {} }, answer, onGet, admits } = options
  const [asked, streams]: [Asked[], Standing[]] = [[], []]
  const watchers = new Set<() => void>()
  const keep = (one: Asked, response: ServerResponse) => {
    const tell = (method: string, params: JsonObject = {}) => {
      const _meta = era === 'modern' ? { [`${HOP}subscriptionId`]: one.id } : undefined
      response.write(event({ jsonrpc: '2.0', method, params: { ...params, ...(_meta && { _meta }) } }))
    }
    stream(response)
    if (era === 'modern')
      tell('notifications/subscriptions/acknowledged', { notifications: one.params['notifications'] })
    streams.push({
      ...{ asked: one, tell, cut: () => void response.destroy() },
      get isOpen() {
        return !response.destroyed
      },
    })
    for (const look of watchers) look()
  }
  const admit = async (one: Asked, response: ServerResponse) => {
    await admits?.()
    keep(one, response)
  }
  const opening = (one: Asked): JsonObject | undefined => {
    if (era === 'modern' && one.method === 'server/discover')
      return { supportedVersions: ['2026-07-28'], capabilities }
    if (era === 'legacy' && one.method === 'initialize')
      return { protocolVersion: one.params['protocolVersion'], capabilities, serverInfo: INFO }
    return one.method === 'ping' || one.method === 'logging/setLevel' ? {} : undefined
  }
  const take = async (one: Asked, response: ServerResponse) => {
    if (one.verb === 'GET' && era === 'legacy') return onGet ? onGet(response) : admit(one, response)
    if (one.verb !== 'POST') return void response.writeHead(one.verb === 'DELETE' ? 200 : 405).end()
    if (one.id === undefined || one.method === '') return void response.writeHead(202).end()
    if (one.method === 'subscriptions/listen' && era === 'modern') return admit(one, response)
    try {
      const session = one.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
      const given = opening(one) ?? (await answer(one, response))
      if (given === undefined) return
      const whole = era === 'modern' && (one.method === 'tools/call' ? COMPLETE : { ...COMPLETE, ...HINTS })
      json(response, result(one.id, { ...whole, ...(given as JsonObject) }), session)
    } catch (error) {
      const { code = -32603, message } = error as { code?: number; message: string }
      const status = era === 'modern' && code === -32601 ? 404 : 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: one.id, error: { code, message } }))
    }
  }
  const server = await serve(({ method: verb = '', headers, body }, response) => {
    const { method = '', id, params = {} } = (body === '' ? {} : JSON.parse(body)) as Partial<Asked>
    const session = headers['mcp-session-id']
    const one = { verb, headers, session: session?.toString(), method, id, params }
    asked.push(one)
    for (const look of watchers) look()
    void take(one, response)
  })
  const until = <T>(find: () => T | undefined) =>
    new Promise<T>((resolve) => {
      const look = () => {
        const found = find()
        if (found === undefined) return
        watchers.delete(look)
        resolve(found)
      }
      watchers.add(look)
      look()
    })
  const times = (method: string) => asked.filter((one) => one.method === method).length
  const reached = (method: string, count: number) =>
    until(() => (times(method) >= count ? true : undefined)).then(() => {})
  const close = async () => server[Symbol.asyncDispose]()
  return {
    ...{ url: server.url, asked, streams, times, reached, close },
    stream: (nth) => until(() => streams[nth - 1]),
    [Symbol.asyncDispose]: close,
  }
}

/** What a server answers that has these tools, each of which says its own name. */
export function toolsOf(tools: () => readonly JsonObject[], more?: Answering): Answering {
  return (asked, response) => {
    const { method, params } = asked
    if (method === 'tools/list') return { tools: tools() }
    if (method === 'tools/call') return more?.(asked, response) ?? text(params['name'])
    return more?.(asked, response) ?? Promise.reject(refused(-32601, `Method not found: ${method}`))
  }
}

export const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  ...{ name, inputSchema: { type: 'object' } },
  ...more,
})

/** The lines that a daemon has logged, from a level on: 40 is a warning. */
export function logged(daemon: { stderr(): string }, level = 40): JsonObject[] {
  const lines = daemon.stderr().split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as JsonObject).filter((line) => Number(line['level']) >= level)
}
