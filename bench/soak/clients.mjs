// The clients of the soak: legacy sessions with a GET stream, modern ones with a listen stream, and `mcpx serve` on a pipe. Each
// keeps its answers apart by the nonce that it sent.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { createParser } from 'eventsource-parser'
import { Agent, request } from 'undici'
import { LEGACY, MODERN } from './server.mjs'

/** @typedef {{ result?: any, error?: any }} Answer */
/**
 * @typedef {object} Client
 * @property {string} name
 * @property {number} told Changes that it was told of.
 * @property {() => Promise<void>} open
 * @property {(method: string, params: object, giveUp?: AbortSignal) => Promise<Answer | undefined>} ask Undefined when given up.
 * @property {() => Promise<void>} close
 */

const agent = new Agent({ connections: 1024, headersTimeout: 0, bodyTimeout: 0 })
const INFO = (/** @type {string} */ name) => ({ name, version: '1' })
const meta = (/** @type {string} */ name) => ({
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': INFO(name),
  'io.modelcontextprotocol/clientCapabilities': {},
})
const opening = (/** @type {string} */ name) => ({
  protocolVersion: LEGACY,
  capabilities: {},
  clientInfo: INFO(name),
})

/** @param {string} url @param {'POST' | 'GET' | 'DELETE'} method @param {{ headers: Record<string, string>, body?: object, signal?: AbortSignal | undefined }} sent */
function send(url, method, { headers, body, signal }) {
  const common = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  return request(url, {
    ...{ dispatcher: agent, method, headers: { ...common, ...headers } },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}

/** The messages of a body, whichever form it has. @param {import('undici').Dispatcher.ResponseData} response @returns {AsyncGenerator<any>} */
async function* messagesIn({ headers, body }) {
  if (!String(headers['content-type']).startsWith('text/event-stream')) return yield await body.json()
  /** @type {string[]} */
  const heard = []
  const events = createParser({ onEvent: ({ data }) => data.trim() !== '' && heard.push(data) })
  const text = new TextDecoder()
  for await (const chunk of body) {
    events.feed(text.decode(chunk, { stream: true }))
    for (const data of heard.splice(0)) yield JSON.parse(data)
  }
}

/** The answer in a response. @param {import('undici').Dispatcher.ResponseData} response @param {number} id @returns {Promise<Answer>} */
async function answerIn(response, id) {
  for await (const message of messagesIn(response)) if (message.id === id && !message.method) return message
  throw new Error('the response ended without an answer')
}

/** @param {string} name @param {string} url @returns {Client} */
export function legacyClient(name, url) {
  let last = 0
  /** @type {Record<string, string>} */
  let headers = {}
  let gone = new AbortController()
  /** @type {Promise<void>} */
  let listening = Promise.resolve()
  /** @type {Client} */
  const client = {
    ...{ name, told: 0 },
    open: async () => {
      headers = {}
      gone = new AbortController()
      const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params: opening(name) }
      const response = await send(url, 'POST', { headers, body })
      headers = {
        'mcp-session-id': String(response.headers['mcp-session-id']),
        'mcp-protocol-version': LEGACY,
      }
      await answerIn(response, 0)
      await notify('notifications/initialized')
      const stream = await send(url, 'GET', { headers, signal: gone.signal })
      listening = hear(stream, client)
    },
    ask: async (method, params, giveUp) => {
      const id = ++last
      const sent = send(url, 'POST', { headers, body: { jsonrpc: '2.0', id, method, params } })
      const answered = sent.then((response) => answerIn(response, id))
      if (giveUp === undefined) return answered
      const left = once(giveUp).then(() => notify('notifications/cancelled', { requestId: id }))
      // The response of a call that was given up ends without an answer.
      return Promise.race([answered.catch(() => undefined), left.then(() => answered.catch(() => undefined))])
    },
    close: async () => {
      await (await send(url, 'DELETE', { headers })).body.dump()
      gone.abort()
      await listening
    },
  }
  /** @param {string} method @param {object} [params] */
  const notify = async (method, params) => {
    const body = { jsonrpc: '2.0', method, ...(params && { params }) }
    await (await send(url, 'POST', { headers, body })).body.dump()
  }
  return client
}

/** @param {string} name @param {string} url @returns {Client} */
export function modernClient(name, url) {
  let last = 0
  let gone = new AbortController()
  /** @type {Promise<void>} */
  let listening = Promise.resolve()
  /** @param {string} method @param {object} params @param {AbortSignal} [signal] */
  const post = (method, params, signal) => {
    const named = /** @type {{ name?: string }} */ (params).name
    const headers = {
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(named && { 'mcp-name': named }),
    }
    const body = { jsonrpc: '2.0', id: ++last, method, params: { ...params, _meta: meta(name) } }
    const id = last
    return send(url, 'POST', { headers, body, signal }).then((response) => ({ response, id }))
  }
  /** @type {Client} */
  const client = {
    ...{ name, told: 0 },
    open: async () => {
      gone = new AbortController()
      const { response } = await post(
        'subscriptions/listen',
        { notifications: { toolsListChanged: true } },
        gone.signal,
      )
      listening = hear(response, client)
    },
    ask: async (method, params, giveUp) => {
      try {
        const { response, id } = await post(method, params, giveUp)
        return await answerIn(response, id)
      } catch (error) {
        if (giveUp?.aborted) return undefined
        throw error
      }
    },
    close: async () => {
      gone.abort()
      await listening
    },
  }
  return client
}

/** @param {string} name @param {string[]} command @param {'legacy' | 'modern'} era @returns {Client & { pid: () => number | undefined }} */
export function pipeClient(name, command, era) {
  let last = 0
  /** @type {Map<number, (answer: Answer | undefined) => void>} */
  const waiting = new Map()
  /** @type {import('node:child_process').ChildProcessWithoutNullStreams | undefined} */
  let child
  const write = (/** @type {object} */ frame) =>
    child?.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`)
  /** @type {Client} */
  const client = {
    ...{ name, told: 0 },
    open: async () => {
      child = spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'pipe'] })
      child.stderr.resume()
      createInterface({ input: child.stdout }).on('line', (line) => {
        const message = JSON.parse(line)
        if (message.method === 'notifications/tools/list_changed') client.told++
        if (message.method) return
        waiting.get(message.id)?.(message)
        waiting.delete(message.id)
      })
      if (era === 'legacy') {
        await client.ask('initialize', opening(name))
        write({ method: 'notifications/initialized' })
      } else
        write({
          id: 'listen',
          method: 'subscriptions/listen',
          params: { notifications: { toolsListChanged: true }, _meta: meta(name) },
        })
    },
    ask: (method, params, giveUp) =>
      new Promise((resolve) => {
        const id = ++last
        waiting.set(id, resolve)
        write({ id, method, params: era === 'legacy' ? params : { ...params, _meta: meta(name) } })
        void (
          giveUp &&
          once(giveUp).then(() => {
            write({ method: 'notifications/cancelled', params: { requestId: id } })
            // An answer that crossed the cancellation may still come.
            setTimeout(() => waiting.delete(id) && resolve(undefined), 1000)
          })
        )
      }),
    close: async () => {
      const ended = new Promise((resolve) => child?.once('exit', resolve))
      child?.stdin.end()
      await ended
    },
  }
  return Object.assign(client, { pid: () => child?.pid })
}

/** @param {import('undici').Dispatcher.ResponseData} response @param {Client} client */
async function hear(response, client) {
  try {
    for await (const { method } of messagesIn(response))
      if (method === 'notifications/tools/list_changed') client.told++
  } catch {
    // The client left.
  }
}

/** @param {AbortSignal} signal @returns {Promise<void>} */
function once(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
