// A client of either era, over HTTP or a pipe, that takes what comes and can give a call up in its own way.
import { createInterface } from 'node:readline'
import { Agent, request } from 'undici'
import type { Command, JsonObject } from '../peers/peer.ts'
import { startChild } from '../peers/processes.ts'
import type { Child } from '../peers/processes.ts'
import { openingOf, paramsFor } from '../peers/raw.ts'
import type { Revision } from '../peers/raw.ts'

export interface Caller extends AsyncDisposable {
  readonly revision: Revision
  /** Everything that came, in order. */
  readonly heard: readonly JsonObject[]
  /** Sends a request. */
  send(id: unknown, method: string, params?: JsonObject): void
  /** Sends a request and resolves with its answer. */
  ask(id: unknown, method: string, params?: JsonObject): Promise<JsonObject>
  answer(id: unknown): Promise<JsonObject>
  /** Answers what the server asked. */
  reply(id: unknown, result: JsonObject): void
  /** The first message that fits, of those from an index on. */
  next(fits: (message: JsonObject) => boolean, from: number): Promise<JsonObject>
  /** Opens the stream of a legacy session, on which it is told what belongs to no call. A pipe is one already. */
  listen(): Promise<void>
  /** Gives a request up as this era and transport have it; resolves when no answer to it could follow any more. */
  cancel(id: unknown): Promise<void>
}

interface Wire {
  post(message: JsonObject): void
  /** Closes the stream of a request, where that means that it is given up. */
  close(id: unknown): boolean
  listen(): Promise<void>
  /** Resolves when the reply to a request has ended, where it has one of its own. */
  over(id: unknown): Promise<void> | undefined
  stop(): Promise<void>
}

type Connect = (revision: Revision, onMessage: (message: JsonObject) => void) => Wire

/** Opens a connection. */
export async function openCaller(
  revision: Revision,
  connect: Connect,
  capabilities: JsonObject = {},
): Promise<Caller> {
  const heard: JsonObject[] = []
  const watchers = new Set<() => void>()
  const wire = connect(revision, (message) => {
    heard.push(message)
    for (const look of watchers) look()
  })
  const next = (fits: (message: JsonObject) => boolean, from: number) =>
    new Promise<JsonObject>((resolve) => {
      const look = () => {
        const found = heard.slice(from).find(fits)
        if (found === undefined) return
        watchers.delete(look)
        resolve(found)
      }
      watchers.add(look)
      look()
    })
  const answer = (id: unknown) => next((message) => !('method' in message) && message['id'] === id, 0)
  const send = (id: unknown, method: string, params?: JsonObject) => {
    const full = paramsFor({ revision }, params)
    wire.post({ jsonrpc: '2.0', id, method, ...(full && { params: full }) })
  }
  const ask = (id: unknown, method: string, params?: JsonObject) => {
    send(id, method, params)
    return answer(id)
  }
  const reply = (id: unknown, result: JsonObject) => wire.post({ jsonrpc: '2.0', id, result })
  const cancel = async (id: unknown) => {
    if (wire.close(id)) return
    wire.post({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: id, reason: 'enough' },
    })
    // On a pipe the answer to what is sent later shows that none is on its way.
    await (wire.over(id) ?? ask(`after ${String(id)}`, 'tools/list'))
  }
  const opening = openingOf({ revision, capabilities })
  await ask('open', opening.method, opening.params)
  if (revision !== '2026-07-28') wire.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return {
    ...{ revision, heard, send, ask, answer, reply, next, cancel, listen: () => wire.listen() },
    [Symbol.asyncDispose]: () => wire.stop(),
  }
}

export function overPipe(command: Command): Connect {
  return (revision, onMessage) => overChild(startChild(command))(revision, onMessage)
}

/** Over a process that a test holds in hand. */
export function overChild(child: Child): Connect {
  return (_, onMessage) => {
    createInterface({ input: child.stdout }).on('line', (line) => onMessage(JSON.parse(line) as JsonObject))
    return {
      post: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
      close: () => false,
      listen: () => Promise.resolve(),
      over: () => undefined,
      stop: () => child.stop(),
    }
  }
}

export function overHttp(url: string, more: Record<string, string> = {}): Connect {
  return (revision, onMessage) => {
    const agent = new Agent()
    let ended = false
    const open = new Map<unknown, { readonly abort: AbortController; readonly over: Promise<void> }>()
    let session: Record<string, string> = {}
    const exchange = async (message: JsonObject, signal: AbortSignal) => {
      const headers = { ...BASE, ...more, ...(revision === '2026-07-28' ? modern(message) : session) }
      const body = JSON.stringify(message)
      const response = await request(url, { dispatcher: agent, method: 'POST', headers, body, signal })
      const id = response.headers['mcp-session-id']
      if (typeof id === 'string') session = { 'mcp-session-id': id }
      await readInto(onMessage, response)
    }
    let standing: Promise<void> | undefined
    const listen = async () => {
      const headers = { ...more, ...session, accept: 'text/event-stream' }
      const response = await request(url, { dispatcher: agent, method: 'GET', headers })
      standing = readInto(onMessage, response).catch((error: unknown) => {
        if (!ended) throw error
      })
    }
    return {
      listen,
      post: (message) => {
        const abort = new AbortController()
        const over = exchange(message, abort.signal).catch((error: unknown) => {
          if (!abort.signal.aborted && !ended) throw error
        })
        open.set(message['id'], { abort, over })
      },
      close: (id) => {
        if (revision !== '2026-07-28') return false
        open.get(id)?.abort.abort()
        return true
      },
      over: (id) => open.get(id)?.over,
      stop: async () => {
        ended = true
        await agent.destroy()
        await Promise.all([standing, ...[...open.values()].map(({ over }) => over)])
      },
    }
  }
}

const BASE = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function modern({ method, params }: JsonObject): Record<string, string> {
  const { name, uri, taskId } = (params ?? {}) as JsonObject
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': String(method) }
  const named = method === 'resources/read' ? uri : String(method).startsWith('tasks/') ? taskId : name
  return typeof named === 'string' ? { ...headers, 'mcp-name': named } : headers
}

type HttpResponse = Awaited<ReturnType<typeof request>>

async function readInto(
  onMessage: (message: JsonObject) => void,
  { headers, body }: HttpResponse,
): Promise<void> {
  if (headers['content-type'] !== 'text/event-stream') {
    const text = await body.text()
    if (text !== '') onMessage(JSON.parse(text) as JsonObject)
    return
  }
  const decoder = new TextDecoder()
  let pending = ''
  for await (const chunk of body) {
    pending += decoder.decode(chunk as Uint8Array, { stream: true })
    const events = pending.split('\n\n')
    pending = events.pop() ?? ''
    for (const event of events) {
      const data = event
        .split('\n')
        .find((line) => line.startsWith('data:'))
        ?.slice(5)
      if (data?.trim()) onMessage(JSON.parse(data) as JsonObject)
    }
  }
}
