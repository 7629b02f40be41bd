// One server of the soak: tools that answer with the caller's own nonce, a list that changes, and crashes. The same server on a
// pipe and over HTTP, in either era.

export const MODERN = '2026-07-28'
export const LEGACY = '2025-11-25'

/** @typedef {{ id?: number | string, method: string, params?: any }} Frame */
/** @typedef {(result: object) => void} Give */

export class Server {
  /** @param {string} name @param {number} tools @param {'legacy' | 'modern'} era */
  constructor(name, tools, era) {
    this.name = name
    this.tools = tools
    this.era = era
    this.extra = false
    /** Called when the list of tools changed. */
    this.onChange = () => {}
    /** Called when the server is to crash. */
    this.onCrash = () => {}
    /** @type {Map<unknown, NodeJS.Timeout>} */
    this.running = new Map()
  }

  /** Answers a request, perhaps later; a call that is cancelled is not answered. @param {Frame} frame @param {Give} give @param {unknown} [key] */
  take({ id, method, params }, give, key = id) {
    const reply = (/** @type {object} */ said) => give({ jsonrpc: '2.0', id, ...said })
    if (method !== 'tools/call') {
      const result = this.#resultOf(method)
      return reply(result ? { result } : { error: { code: -32601, message: `Method not found: ${method}` } })
    }
    const { nonce = '', ms = 0 } = params.arguments ?? {}
    if (params.name === 'crash') return this.onCrash()
    if (params.name === 'change') {
      this.extra = !this.extra
      this.onChange()
    }
    const answer = () => {
      this.running.delete(key)
      reply({ result: this.#spelled({ content: [{ type: 'text', text: nonce }] }) })
    }
    this.running.set(key, setTimeout(answer, ms))
  }

  /** @param {unknown} key */
  cancel(key) {
    clearTimeout(this.running.get(key))
    this.running.delete(key)
  }

  /** @param {string} method @returns {object | undefined} */
  #resultOf(method) {
    const capabilities = { tools: { listChanged: true } }
    const cached = this.era === 'modern' ? { ttlMs: 60_000, cacheScope: 'public' } : {}
    if (method === 'ping') return {}
    if (method === 'tools/list') return this.#spelled({ tools: this.#list(), ...cached })
    if (method === 'initialize' && this.era === 'legacy') {
      return { protocolVersion: LEGACY, capabilities, serverInfo: { name: this.name, version: '1' } }
    }
    if (method === 'server/discover' && this.era === 'modern') {
      return this.#spelled({ supportedVersions: [MODERN], capabilities, ...cached })
    }
    return undefined
  }

  #list() {
    const names = Array.from({ length: this.tools - 2 }, (_, at) => `echo_${at}`)
    const all = ['crash', 'change', ...names, ...(this.extra ? ['extra'] : [])]
    return all.map((name) => ({
      name,
      description: `${name} of ${this.name}`,
      inputSchema: { type: 'object' },
    }))
  }

  /** @param {object} result */
  #spelled(result) {
    if (this.era === 'legacy') return result
    const _meta = { 'io.modelcontextprotocol/serverInfo': { name: this.name, version: '1' } }
    return { ...result, resultType: 'complete', _meta }
  }
}

/** What a subscriber is told when the tools changed. @param {number | string} [subscription] */
export function changed(subscription) {
  const params =
    subscription === undefined
      ? undefined
      : { _meta: { 'io.modelcontextprotocol/subscriptionId': subscription } }
  return { jsonrpc: '2.0', method: 'notifications/tools/list_changed', ...(params && { params }) }
}

/** The first message of a modern stream of changes. @param {number | string} subscription */
export function acknowledged(subscription) {
  const _meta = { 'io.modelcontextprotocol/subscriptionId': subscription }
  const params = { notifications: { toolsListChanged: true }, _meta }
  return { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params }
}
