// What a daemon says of its clients: the table, the events, the figures.
import type { Outcome } from '../../src/endpoint/index.ts'
import type { ClientsReport } from '../../src/http/index.ts'
import type { JsonObject } from '../peers/peer.ts'

export async function clientsOf(v1: string): Promise<ClientsReport> {
  return (await (await fetch(`${v1}/clients`)).json()) as ClientsReport
}

/** The first `count` outcomes that the daemon had, in their order. */
export async function outcomesOf(v1: string, count: number): Promise<Outcome[]> {
  const found: Outcome[] = []
  const stop = new AbortController()
  const response = await fetch(`${v1}/events?after=0`, { signal: stop.signal })
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = /^event: call$/m.test(event) ? /^data: (.*)$/m.exec(event)?.[1] : undefined
      if (data !== undefined) found.push(JSON.parse(data) as Outcome)
    }
    if (found.length >= count) break
  }
  stop.abort()
  return found.slice(0, count)
}

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples at /metrics. */
export async function metricsOf(v1: string): Promise<readonly Sample[]> {
  const response = await fetch(`${new URL(v1).origin}/metrics`)
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name = '', inner = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    const labels = [...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text])
    return { name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(value) }
  })
}

/** A modern request of a named client. */
export function modernRequest(method: string, name: string, version = '2026-07-28'): JsonObject {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name, version: '1' },
  }
  return { jsonrpc: '2.0', id: 1, method, params: { _meta } }
}

export function initialize(name: string, protocolVersion = '2025-06-18'): JsonObject {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name, version: '1' } }
  return { jsonrpc: '2.0', id: 1, method: 'initialize', params }
}

/** The headers that a modern request needs beside its body. */
export function modernHeaders(method: string, version = '2026-07-28'): Record<string, string> {
  return { 'mcp-protocol-version': version, 'mcp-method': method }
}
