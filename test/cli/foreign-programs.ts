// Three legacy servers that are not of this project, as programs: bare, and with the modern era in front in each of its modes.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Mode } from '../../src/endpoint/server/index.ts'
import { startChild } from '../peers/processes.ts'
import { CURRENT, request, within } from './foreign-requests.ts'
import type { Line, Subject } from './foreign-requests.ts'

export interface Foreign extends Subject {
  readonly name: string
  /** What a modern `tools/call` asks, and what the answer says. */
  readonly echo: Readonly<Record<string, unknown>>
  readonly said: string
  /** The requests that the app answers before the library's place in it. */
  readonly unseen: readonly string[]
  start(): Promise<Started>
}

export interface Started extends AsyncDisposable {
  readonly urls: Readonly<Record<Mode | 'bare', string>>
  /** What the library told of requests in that mode, once there are so many. */
  readonly events: (mode: Mode, count: number) => Promise<readonly Told[]>
}

export interface Told {
  readonly era: string
  readonly servedBy: string
  readonly mode: Mode
  readonly method?: string
  readonly status?: number
  readonly verdict?: { readonly status: number }
}

const TALLY = {
  calls: [
    ['echo', { name: 'echo', arguments: { message: 'grüß dich' } }],
    ['wrong-arguments', { name: 'echo', arguments: { message: 7 } }],
    ['failing', { name: 'fail', arguments: {} }],
    ['silent-count', { name: 'count', arguments: {} }],
    ['progress', { name: 'count', arguments: {}, _meta: { progressToken: 'p' } }],
  ],
  prompt: { name: 'count-to', arguments: { end: 'seven' } },
  resource: 'tally://motto',
  echo: { name: 'echo', arguments: { message: 'hello' } },
  said: '"hello"',
} as const

const inSession = within(CURRENT, { sessions: true })
const LISTEN = { ...inSession, Accept: 'text/event-stream' }
const call = (id: number, name: string, args: object): object =>
  request('tools/call', { name, arguments: args }, id)

export const FOREIGN: readonly Foreign[] = [
  {
    ...TALLY,
    name: 'SDK v1 with sessions',
    sessions: true,
    resumed: [
      {
        name: 'broken-off',
        headers: inSession,
        body: request('tools/call', {
          name: 'count',
          arguments: { held: true },
          _meta: { progressToken: 5 },
        }),
        events: 1,
        capture: { 'last-event': 'sse:id' },
      },
      { name: 'release', headers: inSession, body: call(2, 'release', {}) },
      { name: 'get-resumed', headers: { ...LISTEN, 'Last-Event-ID': '{{last-event}}' } },
      { name: 'get-resumed-unknown', headers: { ...LISTEN, 'Last-Event-ID': 'no-such-event' } },
    ] satisfies Line[],
    unseen: ['body-broken', 'body-text', 'body-1-mib', 'body-6-mib', 'host-foreign', 'path-unknown'],
    start: () => start([fixture('sdk-v1-stateful')]),
  },
  {
    ...TALLY,
    name: 'SDK v1 without sessions',
    sessions: false,
    resumed: [],
    unseen: [],
    start: () => start([fixture('sdk-v1-stateless')]),
  },
  {
    name: 'server-everything',
    sessions: true,
    calls: [
      ['echo', { name: 'echo', arguments: { message: 'grüß dich' } }],
      ['wrong-arguments', { name: 'get-sum', arguments: { a: 1, b: 'two' } }],
      ['sum', { name: 'get-sum', arguments: { a: 1, b: 2 } }],
      ['image', { name: 'get-tiny-image', arguments: {} }],
      [
        'annotated',
        { name: 'get-annotated-message', arguments: { messageType: 'error', includeImage: true } },
      ],
      ['structured', { name: 'get-structured-content', arguments: { location: 'Chicago' } }],
      ['links', { name: 'get-resource-links', arguments: { count: 3 } }],
      [
        'progress',
        {
          name: 'trigger-long-running-operation',
          arguments: { duration: 0.15, steps: 3 },
          _meta: { progressToken: 'p' },
        },
      ],
    ],
    prompt: { name: 'args-prompt', arguments: { city: 'Graz' } },
    resource: 'demo://resource/static/document/architecture.md',
    resumed: [
      {
        name: 'before',
        headers: inSession,
        body: call(1, 'echo', { message: 'before' }),
        capture: { 'last-event': 'sse:id' },
      },
      { name: 'missed', headers: inSession, body: call(2, 'echo', { message: 'missed' }) },
      { name: 'get-resumed', headers: { ...LISTEN, 'Last-Event-ID': '{{last-event}}' } },
    ],
    echo: { name: 'echo', arguments: { message: 'hello' } },
    said: 'Echo: hello',
    unseen: [],
    start: () => start(['--import', pathToFileURL(fixture('preload')).href, EVERYTHING, 'streamableHttp']),
  },
]

const EVERYTHING = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
)

function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/foreign/${name}.mjs`, import.meta.url))
}

/** Starts a program that prints its endpoints and events as lines of JSON, and whatever else it likes. */
async function start(args: readonly string[]): Promise<Started> {
  const child = startChild({ command: process.execPath, args })
  const told: Told[] = []
  let urls: Started['urls'] | undefined
  let ended = false
  let notify = (): void => undefined
  createInterface({ input: child.stdout })
    .on('line', (line) => {
      if (line.startsWith('{"urls":')) ({ urls } = JSON.parse(line) as Pick<Started, 'urls'>)
      else if (line.startsWith('{"event":')) told.push((JSON.parse(line) as { event: Told }).event)
      notify()
    })
    .on('close', () => {
      ended = true
      notify()
    })
  const until = async <T>(look: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      if (ended) throw new Error(`The program has ended: ${child.stderr()}`)
      await new Promise<void>((resolve) => (notify = resolve))
    }
  }
  return {
    urls: await until(() => urls),
    events: (mode, count) =>
      until(() => {
        const own = told.filter((event) => event.mode === mode)
        return own.length >= count ? own : undefined
      }),
    [Symbol.asyncDispose]: () => child.stop(),
  }
}
