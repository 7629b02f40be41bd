// Calls `echo` over and over, so many at once, until a time or a number of calls is over; every answer is checked.
import { Pool } from 'undici'
import { LEGACY, MODERN } from './frames.mjs'

const PAYLOAD = 'echo'.repeat(256)
const CLIENT = { name: 'bench-client', version: '1.0.0' }
const COMMON = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** @typedef {{ rps: number, p50: number, p99: number, calls: number }} Sample requests/s, milliseconds, count */

/**
 * @param {{ url: string, era: 'modern' | 'legacy' }} target
 * @param {number} concurrency
 * @param {{ milliseconds: number, calls?: number }} limit whichever comes first
 * @returns {Promise<Sample>}
 */
export async function measure({ url, era }, concurrency, { milliseconds, calls = Infinity }) {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 })
  try {
    const headers = era === 'modern' ? modernHeaders() : await openSession(pool, pathname)
    let lastId = 10
    const call = async () => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method: 'tools/call', params: PARAMS[era] })
      const answer = await pool.request({ path: pathname, method: 'POST', headers, body })
      const text = await answer.body.text()
      if (answer.statusCode !== 200 || !text.includes(PAYLOAD))
        throw new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
    }
    // Connections are opened before the clock runs.
    await Promise.all(Array.from({ length: concurrency }, call))

    /** @type {number[]} */
    const times = []
    const started = performance.now()
    const worker = async () => {
      for (let before = performance.now(); before - started < milliseconds && times.length < calls;) {
        await call()
        const after = performance.now()
        times.push(after - before)
        before = after
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
    const seconds = (performance.now() - started) / 1000
    times.sort((a, b) => a - b)
    const at = (/** @type {number} */ share) => times[Math.floor(share * (times.length - 1))] ?? NaN
    return { rps: times.length / seconds, p50: at(0.5), p99: at(0.99), calls: times.length + concurrency }
  } finally {
    await pool.destroy()
  }
}

const CALL = { name: 'echo', arguments: { text: PAYLOAD } }
const PARAMS = {
  legacy: CALL,
  modern: {
    ...CALL,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': CLIENT,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}

function modernHeaders() {
  return { ...COMMON, 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
}

/** Initializes once; the headers of all later calls. @param {Pool} pool @param {string} path */
async function openSession(pool, path) {
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT }
  const opening = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const opened = await pool.request({ path, method: 'POST', headers: COMMON, body: opening })
  await opened.body.dump()
  const session = opened.headers['mcp-session-id']
  const headers = {
    ...COMMON,
    'mcp-protocol-version': LEGACY,
    ...(session && { 'mcp-session-id': String(session) }),
  }
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await (await pool.request({ path, method: 'POST', headers, body })).body.dump()
  return headers
}
