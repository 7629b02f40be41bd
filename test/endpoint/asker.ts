// A handler that asks its callers whatever a call's arguments say, and an endpoint around it on real sockets.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createPipeServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { Cancellation, SILENT } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { createSealer, HttpEndpoint, serveStdio, SseHost } from '../../src/endpoint/index.ts'
import type { EndpointOptions, Outcome, PipeOptions } from '../../src/endpoint/index.ts'
import { systemClock } from '../../src/transport/index.ts'
import type { Answer, Call, CallHandler, Question, Remark } from '../../src/wire/index.ts'

export interface Asker extends CallHandler {
  readonly calls: readonly Call[]
  readonly remarks: readonly Remark[]
  /** What each question of a call was answered with, once all are, in the order in which calls got there. */
  readonly answers: readonly (readonly Answer[])[]
  /** Gives up every question that is asked. */
  readonly givenUp: Cancellation
  /** Resolves once so many calls had all their answers. */
  answered(count: number): Promise<void>
}

interface Wanted {
  readonly questions?: readonly Question[]
  /** Whether a notification of progress goes ahead. */
  readonly progress?: boolean
  /** Whether questions are given up by the cancellation of the call, named once more. */
  readonly own?: boolean
  /** Whether the answer does not wait for those of the questions. */
  readonly leave?: boolean
}

const CACHED = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

/** Calls with `questions` in their arguments ask them all at once and tell the answers as JSON text. */
export function createAsker(): Asker {
  const calls: Call[] = []
  const remarks: Remark[] = []
  const answers: Answer[][] = []
  const givenUp = new Cancellation()
  const watchers = new Set<() => void>()
  const run = async (call: Call): Promise<JsonObject> => {
    const { questions = [], progress, own, leave } = (call.params?.['arguments'] ?? {}) as Wanted
    if (progress === true) call.notify('notifications/progress', { progress: 1 })
    const { ask } = call
    if (ask === undefined) return text('nobody to ask')
    const asked = questions.map((question) => ask(question, own === true ? call.cancellation : givenUp))
    const all = Promise.all(asked).then((given) => {
      answers.push(given)
      for (const look of watchers) look()
      return given
    })
    return text(leave === true ? 'left' : JSON.stringify(await all))
  }
  return {
    ...{ calls, remarks, answers, givenUp },
    handle: async (call) => {
      calls.push(call)
      if (call.method === 'tools/list') return { result: { tools: [], ...CACHED } }
      if (call.method !== 'tools/call') return { result: { capabilities: { tools: {} }, ...CACHED } }
      return { result: await run(call) }
    },
    hear: (remark) => remarks.push(remark),
    answered: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (answers.length < count) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
  }
}

export function textOf(message: JsonObject): string {
  const { result } = message as { result: { content: [{ text: string }] } }
  return result.content[0].text
}

function optionsFor(handler: CallHandler, more: Partial<PipeOptions> = {}): PipeOptions {
  return {
    handler,
    serverInfo: { name: 'asker', version: '1' },
    open: false,
    clock: systemClock,
    log: SILENT,
    limits: {
      maxBody: () => 1_000_000,
      keepAlive: () => 60_000,
      sessionIdle: () => 3_600_000,
      streamTime: () => 0,
      drain: () => 5000,
    },
    access: { allowedHosts: () => [], allowedOrigins: () => [], loopback: true },
    sealer: createSealer(),
    ...more,
  }
}

export interface Host extends AsyncDisposable {
  readonly url: string
  readonly endpoint: HttpEndpoint
  readonly outcomes: readonly Outcome[]
}

/** Serves over HTTP, with HTTP+SSE beside it. */
export async function openHost(handler: CallHandler, more: Partial<EndpointOptions> = {}): Promise<Host> {
  const outcomes: Outcome[] = []
  const options = optionsFor(handler, { ...more, onOutcome: (outcome) => outcomes.push(outcome) })
  const endpoint = new HttpEndpoint(options)
  const sse = new SseHost(options)
  const server = createServer((request, response) => {
    if (!sse.take(request, response)) void endpoint.handle(request, response)
  })
  const port = await listening(server)
  return {
    url: `http://127.0.0.1:${port}/`,
    endpoint,
    outcomes,
    [Symbol.asyncDispose]: async () => {
      endpoint.stop('the test ends')
      sse.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Serves each connection to the port as a pipe of its own. */
export async function openPipeHost(
  handler: CallHandler,
  more: Partial<PipeOptions> = {},
): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createPipeServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    void serveStdio(optionsFor(handler, more), socket, socket).then(() => socket.end())
  })
  const port = await listening(server)
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** In the newest shape, as an endpoint's handler has to give it. */
function text(said: string): JsonObject {
  return { resultType: 'complete', content: [{ type: 'text', text: said }] }
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
