// What is done to a well-formed request, and how it is spelled in the end.
import { BODY_CHANGES } from './body-changes.ts'
import { CAPABILITIES, CLIENT_INFO, draftOf, IDS, LEVEL, MARKER, NAMES, sentinel } from './draft.ts'
import type { Draft, Json, World } from './draft.ts'
import { randomOf } from './random.ts'
import type { Random } from './random.ts'

/** A request as it goes over the wire. */
export interface Sent {
  readonly verb: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  /** What was done to it, for the report of a failure. */
  readonly changes: readonly string[]
}

const VERSIONS = [
  ...['2026-07-28', '2027-01-01', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '1999-01-01'],
  ...['2026-13-45', 'banana', '', 'vé', 'x'.repeat(200)],
] as const

const METHODS = [
  ...['tools/list', 'tools/call', 'prompts/get', 'resources/read', 'server/discover', 'initialize', 'ping'],
  ...['logging/setLevel', 'resources/subscribe', 'no/such', 'constructor', '__proto__', 'tools/é', ''],
  ...['notifications/cancelled', 'x'.repeat(2000)],
] as const
const MCP_HEADERS = [
  ...['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Mcp-Param-Region', 'Mcp-Param-Count'],
] as const

/** The request of that number. */
export function requestOf(seed: number, index: number, world: World): Sent {
  const random = randomOf(seed, index)
  const draft = draftOf(random, world)
  const changes: string[] = []
  if (random.chance(0.62)) {
    const count = 1 + random.below(3)
    for (let i = 0; i < count; i++) {
      const [name, change] = random.pick(random.chance(0.45) ? HEADER_CHANGES : MESSAGE_CHANGES)
      changes.push(name)
      change(draft, random, world)
    }
  }
  let body =
    draft.bytes ?? (draft.message === undefined ? Buffer.alloc(0) : Buffer.from(textOf(draft, random)))
  if (random.chance(0.12)) {
    const [name, change] = random.pick(BODY_CHANGES)
    changes.push(name)
    body = change(body, random, world)
  }
  return { verb: draft.verb, headers: draft.headers, body, changes }
}

function textOf({ message }: Draft, random: Random): string {
  if (random.chance(0.05)) return JSON.stringify(message, undefined, 2)
  return JSON.stringify(message)
}

type Change = readonly [name: string, (draft: Draft, random: Random, world: World) => void]

const HEADER_CHANGES: readonly Change[] = [
  ['a header left out', (draft, random) => drop(draft, random.pick(MCP_HEADERS))],
  [
    'a header twice, alike',
    (draft, random) => {
      const [name, value] = random.pick(draft.headers)
      if (name !== 'Host') draft.headers.push([name, value])
    },
  ],
  ['a header twice, unlike', (draft, random) => draft.headers.push([random.pick(MCP_HEADERS), 'other'])],
  [
    'another value',
    (draft, random) =>
      set(draft, random.pick(MCP_HEADERS), random.pick(['x', '', '42.0', ...METHODS.slice(0, 13)])),
  ],
  [
    'the letters of a name in the other case',
    (draft) => {
      for (const header of draft.headers) header[0] = header[0].toUpperCase()
    },
  ],
  [
    'space around a value',
    (draft) => {
      for (const header of draft.headers) if (header[0].startsWith('Mcp')) header[1] = ` \t${header[1]}  `
    },
  ],
  ['a value in base64', (draft, random) => edit(draft, random.pick(MCP_HEADERS), sentinel)],
  [
    'broken base64',
    (draft, random) =>
      set(
        draft,
        random.pick(['Mcp-Name', 'Mcp-Param-Region']),
        random.pick([
          '=?base64?ZWNobw?=',
          '=?base64?/w==?=',
          '=?base64?=',
          '=?base64? ZWNobw==?=',
          '=?base64??=',
        ]),
      ),
  ],
  ['bytes that are no ASCII', (draft, random) => set(draft, random.pick(MCP_HEADERS), 'tools/\xe9')],
  ['another version', (draft, random) => set(draft, 'MCP-Protocol-Version', random.pick(VERSIONS))],
  ['another version', (draft, random) => set(draft, 'MCP-Protocol-Version', random.pick(VERSIONS))],
  [
    'a session',
    // A GET of a live session would open a stream, and a DELETE end the session for all the others.
    (draft, random, { sessions }) => {
      const live = draft.verb === 'POST' ? Object.values(sessions) : []
      set(draft, 'Mcp-Session-Id', random.pick(['nobody', '', ...live]))
    },
  ],
  [
    'an Origin',
    (draft, random) =>
      set(
        draft,
        'Origin',
        random.pick(['https://evil.example', 'null', '', 'https://friend.example', 'http://localhost:5173']),
      ),
  ],
  [
    'a Host',
    (draft, random) =>
      set(draft, 'Host', random.pick(['evil.example', 'evil.example:80', '', 'LOCALHOST:1', '[::1]:9'])),
  ],
  [
    'an Accept',
    (draft, random) =>
      set(
        draft,
        'Accept',
        random.pick([
          'text/html',
          '*/*',
          'application/json',
          'Application/JSON',
          'image/png',
          'application/*',
        ]),
      ),
  ],
  [
    'a credential',
    (draft, random) => set(draft, 'Authorization', random.pick(['Bearer right', 'Bearer wrong'])),
  ],
  ['no Accept', (draft) => drop(draft, 'Accept')],
  [
    'a Content-Type',
    (draft, random) =>
      set(
        draft,
        'Content-Type',
        random.pick([
          'text/plain',
          '',
          'application/json; charset=utf-16',
          'APPLICATION/JSON',
          'application/jsonx',
        ]),
      ),
  ],
  ['no Content-Type', (draft) => drop(draft, 'Content-Type')],
  ['a long header', (draft) => draft.headers.push(['X-Padding', 'x'.repeat(3000)])],
  ['a foreign header', (draft) => draft.headers.push(['__proto__', 'x'], ['Last-Event-ID', 'p9-1'])],
  ['no Host', (draft, random) => random.chance(0.2) && drop(draft, 'Host')],
  [
    'a byte that no header may have',
    (draft, random) => random.chance(0.2) && draft.headers.push(['X-Bad', 'a\x01b']),
  ],
]

const MESSAGE_CHANGES: readonly Change[] = [
  [
    'another id',
    (draft, random) => member(draft, 'id', random.chance(0.5) ? random.pick(IDS) : wrong(random)),
  ],
  ['no id', (draft) => member(draft, 'id', undefined)],
  [
    'another method, in the header too',
    (draft, random) => {
      const method = random.pick(METHODS)
      member(draft, 'method', method)
      set(draft, 'Mcp-Method', method)
    },
  ],
  [
    'another method',
    (draft, random) => member(draft, 'method', random.chance(0.5) ? random.pick(METHODS) : wrong(random)),
  ],
  ['no method', (draft) => member(draft, 'method', undefined)],
  [
    'another protocol',
    (draft, random) => member(draft, 'jsonrpc', random.pick(['1.0', '', 2, undefined, null])),
  ],
  ['params of another type', (draft, random) => member(draft, 'params', wrong(random))],
  ['no params', (draft) => member(draft, 'params', undefined)],
  ['members that no message has', (draft) => Object.assign(objectOf(draft), { result: {}, extra: 1 })],
  ['_meta of another type', (draft, random) => param(draft, '_meta', wrong(random))],
  [
    'another marker',
    (draft, random) => meta(draft, MARKER, random.chance(0.5) ? random.pick(VERSIONS) : wrong(random)),
  ],
  [
    'another version in marker and header',
    (draft, random) => {
      const version = random.pick(VERSIONS)
      meta(draft, MARKER, version)
      set(draft, 'MCP-Protocol-Version', version)
    },
  ],
  ['no marker', (draft) => meta(draft, MARKER, undefined)],
  ['other capabilities', (draft, random) => meta(draft, CAPABILITIES, wrong(random))],
  ['no capabilities', (draft) => meta(draft, CAPABILITIES, undefined)],
  ['another client', (draft, random) => meta(draft, CLIENT_INFO, wrong(random))],
  ['a log level', (draft, random) => meta(draft, LEVEL, random.pick(['debug', 'loud', 5, null, '']))],
  ['a progress token', (draft, random) => meta(draft, 'progressToken', random.pick([1, 'p', {}, null]))],
  [
    'another name',
    (draft, random) => param(draft, 'name', random.chance(0.5) ? random.pick(NAMES) : wrong(random)),
  ],
  ['other arguments', (draft, random) => param(draft, 'arguments', wrong(random))],
  [
    'a batch',
    (draft) => {
      draft.message = [draft.message]
    },
  ],
  [
    'no message at all',
    (draft, random) => {
      draft.message = wrong(random)
    },
  ],
  [
    'keys of a prototype',
    (draft) => {
      draft.bytes ??= Buffer.from(
        `{"__proto__":{"id":1},"constructor":1,${JSON.stringify(draft.message ?? {}).slice(1)}`,
      )
    },
  ],
  [
    'a member twice',
    (draft, random) => {
      const text = JSON.stringify(draft.message ?? {})
      if (text.endsWith('}') && text.length > 2)
        draft.bytes ??= Buffer.from(`${text.slice(0, -1)},"id":${JSON.stringify(random.pick(IDS))}}`)
    },
  ],
]

/** A value of a type that is hardly ever the right one; made anew, since what it is put into is changed further. */
function wrong(random: Random): unknown {
  const values: readonly unknown[] = [null, true, 0, 5, '', 'text', [], ['a'], {}, { a: 1 }]
  return random.pick(values)
}

function is(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase()
}

function drop(draft: Draft, name: string): void {
  draft.headers = draft.headers.filter(([own]) => !is(own, name))
}

function set(draft: Draft, name: string, value: string): void {
  drop(draft, name)
  draft.headers.push([name, value])
}

function edit(draft: Draft, name: string, change: (value: string) => string): void {
  for (const header of draft.headers) if (is(header[0], name)) header[1] = change(header[1])
}

function objectOf({ message }: Draft): Json {
  const one: unknown = Array.isArray(message) ? message[0] : message
  return typeof one === 'object' && one !== null && !Array.isArray(one) ? (one as Json) : {}
}

function member(draft: Draft, name: string, value: unknown): void {
  const message = objectOf(draft)
  if (value === undefined) delete message[name]
  else message[name] = value
}

function param(draft: Draft, name: string, value: unknown): void {
  const { params } = objectOf(draft)
  if (typeof params === 'object' && params !== null) member({ ...draft, message: params }, name, value)
}

function meta(draft: Draft, name: string, value: unknown): void {
  const params = objectOf(draft)['params'] as Json | null | undefined
  const own = params?.['_meta']
  if (typeof own === 'object' && own !== null) member({ ...draft, message: own }, name, value)
}
