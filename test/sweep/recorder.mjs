// Loaded into every Node process of a test run, before its program: writes down what mcpx puts on the wire, and what came to it
// there, without a line in mcpx itself. A write is mcpx's own when the innermost frame of its stack that is no library's stands
// in the rooms that write to the wire; whatever else writes in the same process (tests, fixtures) is left out, and so is a
// message that a test hands to a channel itself, which only carries it.
import { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { openSync, writeSync } from 'node:fs'
import { OutgoingMessage } from 'node:http'
import { join } from 'node:path'
import { Duplex, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** @typedef {'in' | 'out'} Direction */
/** @typedef {'client' | 'server'} Role */
/**
 * @typedef {object} Conversation
 * @property {(facts: object, ours?: boolean) => void} head
 * @property {(direction: Direction, chunk: string | Uint8Array) => void} bytes
 */
/** @typedef {(kind: 'pipe' | 'http', role: Role) => Conversation} Open */

const FOLDER = process.env['MCPX_SWEEP_DIR']
const LIBRARY = /\(?node:|[\\/]node_modules[\\/](?!mcpx[\\/])|[\\/]test[\\/]sweep[\\/](?:recorder|listener)/
const FRAMEWORK = /[\\/]node_modules[\\/]fastify[\\/]/
const CHANNELS = /[\\/](?:src|dist)[\\/]transport[\\/]/
const ROOMS = /[\\/](?:src|dist)[\\/](?:endpoint|transport)[\\/]/
const TESTS = /[\\/]test[\\/]/
/** What stands in the queue of a connection pool is sent from the pool's own stack; in these processes nothing else is sent. */
const IS_MCPX = /[\\/]dist[\\/]cli[\\/]main\.js$/.test(process.argv[1] ?? '')

/** @type {number | undefined} */
let file
let last = 0

if (FOLDER !== undefined) install(FOLDER)

/** @param {string} folder */
function install(folder) {
  /** @param {object} line */
  const write = (line) => {
    try {
      file ??= openSync(join(folder, `${process.pid}-${Date.now()}.ndjson`), 'a')
      writeSync(file, `${JSON.stringify(line)}\n`)
    } catch {
      // Where a test lets no file grow, nothing is recorded.
    }
  }

  /**
   * One conversation. What comes in is kept back until mcpx says something: conversations of others never get a line. Each
   * direction's bytes are decoded as one text.
   * @type {Open}
   */
  const open = (kind, role) => {
    const id = `${process.pid}.${++last}`
    const decoders = { in: new StringDecoder('utf8'), out: new StringDecoder('utf8') }
    /** @type {object[] | undefined} */
    let held = []
    /** @type {(line: object, ours: boolean) => void} */
    const note = (line, ours) => {
      const whole = { test: process.env['MCPX_SWEEP_TEST'] ?? '', id, kind, role, ...line }
      if (held !== undefined && !ours) return void held.push(whole)
      for (const one of held ?? []) write(one)
      held = undefined
      write(whole)
    }
    /** @type {(direction: Direction, chunk: string | Uint8Array) => string} */
    const text = (direction, chunk) =>
      typeof chunk === 'string' ? chunk : decoders[direction].write(Buffer.from(chunk))
    return {
      head: (facts, ours = false) => note({ head: facts }, ours),
      bytes: (dir, chunk) => note({ dir, text: text(dir, chunk) }, dir === 'out'),
    }
  }

  recordPipes(open)
  recordServed(open)
  recordAsked(open)
}

/**
 * Pipes and sockets: a child's, the process's own, and what a listener accepted.
 * @param {Open} open
 */
function recordPipes(open) {
  /** @type {WeakMap<object, Conversation>} */
  const pipes = new WeakMap()
  /** @type {(output: object, input: { push: Function }, role: Role) => void} */
  const follow = (output, input, role) => {
    const pipe = open('pipe', role)
    pipes.set(output, pipe)
    hear(input, (chunk) => pipe.bytes('in', chunk))
  }
  const children = /** @type {{ spawn: Function }} */ (/** @type {unknown} */ (ChildProcess.prototype))
  const { spawn } = children
  /** @this {ChildProcess} */
  children.spawn = function (/** @type {unknown[]} */ ...given) {
    const result = spawn.apply(this, given)
    if (this.stdin && this.stdout) follow(this.stdin, this.stdout, 'client')
    return result
  }
  subscribe('net.server.socket', (message) => {
    const { socket } = /** @type {{ socket: Duplex }} */ (message)
    follow(socket, socket, 'server')
  })
  for (const { prototype } of /** @type {{ prototype: { write: Function } }[]} */ ([Writable, Duplex])) {
    const { write } = prototype
    prototype.write = function (/** @type {unknown} */ chunk, /** @type {unknown[]} */ ...rest) {
      const pipe = pipes.get(this)
      if (pipe !== undefined && isBytes(chunk) && isMessage(chunk) && isOurs()) pipe.bytes('out', chunk)
      return write.call(this, chunk, ...rest)
    }
  }
  if (IS_MCPX && process.argv[2] === 'serve') follow(process.stdout, process.stdin, 'server')
}

/** @type {(chunk: unknown) => chunk is string | Uint8Array} */
function isBytes(chunk) {
  return (typeof chunk === 'string' || chunk instanceof Uint8Array) && chunk.length > 0
}

/**
 * mcpx writes whole messages: what begins otherwise is none.
 * @param {string | Uint8Array} chunk
 */
function isMessage(chunk) {
  return /^\s*[[{]/.test(
    typeof chunk === 'string' ? chunk.slice(0, 8) : Buffer.from(chunk.slice(0, 8)).toString(),
  )
}

/**
 * What is read from a stream, as it comes and before anybody takes it.
 * @param {{ push: Function }} stream
 * @param {(chunk: string | Uint8Array) => void} listener
 */
function hear(stream, listener) {
  const { push } = stream
  stream.push = function (/** @type {unknown} */ chunk, /** @type {unknown[]} */ ...rest) {
    if (isBytes(chunk)) listener(chunk)
    return push.call(this, chunk, ...rest)
  }
}

/**
 * What a server of this process is asked over HTTP, and how it answers.
 * @param {Open} open
 */
function recordServed(open) {
  /** @type {WeakMap<object, Conversation>} */
  const exchanges = new WeakMap()
  subscribe('http.server.request.start', (message) => {
    const { request, response } =
      /** @type {{ request: import('node:http').IncomingMessage, response: object }} */ (message)
    const exchange = open('http', 'server')
    exchanges.set(response, exchange)
    exchange.head({ method: request.method, url: request.url, headers: request.headers })
    hear(request, (chunk) => exchange.bytes('in', chunk))
  })
  const messages = /** @type {Record<'write' | 'end', Function>} */ (OutgoingMessage.prototype)
  // The end of a message writes its last bytes by the other function.
  let within = false
  for (const name of /** @type {const} */ (['write', 'end'])) {
    const original = messages[name]
    /** @this {{ statusCode: number, _header: string | null }} */
    messages[name] = function (/** @type {unknown} */ chunk, /** @type {unknown[]} */ ...rest) {
      const exchange = within ? undefined : exchanges.get(this)
      const noted = exchange !== undefined && isBytes(chunk) && isOurs()
      const outer = within
      within = true
      try {
        return original.call(this, chunk, ...rest)
      } finally {
        within = outer
        if (noted) {
          // The head is what it is once something was written.
          exchange.head({ status: this.statusCode, head: this._header }, true)
          exchange.bytes('out', chunk)
        }
      }
    }
  }
}

/**
 * What this process asks of servers over HTTP, and how they answer.
 * @param {Open} open
 */
function recordAsked(open) {
  /** @type {WeakMap<object, Conversation>} */
  const exchanges = new WeakMap()
  /** @type {(channel: string, take: (message: any) => void) => void} */
  const on = (channel, take) => subscribe(channel, take)
  on('undici:request:create', ({ request }) => {
    const { method, path, origin, headers, body } = request
    if (!isOurs() && !(IS_MCPX && !path.startsWith('/v1/'))) return
    const exchange = open('http', 'client')
    exchanges.set(request, exchange)
    exchange.head({ method, url: `${origin}${path}`, headers: pairs(headers) }, true)
    if (body !== null && body !== undefined) exchange.bytes('out', String(body))
  })
  on('undici:request:headers', ({ request, response }) =>
    exchanges.get(request)?.head({ status: response.statusCode, headers: pairs(response.headers) }),
  )
  on('undici:request:bodyChunkReceived', ({ request, chunk }) => exchanges.get(request)?.bytes('in', chunk))
}

/**
 * Names and values in turn, as a record.
 * @param {unknown[]} list
 */
function pairs(list) {
  /** @type {Record<string, string>} */
  const all = {}
  for (let at = 0; at + 1 < list.length; at += 2) all[String(list[at]).toLowerCase()] = String(list[at + 1])
  return all
}

function isOurs() {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 40
  const stack = new Error('where').stack ?? ''
  Error.stackTraceLimit = limit
  const all = stack.split('\n').slice(1)
  const frames = all.filter((frame) => /[\\/]/.test(frame) && !LIBRARY.test(frame))
  const innermost = frames[0]
  if (innermost === undefined || !ROOMS.test(innermost)) return false
  // mcpx writes its messages itself: what a framework writes is its own answer, to what it refuses.
  if (all.slice(0, all.indexOf(innermost)).some((frame) => FRAMEWORK.test(frame))) return false
  if (!CHANNELS.test(innermost)) return true
  // What a channel sends again by itself was recorded the first time.
  const outside = frames.find((frame) => !CHANNELS.test(frame))
  return outside !== undefined && !TESTS.test(outside)
}
