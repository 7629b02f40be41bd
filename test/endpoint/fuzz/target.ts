// The endpoint on a real socket, with a handler that answers at once or holds a call until its caller gives it up.
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { isObject } from '../../../src/base/index.ts'
import type { JsonObject } from '../../../src/base/index.ts'
import { createSealer, HttpEndpoint } from '../../../src/endpoint/index.ts'
import type { EndpointOptions } from '../../../src/endpoint/index.ts'
import { paramHeaderFault, readParamHeaders } from '../../../src/wire/index.ts'
import type { Answer, Call } from '../../../src/wire/index.ts'
import { createManualClock } from '../../transport/manual-clock.ts'
import type { ManualClock } from '../../transport/manual-clock.ts'

const UNKNOWN = { fault: 'unknown', message: 'not known' } as const
export const MAX_BODY = 6000
export const KEEP_ALIVE = 15_000

export interface Target extends AsyncDisposable {
  readonly port: number
  readonly endpoint: HttpEndpoint
  readonly options: EndpointOptions
  readonly clock: ManualClock
  /** What the endpoint logged as its own failure. */
  readonly failures: readonly unknown[]
  /** Resolves when the next call is held. */
  held(): Promise<void>
  /** Resolves when no call is open and no socket is. */
  quiet(): Promise<void>
}

export async function openTarget(): Promise<Target> {
  const clock = createManualClock()
  const failures: unknown[] = []
  const sockets = new Set<Socket>()
  const holding: (() => void)[] = []
  const waiting = new Set<() => void>()
  let calls = 0
  const look = (): void => {
    for (const one of waiting) one()
  }
  const handle = async (call: Call): Promise<Answer> => {
    calls++
    try {
      return isHold(call) ? await untilCancelled(call) : answer(call)
    } finally {
      calls--
      look()
    }
  }
  const untilCancelled = (call: Call): Promise<Answer> =>
    new Promise((resolve) => {
      call.cancellation.onCancel(() => resolve(DONE))
      holding.shift()?.()
    })
  const options: EndpointOptions = {
    handler: { handle },
    serverInfo: { name: 'target', version: '1' },
    open: false,
    clock,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: (...said) => failures.push(said) },
    limits: {
      maxBody: () => MAX_BODY,
      keepAlive: () => KEEP_ALIVE,
      sessionIdle: () => 1e12,
      streamTime: () => 0,
      drain: () => 0,
    },
    access: { allowedHosts: () => [], allowedOrigins: () => ['https://friend.example'], loopback: true },
    principals: { of: (authorization) => (authorization === 'Bearer wrong' ? UNKNOWN : 'local') },
    sealer: createSealer(),
  }
  const endpoint = new HttpEndpoint(options)
  const server = createServer((request, response) => void endpoint.handle(request, response))
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      look()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    endpoint,
    options,
    clock,
    failures,
    held: () => new Promise((resolve) => holding.push(resolve)),
    quiet: () =>
      new Promise((resolve) => {
        const check = (): void => {
          if (calls > 0 || sockets.size > 0) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    [Symbol.asyncDispose]: async () => {
      endpoint.stop('the test ends')
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const SCHEMA = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
  },
}
const PARAMS = readParamHeaders(SCHEMA)

function isHold({ method, params }: Call): boolean {
  return method === 'tools/call' && params?.['name'] === 'hold'
}

function answer(call: Call): Answer {
  const { method, params = {}, caller } = call
  if (method === 'prompts/get' && typeof params['name'] !== 'string') return INVALID
  if (method === 'resources/read' && typeof params['uri'] !== 'string') return INVALID
  if (method !== 'tools/call') return complete(RESULTS[method])
  switch (params['name']) {
    case 'annotated': {
      const fault =
        call.headerValues && PARAMS.ok
          ? paramHeaderFault(PARAMS.params, params['arguments'], call.headerValues)
          : undefined
      return fault === undefined ? DONE : { error: { code: -32020, message: fault } }
    }
    case 'asks': {
      if (caller.revision !== '2026-07-28' || isObject(caller.capabilities['elicitation'])) return DONE
      const data = { requiredCapabilities: { elicitation: {} } }
      return { error: { code: -32021, message: 'this tool asks', data } }
    }
    case 'echo':
      return DONE
    default:
      return INVALID
  }
}

/** A result in the newest shape, as an endpoint's handler has to give it. */
function complete(result: JsonObject = {}): Answer {
  return { result: { resultType: 'complete', ...result } }
}

const CACHED = { ttlMs: 0, cacheScope: 'private' }
const RESULTS: Readonly<Record<string, JsonObject>> = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: {}, ...CACHED },
  'tools/list': { tools: [{ name: 'annotated', inputSchema: SCHEMA }], ...CACHED },
  'prompts/list': { prompts: [], ...CACHED },
  'resources/list': { resources: [], ...CACHED },
  'resources/templates/list': { resourceTemplates: [], ...CACHED },
  'resources/read': { contents: [], ...CACHED },
  'prompts/get': { messages: [] },
  'completion/complete': { completion: { values: [] } },
  'tasks/list': { tasks: [] },
}
const DONE = complete({ content: [{ type: 'text', text: 'done' }] })
const INVALID: Answer = { error: { code: -32602, message: 'no such thing' } }
