// An HTTP endpoint in front of `mcpx serve`, so that the suite, which knows HTTP only, judges the pipe. It carries messages
// and nothing else: what HTTP itself is asked for, headers and sessions, is not mcpx's here.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'

/** @typedef {Record<string, any>} Json */
/** @typedef {import('node:http').ServerResponse} Response */
/** A request that is open on the pipe: its caller's id and token, and where what belongs to it goes. @typedef {{ id: unknown, token: unknown, exchange: Exchange }} Open */

const META = 'io.modelcontextprotocol/'
const MODERN = '2026-07-28'
/** What the modern revision has its errors sent with over HTTP. */
const STATUS = new Map([
  [-32601, 404],
  [-32602, 400],
  [-32020, 400],
  [-32021, 400],
  [-32022, 400],
])

/**
 * Listens on the loopback address and resolves with its URL. Each legacy session has a process of its own, and all modern
 * requests share one.
 * @param {string[]} args what starts `mcpx serve` with Node @param {Record<string, string>} env
 */
export async function startPipeFront(args, env) {
  /** @type {Map<string, Pipe>} */
  const sessions = new Map()
  /** @type {Pipe | undefined} */
  let modern
  const open = () => new Pipe(args, env)
  const listener = createServer((request, response) => {
    serve(request, response).catch((error) => response.destroy(error))
  })

  /** @param {import('node:http').IncomingMessage} request @param {Response} response */
  async function serve(request, response) {
    const named = request.headers['mcp-session-id']
    const session = typeof named === 'string' ? sessions.get(named) : undefined
    if (request.method === 'DELETE') {
      session?.end()
      sessions.delete(String(named))
      return void response.writeHead(session ? 200 : 404).end()
    }
    if (request.method === 'GET') {
      if (session === undefined) return void response.writeHead(405).end()
      session.standing = new Exchange(response, () => 200)
      return session.standing.stream()
    }
    const message = /** @type {Json} */ (await json(request))
    // A pipe has no header that says it where the message does not; the suite's own word leads to the pipe of its revision.
    const isModern =
      message['params']?._meta?.[`${META}protocolVersion`] !== undefined ||
      request.headers['mcp-protocol-version'] === MODERN
    if (isModern || session) {
      const pipe = session ?? (modern ??= open())
      return pipe.take(message, new Exchange(response, isModern ? statusOf : () => 200))
    }
    if (message['method'] !== 'initialize') return void response.writeHead(404).end()
    const id = randomUUID()
    const pipe = open()
    sessions.set(id, pipe)
    response.setHeader('mcp-session-id', id)
    pipe.take(message, new Exchange(response, () => 200))
  }

  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/mcp`,
    stop: () => {
      for (const pipe of [...sessions.values(), modern]) pipe?.end()
      listener.close()
      listener.closeAllConnections()
    },
  }
}

/** @param {Json} answer */
const statusOf = ({ error }) => STATUS.get(error?.code) ?? 200

/** One answer over HTTP: JSON, or, once anything comes before it, a stream. */
class Exchange {
  /** @param {Response} response @param {(answer: Json) => number} statusFor */
  constructor(response, statusFor) {
    this.response = response
    this.statusFor = statusFor
  }

  /** Begins the stream. */
  stream() {
    if (!this.response.headersSent)
      this.response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  }

  /** @param {Json} message */
  tell(message) {
    this.stream()
    this.response.write(`data: ${JSON.stringify(message)}\n\n`)
  }

  /** @param {Json} answer */
  answer(answer) {
    if (this.response.headersSent) {
      this.tell(answer)
      return void this.response.end()
    }
    this.response.writeHead(this.statusFor(answer), { 'content-type': 'application/json' })
    this.response.end(JSON.stringify(answer))
  }
}

/** One `mcpx serve`, whose messages are sorted by the ids and tokens that its requests are given here. */
class Pipe {
  /** Where what belongs to no request goes. @type {Exchange | undefined} */
  standing
  /** @type {Map<string, Open>} */
  #open = new Map()
  #count = 0

  /** @param {string[]} args @param {Record<string, string>} env */
  constructor(args, env) {
    this.child = spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    })
    this.child.stdin.on('error', () => {})
    createInterface({ input: this.child.stdout }).on('line', (line) => this.#heard(JSON.parse(line)))
  }

  end() {
    this.child.stdin.end()
  }

  /** @param {Json} message @param {Exchange} exchange */
  take(message, exchange) {
    if (message['id'] === undefined || message['method'] === undefined) {
      this.#write(message)
      return void exchange.response.writeHead(202).end()
    }
    const own = `front-${++this.#count}`
    const { _meta: meta, ...params } = message['params'] ?? {}
    const token = meta?.progressToken
    this.#open.set(own, { id: message['id'], token, exchange })
    const told = token === undefined ? meta : { ...meta, progressToken: own }
    const sent = message['params'] && { params: { ...params, ...(meta && { _meta: told }) } }
    this.#write({ ...message, ...sent, id: own })
    exchange.response.once('close', () => {
      // Whoever goes away before the answer gives the request up.
      if (this.#open.delete(own))
        this.#write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: own } })
    })
  }

  /** @param {Json} message */
  #write(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** @param {Json} message */
  #heard(message) {
    const { id, method, params } = message
    if (method === undefined) {
      const open = this.#open.get(id)
      this.#open.delete(id)
      return open?.exchange.answer(restored({ ...message, id: open.id }, id, open))
    }
    const [own, open] = this.#ownerOf(method, params)
    const exchange = open?.exchange ?? this.standing ?? this.#latest?.exchange
    exchange?.tell(open === undefined ? message : restored(message, own, open))
  }

  /** The request that a message of the server names, or, for a log, the only one that it can be of. @param {string} method @param {Json} [params] @returns {[string, Open | undefined]} */
  #ownerOf(method, params) {
    const named =
      params?.['_meta']?.[`${META}subscriptionId`] ?? params?.['progressToken'] ?? params?.['requestId']
    const open = this.#open.get(named)
    if (open !== undefined) return [named, open]
    return ['', method === 'notifications/message' ? this.#latest : undefined]
  }

  get #latest() {
    return [...this.#open.values()].at(-1)
  }
}

/** A message with its caller's own id or token in the place of the one given here. @param {Json} message @param {string} own @param {Open} open @returns {Json} */
function restored(message, own, { id, token }) {
  const { params, result } = message
  const said = result ?? params
  if (typeof said !== 'object' || said === null) return message
  const subscription = `${META}subscriptionId`
  const changed = {
    ...said,
    ...(said.progressToken === own && { progressToken: token }),
    ...(said.requestId === own && { requestId: id }),
    ...(said._meta?.[subscription] === own && { _meta: { ...said._meta, [subscription]: id } }),
  }
  return { ...message, [result === undefined ? 'params' : 'result']: changed }
}
