// What clients of all legacy revisions send to a server, and what they should not have sent: lines for `mcpx record --requests`.

export interface Subject {
  /** Whether the server opens sessions. */
  readonly sessions: boolean
  /** Calls of tools by name, each run in a session of 2025-11-25. */
  readonly calls: readonly (readonly [label: string, params: object])[]
  readonly prompt: object
  readonly resource: string
  /** Requests that end with a GET that has a Last-Event-ID; none where the server keeps no events. */
  readonly resumed: readonly Line[]
}

export interface Line {
  readonly name: string
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | null>>
  readonly body?: unknown
  readonly capture?: Readonly<Record<string, string>>
  readonly events?: number
}

export const CURRENT = '2025-11-25'
const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', CURRENT] as const
const MIB = 2 ** 20
const LISTEN = { Accept: 'text/event-stream' }

export function linesFor(subject: Subject): Line[] {
  return [
    ...VERSIONS.flatMap((version) => opening(version, subject)),
    ...asked(subject),
    ...told(subject),
    ...framed(subject),
    ...subject.resumed,
    ...unserved(subject),
    ...closing(subject),
  ]
}

export function request(method: string, params?: object, id: unknown = 1): object {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) }
}

/** The headers of a client in a session of that version. */
export function within(version: string, { sessions }: Pick<Subject, 'sessions'>): Record<string, string> {
  return {
    ...(version >= '2025-06-18' && { 'MCP-Protocol-Version': version }),
    ...(sessions && { 'Mcp-Session-Id': `{{session-${version}}}` }),
  }
}

function initialize(version: string): object {
  const clientInfo = { name: 'old', version: '1' }
  return request('initialize', { protocolVersion: version, capabilities: {}, clientInfo })
}

function notification(method: string, params?: object): object {
  return { jsonrpc: '2.0', method, ...(params && { params }) }
}

function opening(version: string, subject: Subject): Line[] {
  const headers = within(version, subject)
  const capture = { [`session-${version}`]: 'header:mcp-session-id' }
  return [
    {
      name: `initialize-${version}`,
      body: initialize(version),
      ...(subject.sessions && { capture }),
    },
    { name: `initialized-${version}`, headers, body: notification('notifications/initialized') },
    { name: `ping-${version}`, headers, body: request('ping') },
  ]
}

function asked(subject: Subject): Line[] {
  const headers = within(CURRENT, subject)
  const ask = (name: string, method: string, params?: object): Line => ({
    name,
    headers,
    body: request(method, params),
  })
  return [
    ask('tools-list', 'tools/list'),
    ask('prompts-list', 'prompts/list'),
    ask('resources-list', 'resources/list'),
    ask('templates-list', 'resources/templates/list'),
    ...subject.calls.map(([label, params]) => ask(`call-${label}`, 'tools/call', params)),
    ask('call-unknown', 'tools/call', { name: 'no-such-tool', arguments: {} }),
    ask('call-nameless', 'tools/call', {}),
    ask('prompt', 'prompts/get', subject.prompt),
    ask('prompt-unknown', 'prompts/get', { name: 'no-such-prompt' }),
    ask('resource', 'resources/read', { uri: subject.resource }),
    ask('resource-unknown', 'resources/read', { uri: 'no-such://resource' }),
    ask('subscribe', 'resources/subscribe', { uri: subject.resource }),
    ask('log-level', 'logging/setLevel', { level: 'info' }),
    ask('log-level-unknown', 'logging/setLevel', { level: 'loud' }),
    ask('method-unknown', 'no/such/method'),
    ask('discover-without-marker', 'server/discover'),
    ...['text', 0, null, 1.5].map((id): Line => {
      return { name: `id-${String(id)}`, headers, body: request('ping', undefined, id) }
    }),
    { name: 'initialize-again', headers, body: initialize(CURRENT) },
    { name: 'initialize-later', body: initialize('2031-01-01') },
    {
      name: 'initialize-modern-header',
      headers: { 'MCP-Protocol-Version': '2026-07-28' },
      body: initialize(CURRENT),
    },
  ]
}

function told(subject: Subject): Line[] {
  const headers = within(CURRENT, subject)
  return [
    { name: 'cancelled', headers, body: notification('notifications/cancelled', { requestId: 9 }) },
    { name: 'roots-changed', headers, body: notification('notifications/roots/list_changed') },
    { name: 'notification-unknown', headers, body: notification('notifications/no-such') },
    {
      name: 'notification-modern-header',
      headers: { ...headers, 'MCP-Protocol-Version': '2026-07-28' },
      body: notification('notifications/initialized'),
    },
    { name: 'answer-to-nothing', headers, body: { jsonrpc: '2.0', id: 'nothing', result: {} } },
  ]
}

function framed(subject: Subject): Line[] {
  const headers = within(CURRENT, subject)
  const ping = request('ping')
  const swapped = (name: string, field: string, value: string | null): Line => ({
    name,
    headers: { ...headers, [field]: value },
    body: ping,
  })
  const large = (size: number): object => request('ping', { padding: 'a'.repeat(size) })
  const both = [ping, request('ping', undefined, 2)]
  return [
    { name: 'body-broken', headers, body: '{"jsonrpc":"2.0","id":1,' },
    { name: 'body-empty', headers, body: '' },
    { name: 'body-no-message', headers, body: { hello: 'world' } },
    { name: 'body-text', headers, body: '"hello"' },
    { name: 'body-spaced', headers, body: ' {"jsonrpc" : "2.0",\r\n"id":1,"method":"ping"}\n' },
    { name: 'body-1-mib', headers, body: large(MIB) },
    { name: 'body-6-mib', headers, body: large(6 * MIB) },
    swapped('type-text', 'Content-Type', 'text/plain'),
    swapped('type-missing', 'Content-Type', null),
    swapped('accept-json', 'Accept', 'application/json'),
    swapped('accept-html', 'Accept', 'text/html'),
    swapped('version-unknown', 'MCP-Protocol-Version', '1999-01-01'),
    swapped('version-modern', 'MCP-Protocol-Version', '2026-07-28'),
    swapped('origin-foreign-in-session', 'Origin', 'http://evil.example'),
    swapped('host-foreign', 'Host', 'evil.example'),
    { name: 'origin-foreign', headers: { Origin: 'http://evil.example' }, body: initialize(CURRENT) },
    { name: 'batch', headers: within('2025-03-26', subject), body: both },
    { name: 'batch-current', headers, body: both },
    { name: 'batch-empty', headers, body: [] },
    { name: 'batch-notifications', headers, body: [notification('notifications/initialized')] },
    { name: 'batch-initialize', body: [initialize('2025-03-26')] },
  ]
}

/** The session that is said to be there is of nobody; then verbs and paths that are not served. */
function unserved(subject: Subject): Line[] {
  const unknown = { 'Mcp-Session-Id': 'no-such-session' }
  return [
    { name: 'session-missing', body: request('tools/list') },
    { name: 'session-unknown', headers: unknown, body: request('tools/list') },
    { name: 'get-session-missing', headers: LISTEN },
    { name: 'get-session-unknown', headers: { ...unknown, ...LISTEN } },
    { name: 'get-html', headers: { ...within(CURRENT, subject), Accept: 'text/html' } },
    { name: 'get-stream', headers: { ...within('2025-06-18', subject), ...LISTEN } },
    { name: 'head', method: 'HEAD' },
    {
      name: 'preflight',
      method: 'OPTIONS',
      headers: { Origin: 'http://localhost:6274', 'Access-Control-Request-Method': 'POST' },
    },
    { name: 'put', method: 'PUT', headers: within(CURRENT, subject), body: request('ping') },
    { name: 'path-unknown', path: '/no-such-path', body: request('ping') },
  ]
}

function closing(subject: Subject): Line[] {
  const headers = within(CURRENT, subject)
  return [
    { name: 'delete-session-missing', method: 'DELETE' },
    { name: 'delete-session-unknown', method: 'DELETE', headers: { 'Mcp-Session-Id': 'no-such-session' } },
    ...VERSIONS.map((version): Line => {
      return { name: `delete-${version}`, method: 'DELETE', headers: within(version, subject) }
    }),
    { name: 'delete-again', method: 'DELETE', headers },
    { name: 'ping-after-delete', headers, body: request('ping') },
    { name: 'get-after-delete', headers: { ...headers, ...LISTEN } },
  ]
}
