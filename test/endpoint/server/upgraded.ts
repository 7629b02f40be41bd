// One upgraded server behind every adapter, and a way to send it a request that is the same for all of them.
import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { withModernEra as withModernEraFetch } from '../../../src/endpoint/server/fetch.ts'
import { modernEraHook, withModernEra } from '../../../src/endpoint/server/index.ts'
import type { ModernEraOptions } from '../../../src/endpoint/server/index.ts'
import { listen, serve } from './raw-exchange.ts'
import type { Running } from './raw-exchange.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Upgraded {
  send(init: RequestInit): Promise<Response>
  stop(): Promise<void>
}

const legacyText = 'the old server'

/** Says that it was asked, and with which body. */
const legacyNode = (request: IncomingMessage, response: ServerResponse): void => {
  let text = ''
  request.on('data', (chunk: Buffer) => (text += chunk.toString()))
  request.on('end', () => response.writeHead(299, { 'x-old': 'yes' }).end(`${legacyText}: ${text}`))
}

export const ADAPTERS = {
  node: async (options) => overHttp(await serve(withModernEra(legacyNode, options))),
  express: async (options) => {
    const app = express()
    app.all('/mcp', withModernEra(legacyNode, options))
    return overHttp(await serve(app))
  },
  'express after json()': async (options) => {
    const app = express()
    app.use(express.json())
    app.all(
      '/mcp',
      withModernEra((request: express.Request, response: express.Response) => {
        response
          .status(299)
          .set('x-old', 'yes')
          .send(`${legacyText}: ${JSON.stringify(request.body)}`)
      }, options),
    )
    return overHttp(await serve(app))
  },
  fastify: async (options) => {
    const app = fastify()
    app.route({
      method: ['GET', 'POST', 'DELETE'],
      url: '/mcp',
      preParsing: modernEraHook(options),
      handler: (request, reply) =>
        reply
          .code(299)
          .header('x-old', 'yes')
          .send(`${legacyText}: ${JSON.stringify(request.body)}`),
    })
    await app.ready()
    return overHttp(await listen(app.server))
  },
  fetch: async (options) => {
    const handler = withModernEraFetch(legacyFetch, options)
    return {
      send: (init) => handler(new Request('http://server.test/mcp', init)),
      stop: () => Promise.resolve(),
    }
  },
  hono: async (options) => {
    const app = new Hono()
    const handler = withModernEraFetch(
      (request: Request, context: { header(name: string, value: string): void }) => {
        context.header('x-unused', 'yes')
        return legacyFetch(request)
      },
      options,
    )
    app.all('/mcp', (context) => handler(context.req.raw, context))
    return {
      send: async (init) => app.request('/mcp', init),
      stop: () => Promise.resolve(),
    }
  },
} as const satisfies Record<string, (options: ModernEraOptions) => Promise<Upgraded>>

export type Adapter = keyof typeof ADAPTERS

export const adapters = Object.keys(ADAPTERS) as Adapter[]

async function legacyFetch(request: Request): Promise<Response> {
  return new Response(`${legacyText}: ${await request.text()}`, { status: 299, headers: { 'x-old': 'yes' } })
}

function overHttp(running: Running): Upgraded {
  return { send: (init) => fetch(running.url, init), stop: () => running.stop() }
}

const META = 'io.modelcontextprotocol/'

/** A well-formed modern request. `meta` takes a name without its prefix; undefined leaves a member out. */
export function modern(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { meta = {}, headers = {}, id = 1 }: { meta?: object; headers?: object; id?: unknown } = {},
): Omit<RequestInit, 'headers'> & { readonly body: string; readonly headers: Record<string, string> } {
  const given = { protocolVersion: '2026-07-28', clientCapabilities: {}, ...meta }
  const _meta = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key === 'progressToken' ? key : `${META}${key}`, value]),
  )
  const name = params['name'] ?? params['uri']
  const all: Record<string, unknown> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...headers,
  }
  return {
    method: 'POST',
    headers: Object.fromEntries(
      Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
  }
}

export function legacy(
  method: string,
  params: object = {},
  headers: object = {},
): RequestInit & { readonly body: string } {
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  }
}
