// Whatever an old client sends, the upgraded server answers with the bytes of the old one.
import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import fastify from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { modernEraHook, withModernEra } from '../../../src/endpoint/server/index.ts'
import type { Mode, ModernEraOptions } from '../../../src/endpoint/server/index.ts'
import { LEGACY, LIMIT, MODERN } from './corpus.ts'
import { legacyHandler, READERS } from './legacy-server.ts'
import { cut, exchange, listen, masked, serve } from './raw-exchange.ts'
import type { Running } from './raw-exchange.ts'

const running: Running[] = []
afterAll(async () => {
  for (const server of running) await server.stop()
})

const OPTIONS: ModernEraOptions = {
  serverInfo: { name: 'hand', version: '1.0.0' },
  methods: { 'tools/call': () => ({ content: [] }), 'tools/list': () => ({ tools: [] }) },
  maxBody: LIMIT,
  onEvent: () => {},
}

async function started(server: Promise<Running>): Promise<number> {
  const one = await server
  running.push(one)
  return one.port
}

/** The same bytes to both servers, whole and in pieces; every byte of what comes back has to be the same. */
async function compare(ports: readonly [number, number], bytes: string): Promise<string> {
  const [bare, wrapped] = ports
  const expected = masked(await exchange(bare, [bytes]))
  expect(masked(await exchange(wrapped, [bytes]))).toBe(expected)
  expect(masked(await exchange(wrapped, cut(bytes, Math.max(17, Math.ceil(bytes.length / 40)))))).toBe(
    expected,
  )
  return expected
}

const legacyRows = Object.entries(LEGACY)

describe.each(Object.keys(READERS) as (keyof typeof READERS)[])('a handler that reads by %s', (reader) => {
  const bare = started(serve(legacyHandler(reader)))
  const wrapped = started(serve(withModernEra(legacyHandler(reader), OPTIONS)))
  // A handler that never reads is called when the body is there, so one that breaks off does not reach it.
  const rows = legacyRows.filter(([name]) => reader !== 'none' || name !== 'a broken chunk')
  test.each(rows)('%s', async (_, bytes) => {
    expect(await compare([await bare, await wrapped], bytes)).toMatch(/^HTTP\/1\.1 \d\d\d/)
  })
})

describe.each(['off', 'observe', 'dry-run'] satisfies Mode[])('in mode %s', (mode) => {
  const bare = started(serve(legacyHandler()))
  const wrapped = started(serve(withModernEra(legacyHandler(), { ...OPTIONS, mode })))
  test.each([
    ...legacyRows,
    ...Object.entries(MODERN).map(([name, bytes]) => [`modern ${name}`, bytes] as const),
  ])('%s', async (_, bytes) => {
    expect(await compare([await bare, await wrapped], bytes)).toMatch(/^HTTP\/1\.1 \d\d\d/)
  })
})

test('in mode serve what modern clients send is not answered by the legacy handler', async () => {
  const wrapped = await started(serve(withModernEra(legacyHandler(), OPTIONS)))
  for (const bytes of Object.values(MODERN)) {
    const answer = masked(await exchange(wrapped, [bytes]))
    expect(answer).toMatch(/"jsonrpc":"2.0"/)
    expect(answer).not.toContain('X-Powered-By')
  }
})

describe.each(['json', 'raw', 'text', 'none'] as const)('in Express after its parser %s', (parser) => {
  const app = (wrap: typeof withModernEra | undefined) => {
    const made = express()
    if (parser !== 'none') made.use(express[parser]({ type: 'application/json', limit: LIMIT }))
    const handler = async (request: express.Request, response: express.Response): Promise<void> => {
      if (parser === 'none') return legacyHandler('events')(request, response)
      const { body } = request as { body: unknown }
      response.json({ got: Buffer.isBuffer(body) ? body.toString('latin1') : (body ?? null) })
    }
    made.all('/mcp', wrap === undefined ? handler : wrap(handler, OPTIONS))
    return started(serve(made))
  }
  const bare = app(undefined)
  const wrapped = app(withModernEra)
  test.each(legacyRows)('%s', async (_, bytes) => {
    const answer = await compare([await bare, await wrapped], bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 \d\d\d/)
  })
})

describe('in Express, what the handler throws', () => {
  const app = (wrapped: boolean) => {
    const made = express()
    const handler = (request: express.Request): void => {
      throw Object.assign(new Error(`thrown for ${request.method}`), { status: 418 })
    }
    const failure: express.ErrorRequestHandler = (...[error, , response]) => {
      response.status(500).end(`caught: ${(error as Error).message}`)
    }
    made.all('/mcp', wrapped ? withModernEra(handler, OPTIONS) : handler)
    // Express tells handlers of errors by their four parameters.
    made.use(Object.defineProperty(failure, 'length', { value: 4 }))
    return started(serve(made))
  }
  const bare = app(false)
  const wrapped = app(true)
  test.each(['tools/call', 'GET', 'a large chunked body'])('%s', async (name) => {
    expect(await compare([await bare, await wrapped], LEGACY[name] ?? '')).toContain('caught: thrown for')
  })
})

describe.each([false, true])('in Fastify, with another hook before: %s', (hooked) => {
  const app = async (upgraded: boolean): Promise<number> => {
    const made = fastify({ bodyLimit: LIMIT })
    if (hooked) {
      made.addHook('preParsing', async (request, _reply, payload) => {
        if (request.method !== 'POST') return payload
        const { Transform } = await import('node:stream')
        return payload.pipe(new Transform({ transform: (chunk, _encoding, done) => done(null, chunk) }))
      })
    }
    made.route({
      method: ['GET', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'HEAD'],
      url: '/mcp',
      exposeHeadRoute: false,
      ...(upgraded && { preParsing: modernEraHook(OPTIONS) }),
      handler: (request, reply) => {
        void reply.header('x-hand', 'yes').send({ got: request.body ?? null })
      },
    })
    await made.ready()
    return started(listen(made.server))
  }
  const bare = app(false)
  const wrapped = app(true)
  test.each(legacyRows)('%s', async (_, bytes) => {
    expect(await compare([await bare, await wrapped], bytes)).toMatch(/^HTTP\/1\.1 \d\d\d/)
  })
})

test('an upgraded handler gets the very request that came', async () => {
  let seen: readonly unknown[] = []
  const handler = withModernEra((...given: readonly [IncomingMessage, ServerResponse, ...unknown[]]) => {
    seen = given
    given[1].end()
  }, OPTIONS)
  let came: readonly unknown[] = []
  const port = await started(
    serve((...given) => {
      came = [...given, 'and what the framework adds']
      handler(...given, 'and what the framework adds')
    }),
  )
  await exchange(port, [LEGACY['tools/call'] ?? ''])
  expect(seen).toHaveLength(3)
  expect(seen.every((argument, index) => argument === came[index])).toBe(true)
})
