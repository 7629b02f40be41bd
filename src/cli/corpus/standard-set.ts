// The requests that every legacy server over HTTP meets sooner or later, good ones and bad ones. None of them runs a tool.
import { HEADERS, METHOD, newest, revision, revisionsOf } from '../../spec/index.ts'
import type { RevisionId } from '../../spec/index.ts'
import { HOST, JSON_FIELDS } from './draft.ts'
import type { Draft } from './draft.ts'

/**
 * The set, in the order in which it is sent. A field whose value names a session is left out where the server opened none.
 * `authorised` says that headers are given, so that a request without them is worth recording.
 */
export function standardSet(authorised: boolean): Draft[] {
  const legacy = revisionsOf('legacy').toReversed()
  return [
    ...legacy.flatMap(opening),
    ...inSession(),
    ...framing(),
    ...batches(),
    ...unserved(),
    ...(authorised ? [withoutHeaders()] : []),
    ...legacy.map((id): Draft => ({ ...bare('DELETE', `delete-${id}`), fields: sessionFields(id, true) })),
    { ...bare('DELETE', 'delete-again'), fields: sessionFields(CURRENT, true) },
    post('ping-after-delete', request(METHOD.ping), sessionFields(CURRENT)),
  ]
}

/** The name of a draft that is sent without the headers of the command line. */
export const UNAUTHORISED = 'initialize-without-headers'

const CURRENT = newest('legacy')
/** More than the limits that are usual: 4 MiB and below. */
const LARGE = 5 * 2 ** 20
const NO_SUCH = 'mcpx-no-such'

type Fields = readonly (readonly [string, string])[]

function opening(id: RevisionId): Draft[] {
  const name = `session-${id}`
  return [
    {
      ...post(`initialize-${id}`, initialize(id), [HOST, ...JSON_FIELDS]),
      captures: [{ name, selector: `header:${HEADERS.sessionId.toLowerCase()}` }],
    },
    post(`initialized-${id}`, { jsonrpc: '2.0', method: METHOD.initialized }, sessionFields(id)),
    post(`ping-${id}`, request(METHOD.ping), sessionFields(id)),
  ]
}

function inSession(): Draft[] {
  const said = (name: string, message: unknown): Draft => post(name, message, sessionFields(CURRENT))
  return [
    said('tools-list', request(METHOD.toolsList)),
    said('prompts-list', request(METHOD.promptsList)),
    said('resources-list', request(METHOD.resourcesList)),
    said('resource-templates-list', request(METHOD.templatesList)),
    said('list-unknown-cursor', request(METHOD.toolsList, { cursor: NO_SUCH })),
    said('call-unknown-tool', request(METHOD.toolsCall, { name: NO_SUCH, arguments: {} })),
    said('call-without-name', request(METHOD.toolsCall, {})),
    said('get-unknown-prompt', request(METHOD.promptsGet, { name: NO_SUCH })),
    said('read-unknown-resource', request(METHOD.resourcesRead, { uri: `${NO_SUCH}://nothing` })),
    said('unknown-method', request(`${NO_SUCH}/method`)),
    said('unknown-notification', { jsonrpc: '2.0', method: `notifications-of/${NO_SUCH}` }),
    said('answer-to-nothing', { jsonrpc: '2.0', id: NO_SUCH, result: {} }),
    said('id-text', { ...request(METHOD.ping), id: 'one' }),
    said('id-zero', { ...request(METHOD.ping), id: 0 }),
    said('id-null', { ...request(METHOD.ping), id: null }),
    said('initialize-again', initialize(CURRENT)),
    said('discover-without-marker', request(METHOD.discover)),
    {
      ...bare('GET', 'get-stream'),
      fields: [...sessionFields(CURRENT, true), ['Accept', 'text/event-stream']],
    },
  ]
}

function framing(): Draft[] {
  const ping = JSON.stringify(request(METHOD.ping))
  const text = (name: string, body: string): Draft => ({ ...post(name, {}, sessionFields(CURRENT)), body })
  const swapped = (name: string, field: string, value: string): Draft => ({
    ...text(name, ping),
    fields: sessionFields(CURRENT).map(([key, old]) => [key, key === field ? value : old] as const),
  })
  const [start = '', end = ''] = JSON.stringify(request(METHOD.ping, { padding: '' })).split(
    /(?<="padding":")/,
  )
  return [
    text('body-not-json', '{"jsonrpc":"2.0","id":1,'),
    text('body-empty', ''),
    text('body-no-message', '{"hello":"world"}'),
    text('body-text', '"hello"'),
    text('body-wrong-jsonrpc', ping.replace('"2.0"', '"1.0"')),
    swapped('content-type-text', 'Content-Type', 'text/plain'),
    swapped('accept-json-only', 'Accept', 'application/json'),
    swapped('accept-html', 'Accept', 'text/html'),
    swapped('version-unknown', HEADERS.protocolVersion, '1999-01-01'),
    swapped('version-modern', HEADERS.protocolVersion, newest('modern')),
    {
      ...text('body-large', ''),
      body: [
        { text: start, end: '' },
        { repeated: 'a', times: LARGE },
        { text: end, end: '' },
      ],
    },
  ]
}

function batches(): Draft[] {
  const both = [request(METHOD.ping), { ...request(METHOD.ping), id: 2 }]
  const batching = revisionsOf('legacy').find((id) => revision(id).http.batches) ?? CURRENT
  return [
    post(`batch-${batching}`, both, sessionFields(batching)),
    post(`batch-${CURRENT}`, both, sessionFields(CURRENT)),
    post('batch-empty', [], sessionFields(CURRENT)),
    post('batch-of-notifications', [{ jsonrpc: '2.0', method: METHOD.initialized }], sessionFields(CURRENT)),
  ]
}

/** Without a session, with an unknown one, and by verbs and paths that are not served. */
function unserved(): Draft[] {
  const unknown: Fields = [HOST, [HEADERS.sessionId, NO_SUCH]]
  return [
    post('session-missing', request(METHOD.toolsList), [HOST, ...JSON_FIELDS]),
    post('session-unknown', request(METHOD.toolsList), [...unknown, ...JSON_FIELDS]),
    { ...bare('GET', 'get-without-session'), fields: [HOST, ['Accept', 'text/event-stream']] },
    { ...bare('GET', 'get-unknown-session'), fields: [...unknown, ['Accept', 'text/event-stream']] },
    { ...bare('GET', 'get-html'), fields: [HOST, ['Accept', 'text/html']] },
    bare('DELETE', 'delete-without-session'),
    { ...bare('DELETE', 'delete-unknown-session'), fields: unknown },
    bare('OPTIONS', 'options'),
    {
      ...bare('OPTIONS', 'options-preflight'),
      fields: [
        HOST,
        ['Origin', 'http://localhost:6274'],
        ['Access-Control-Request-Method', 'POST'],
        ['Access-Control-Request-Headers', `content-type, ${HEADERS.sessionId.toLowerCase()}`],
      ],
    },
    { ...post('put', request(METHOD.ping), sessionFields(CURRENT)), verb: 'PUT' },
    { ...post('path-unknown', request(METHOD.ping), [HOST, ...JSON_FIELDS]), path: `/${NO_SUCH}` },
    post('origin-foreign', initialize(CURRENT), [HOST, ['Origin', 'http://evil.example'], ...JSON_FIELDS]),
  ]
}

function withoutHeaders(): Draft {
  return post(UNAUTHORISED, initialize(CURRENT), [HOST, ...JSON_FIELDS])
}

function post(name: string, message: unknown, fields: Fields): Draft {
  return { name, verb: 'POST', path: '{{path}}', fields, body: JSON.stringify(message) }
}

function bare(verb: string, name: string): Draft {
  return { name, verb, path: '{{path}}', fields: [HOST] }
}

function request(method: string, params?: object): object {
  return { jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) }
}

function initialize(id: RevisionId): object {
  const clientInfo = { name: 'mcpx-record', version: '1' }
  return request(METHOD.initialize, { protocolVersion: id, capabilities: {}, clientInfo })
}

/** What a client sends once it has a session; `bodiless` ones need no media types. */
function sessionFields(id: RevisionId, bodiless = false): Fields {
  return [
    HOST,
    ...(bodiless ? [] : JSON_FIELDS),
    ...(hasVersions(id) ? ([[HEADERS.protocolVersion, id]] as const) : []),
    [HEADERS.sessionId, `{{session-${id}}}`],
  ]
}

function hasVersions(id: RevisionId): boolean {
  return revision(id).http.versionHeader !== 'absent'
}
