// A raw client over Streamable HTTP in any of the five revisions.
// 2024-11-05 has no such transport; its clients are met on it all the same.
import { Agent, request as send } from 'undici'
import type { JsonObject } from './peer.ts'
import { isModern, openingOf, paramsFor, replyTo } from './raw.ts'
import type { Frame, RawClient, RawOptions, Response } from './raw.ts'

/** The revisions whose clients repeat the revision in a header once it is agreed. */
const NAMED_IN_HEADER = ['2025-06-18', '2025-11-25']

export interface RawHttpClient extends RawClient {
  readonly session: string | undefined
}

/** Opens a connection. Rejects when the opening request is answered with an error. */
export async function openRawHttp(url: string, options: RawOptions): Promise<RawHttpClient> {
  const agent = new Agent()
  const frames: Frame[] = []
  let session: string | undefined
  let agreed: string | undefined
  let lastId = 0

  const headersFor = (message: JsonObject): Record<string, string> => {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    if (isModern(options.revision)) return { ...headers, ...modernHeaders(options.revision, message) }
    if (session !== undefined) headers['mcp-session-id'] = session
    if (agreed !== undefined && NAMED_IN_HEADER.includes(agreed)) headers['mcp-protocol-version'] = agreed
    return headers
  }

  /** Posts one message; what the answer holds is recorded, and each message of it handed to `onMessage`. */
  const post = async (message: JsonObject, onMessage?: (message: JsonObject) => void): Promise<number> => {
    const headers = headersFor(message)
    frames.push({ direction: 'out', message, http: { headers } })
    const response = await send(url, {
      dispatcher: agent,
      method: 'POST',
      headers,
      body: JSON.stringify(message),
    })
    const http = { status: response.statusCode, headers: response.headers }
    const id = response.headers['mcp-session-id']
    if (typeof id === 'string') session = id
    for await (const received of messagesOf(response)) {
      frames.push({ direction: 'in', message: received, http })
      if ('method' in received && 'id' in received) await post(replyTo(options, received))
      onMessage?.(received)
    }
    return response.statusCode
  }

  const request = async (method: string, params?: JsonObject): Promise<Response> => {
    const id = ++lastId
    const full = paramsFor(options, params)
    const message = { jsonrpc: '2.0', id, method, ...(full && { params: full }) }
    let answer: Response | undefined
    const status = await post(message, (received) => {
      if (!('method' in received) && (received['id'] ?? id) === id) answer = received
    })
    if (!answer) throw new Error(`${method} was not answered: HTTP ${status}`)
    return answer
  }

  const notify = async (method: string, params?: JsonObject): Promise<void> => {
    const full = paramsFor(options, params)
    await post({ jsonrpc: '2.0', method, ...(full && { params: full }) })
  }

  const close = async () => {
    if (session !== undefined) {
      const headers = headersFor({})
      const ended = await send(url, { dispatcher: agent, method: 'DELETE', headers }).catch(() => undefined)
      await ended?.body.dump()
    }
    await agent.destroy()
  }

  try {
    const opening = openingOf(options)
    const { result, error } = await request(opening.method, opening.params)
    if (!result) throw new Error(`${opening.method} was refused: ${JSON.stringify(error)}`)
    if (!isModern(options.revision)) {
      agreed = String(result['protocolVersion'])
      await notify('notifications/initialized')
    }
    return {
      revision: options.revision,
      opened: result,
      frames,
      request,
      notify,
      get session() {
        return session
      },
      [Symbol.asyncDispose]: close,
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

function modernHeaders(revision: string, message: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {
    'mcp-protocol-version': revision,
    'mcp-method': String(message['method']),
  }
  const params = message['params'] as JsonObject | undefined
  const name = message['method'] === 'resources/read' ? params?.['uri'] : params?.['name']
  if (typeof name === 'string') headers['mcp-name'] = headerValue(name)
  return headers
}

/** What a header cannot carry as it is goes in base64, marked as such. */
function headerValue(value: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?')) return value
  return `=?base64?${Buffer.from(value).toString('base64')}?=`
}

type HttpResponse = Awaited<ReturnType<typeof send>>

async function* messagesOf(response: HttpResponse): AsyncGenerator<JsonObject> {
  const type = String(response.headers['content-type'])
  if (type.startsWith('text/event-stream')) {
    yield* eventsOf(response.body)
    return
  }
  const text = await response.body.text()
  if (!type.startsWith('application/json') || text === '') return
  const body = JSON.parse(text) as JsonObject | JsonObject[]
  yield* Array.isArray(body) ? body : [body]
}

async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<JsonObject> {
  const decoder = new TextDecoder()
  let pending = ''
  for await (const chunk of body) {
    pending = (pending + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n')
    const events = pending.split('\n\n')
    pending = events.pop() ?? ''
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5))
        .join('\n')
      if (data.trim() !== '') yield JSON.parse(data) as JsonObject
    }
  }
}
