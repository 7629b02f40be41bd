// Clients that hold every message in their own hands: nothing is answered unless the test says so.
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { JsonObject } from '../../src/base/index.ts'

export interface Talk extends AsyncDisposable {
  /** Sends a message or a batch; resolves when it is under way. */
  send(message: object): Promise<void>
  /** The first message that was not taken yet and fits. */
  next(fits: (message: JsonObject) => boolean): Promise<JsonObject>
  /** How many messages came that nobody took. */
  readonly left: number
}

export interface HttpTalk extends Talk {
  readonly session: string
  /** One request with the headers of the session; what its answer holds goes to `next`. */
  exchange(sent: Sent): Promise<Response>
}

export interface Sent {
  readonly method?: 'POST' | 'GET' | 'DELETE'
  readonly body?: object | undefined
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

export const isRequest = (message: JsonObject): boolean => 'method' in message && 'id' in message
export const isCalled = (method: string) => (message: JsonObject) => message['method'] === method
export const isAnswerTo = (id: unknown) => (message: JsonObject) =>
  !('method' in message) && message['id'] === id

export const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} }

export function initialize(protocolVersion: string, capabilities: object = CAPABILITIES): object {
  const params = { protocolVersion, capabilities, clientInfo: { name: 'talk', version: '1' } }
  return { jsonrpc: '2.0', id: 'open', method: 'initialize', params }
}

export function toolCall(id: string | number, args: object): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'ask', arguments: args } }
}

export function answerTo(question: JsonObject, result: object): object {
  return { jsonrpc: '2.0', id: question['id'], result }
}

/** Opens a session. `key` goes with every request as a bearer token. */
export async function talkOverHttp(
  url: string,
  protocolVersion: string,
  options: { readonly capabilities?: object; readonly key?: string } = {},
): Promise<HttpTalk> {
  const inbox = new Inbox()
  const gone = new AbortController()
  const opening = initialize(protocolVersion, options.capabilities)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
  }
  const fetchIt = ({ method = 'POST', body, headers: more, signal }: Sent): Promise<Response> =>
    fetch(url, {
      method,
      headers: { ...headers, ...more },
      signal: signal ?? gone.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const opened = await fetchIt({ body: opening })
  await opened.text()
  const session = opened.headers.get('mcp-session-id') ?? ''
  headers['mcp-session-id'] = session
  const exchange = async (sent: Sent): Promise<Response> => {
    const response = await fetchIt(sent)
    void readInto(inbox, response).catch(() => {})
    return response
  }
  return {
    session,
    exchange,
    send: async (message) => {
      // A call's answer may begin only when its question is answered.
      const sent = exchange({ body: message })
      if ('method' in message || Array.isArray(message)) void sent.catch(() => {})
      else await sent
    },
    next: (fits) => inbox.next(fits),
    get left() {
      return inbox.left
    },
    [Symbol.asyncDispose]: async () => {
      gone.abort()
      await Promise.resolve()
    },
  }
}

export async function talkOverPipe(
  port: number,
  protocolVersion: string,
  capabilities?: object,
): Promise<Talk & { end(): void }> {
  const inbox = new Inbox()
  const socket = connect(port, '127.0.0.1')
  createInterface({ input: socket }).on('line', (line) => inbox.push(JSON.parse(line) as JsonObject))
  const send = async (message: object): Promise<void> => {
    await new Promise<void>((resolve) => socket.write(`${JSON.stringify(message)}\n`, () => resolve()))
  }
  await send(initialize(protocolVersion, capabilities))
  await inbox.next(isAnswerTo('open'))
  return {
    send,
    next: (fits) => inbox.next(fits),
    get left() {
      return inbox.left
    },
    end: () => socket.end(),
    [Symbol.asyncDispose]: async () => {
      socket.destroy()
      await Promise.resolve()
    },
  }
}

/** Reads the events of a stream, or the one body, into an inbox; each event's id is in its message's `_eventId`. */
async function readInto(inbox: Inbox, response: Response): Promise<void> {
  if (response.headers.get('content-type') !== 'text/event-stream') {
    const body = await response.text()
    if (body !== '') for (const message of [JSON.parse(body) as JsonObject].flat()) inbox.push(message)
    return
  }
  const decoder = new TextDecoder()
  let pending = ''
  for await (const chunk of response.body ?? []) {
    pending += decoder.decode(chunk as Uint8Array, { stream: true })
    const events = pending.split('\n\n')
    pending = events.pop() ?? ''
    for (const event of events) {
      const data = /^data: *(\S.*)$/m.exec(event)?.[1]
      const id = /^id: ?(.*)$/m.exec(event)?.[1]
      if (data === undefined) continue
      for (const message of [JSON.parse(data) as JsonObject].flat()) inbox.push({ ...message, _eventId: id })
    }
  }
}

class Inbox {
  readonly #messages: JsonObject[] = []
  readonly #watchers = new Set<() => void>()

  get left(): number {
    return this.#messages.length
  }

  push(message: JsonObject): void {
    this.#messages.push(message)
    for (const look of this.#watchers) look()
  }

  next(fits: (message: JsonObject) => boolean): Promise<JsonObject> {
    return new Promise((resolve) => {
      const look = (): void => {
        const index = this.#messages.findIndex(fits)
        const [found] = index < 0 ? [] : this.#messages.splice(index, 1)
        if (found === undefined) return
        this.#watchers.delete(look)
        resolve(found)
      }
      this.#watchers.add(look)
      look()
    })
  }
}
