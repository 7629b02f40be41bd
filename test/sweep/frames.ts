// What the recorder wrote, made into messages again: each with who sent it, the revision that it is spelled for, and what it
// answers.
import { isObject } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { ASSUMED_REVISION, META, newest, REVISIONS } from '../../src/spec/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'

export type Side = 'client' | 'server'

/** A line of the recorder. `head` is of an HTTP request, then of its response. */
export interface Recorded {
  readonly test: string
  readonly id: string
  readonly kind: 'pipe' | 'http'
  /** What mcpx is in the conversation. */
  readonly role: Side
  readonly head?: Head
  readonly dir?: 'in' | 'out'
  readonly text?: string
}

interface Head {
  readonly method?: string
  readonly url?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The head of a response of ours, as it went out. */
  readonly head?: string | null
}

export interface Frame {
  readonly test: string
  readonly message: unknown
  readonly sentBy: Side
  /** Whether mcpx sent it. */
  readonly ours: boolean
  /** Where a pipe speaks both eras and the message says of neither, there are two. */
  readonly revisions: readonly RevisionId[]
  /** The request that it answers. */
  readonly request?: JsonObject | undefined
  readonly batch: boolean
}

const MODERN = newest('modern')
const IDS: readonly string[] = REVISIONS.map(({ id }) => id)

interface Asked {
  readonly message: JsonObject
  readonly revision: RevisionId
}

/** What is known of a session, a pipe or a server: several HTTP exchanges have one. */
interface Talk {
  agreed: RevisionId | undefined
  modern: boolean
  readonly asked: Record<Side, Map<string, Asked>>
}

interface Exchange {
  readonly record: Recorded
  talk: Talk
  head: Head | undefined
  isStream: Partial<Record<'in' | 'out', boolean>>
  readonly pending: Record<'in' | 'out', string>
  readonly asked: Record<Side, Map<string, Asked>>
  revision: RevisionId | undefined
}

/** Takes the lines of one process in their order. */
export function createReader(take: (frame: Frame) => void): (record: Recorded) => void {
  const exchanges = new Map<string, Exchange>()
  const talks = new Map<string, Talk>()
  return (record) => {
    const exchange = exchanges.get(record.id) ?? begin(record)
    exchanges.set(record.id, exchange)
    if (record.head !== undefined) readHead(exchange, record.head, talks)
    if (record.dir === undefined || record.text === undefined) return
    for (const value of cut(exchange, { dir: record.dir, text: record.text }, talks)) {
      const messages = Array.isArray(value) ? (value as unknown[]) : [value]
      for (const message of messages)
        take(frameOf(exchange, record.dir, { message, batch: Array.isArray(value) }))
    }
  }
}

function begin(record: Recorded): Exchange {
  return {
    record,
    talk: newTalk(),
    head: undefined,
    isStream: {},
    pending: { in: '', out: '' },
    asked: newAsked(),
    revision: undefined,
  }
}

function newAsked(): Record<Side, Map<string, Asked>> {
  return { client: new Map(), server: new Map() }
}

function newTalk(): Talk {
  return { agreed: undefined, modern: false, asked: newAsked() }
}

const keyOf = (role: Side, name: string): string => `${role} ${name}`

function readHead(exchange: Exchange, head: Head, talks: Map<string, Talk>): void {
  const { role } = exchange.record
  if (head.url !== undefined) {
    exchange.head = head
    const session = head.headers?.['mcp-session-id']
    // A server without sessions is one talk for its client; clients without sessions have nothing in common.
    const key = keyOf(role, session ?? head.url)
    const known = talks.get(key)
    if (known !== undefined) exchange.talk = known
    else if (role === 'client') talks.set(key, exchange.talk)
    return
  }
  const session =
    head.headers?.['mcp-session-id'] ?? /^mcp-session-id: *(.*?)\r?$/im.exec(head.head ?? '')?.[1]
  if (session === undefined || session === exchange.head?.headers?.['mcp-session-id']) return
  // A session that was opened in another one is a talk of its own.
  exchange.talk = newTalk()
  talks.set(keyOf(role, session), exchange.talk)
}

interface Bytes {
  readonly dir: 'in' | 'out'
  readonly text: string
}

/** A message, alone or of a batch. */
interface Part {
  readonly message: unknown
  readonly batch: boolean
}

/** The values that the text completes. */
function cut(exchange: Exchange, { dir, text }: Bytes, talks: Map<string, Talk>): unknown[] {
  const all = exchange.pending[dir] + text
  const isPipe = exchange.record.kind === 'pipe'
  exchange.isStream[dir] ??= !isPipe && all.trim() !== '' && !/^\s*[[{]/.test(all)
  // A large message comes in many pieces, most of which end nothing.
  const ends = isPipe || exchange.isStream[dir] ? text.includes('\n') : /[\]}]\s*$/.test(text)
  if (!ends) {
    exchange.pending[dir] = all
    return []
  }
  if (!isPipe && !exchange.isStream[dir]) {
    const value = parse(all)
    exchange.pending[dir] = value === undefined ? all : ''
    return value === undefined ? [] : [value]
  }
  const parts = all.split(isPipe ? '\n' : /\r?\n\r?\n/)
  exchange.pending[dir] = parts.pop() ?? ''
  const lines = isPipe ? parts : parts.flatMap((event) => dataOf(exchange, event, talks))
  return lines.flatMap((line) => parse(line) ?? [])
}

function dataOf(exchange: Exchange, event: string, talks: Map<string, Talk>): string[] {
  const fields = event.split(/\r?\n/)
  const named = (name: string): string[] =>
    fields.flatMap((field) =>
      field.startsWith(`${name}:`) ? [field.slice(name.length + 1).trimStart()] : [],
    )
  const data = named('data').join('\n')
  if (named('event')[0] !== 'endpoint') return data === '' ? [] : [data]
  // HTTP+SSE: what is posted there belongs to this stream.
  const { role } = exchange.record
  const base = exchange.head?.url ?? '/'
  talks.set(keyOf(role, role === 'client' ? new URL(data, base).href : data), exchange.talk)
  return []
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function frameOf(exchange: Exchange, dir: 'in' | 'out', { message, batch }: Part): Frame {
  const { test, role } = exchange.record
  const ours = dir === 'out'
  const sentBy: Side = ours === (role === 'client') ? 'client' : 'server'
  const frame = { test, message, sentBy, ours, batch }
  if (!isObject(message)) return { ...frame, revisions: [] }
  if ('method' in message) {
    // A batch is answered as one of the legacy era, whatever its parts say.
    const revisions = batch ? assumed(exchange) : spelledFor(exchange, message, sentBy)
    if ('id' in message) remember(exchange, message, { sentBy, revision: revisions[0] ?? ASSUMED_REVISION })
    return { ...frame, revisions }
  }
  const asker: Side = sentBy === 'client' ? 'server' : 'client'
  const id = JSON.stringify(message['id'])
  const asked = exchange.asked[asker].get(id) ?? exchange.talk.asked[asker].get(id)
  if (asked?.message['method'] !== 'initialize') {
    return {
      ...frame,
      revisions: asked === undefined ? assumed(exchange) : [asked.revision],
      request: asked?.message,
    }
  }
  const result = isObject(message['result']) ? message['result'] : {}
  const agreed = revisionIn(result['protocolVersion'])
  // Whatever a server that is initialized calls its revision, it is spoken to as one of the legacy era.
  if (agreed !== undefined) exchange.talk.agreed = agreed === MODERN ? newest('legacy') : agreed
  return { ...frame, revisions: [agreed ?? asked.revision], request: asked.message }
}

function remember(exchange: Exchange, message: JsonObject, by: { sentBy: Side; revision: RevisionId }): void {
  const asked = { message, revision: by.revision }
  const id = JSON.stringify(message['id'])
  exchange.asked[by.sentBy].set(id, asked)
  exchange.talk.asked[by.sentBy].set(id, asked)
  if (by.revision !== MODERN) return
  exchange.talk.modern = true
  if (exchange.record.kind === 'http') exchange.revision = MODERN
}

function spelledFor(exchange: Exchange, message: JsonObject, sentBy: Side): RevisionId[] {
  const params = isObject(message['params']) ? message['params'] : {}
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  const named = revisionIn(meta[META.protocolVersion])
  if (named !== undefined) return [named]
  if (message['method'] === 'initialize') return [revisionIn(params['protocolVersion']) ?? newest('legacy')]
  if (meta[META.subscriptionId] !== undefined) return [MODERN]
  if (exchange.record.kind === 'pipe') {
    const about = aboutOf(exchange, message, { params, sentBy })
    if (about !== undefined) return [about]
  }
  return assumed(exchange)
}

/** The revision of the request that a notification is about. */
function aboutOf(
  exchange: Exchange,
  { method }: JsonObject,
  { params, sentBy }: { params: JsonObject; sentBy: Side },
): RevisionId | undefined {
  const { client, server } = exchange.talk.asked
  if (method === 'notifications/cancelled') {
    const id = JSON.stringify(params['requestId'])
    return (sentBy === 'client' ? client.get(id) : (server.get(id) ?? client.get(id)))?.revision
  }
  if (method !== 'notifications/progress') return undefined
  return [...client.values(), ...server.values()].find(({ message }) => {
    const given = isObject(message['params']) ? message['params']['_meta'] : undefined
    return isObject(given) && given['progressToken'] === params['progressToken']
  })?.revision
}

function assumed({ revision, talk, head, record }: Exchange): RevisionId[] {
  const header = revisionIn(head?.headers?.['mcp-protocol-version'])
  const named = header === MODERN ? undefined : header
  const said = record.role === 'client' ? (named ?? talk.agreed ?? header) : (talk.agreed ?? header)
  if (revision !== undefined || said === undefined) {
    return [revision ?? (talk.modern ? MODERN : ASSUMED_REVISION)]
  }
  return record.kind === 'pipe' && talk.modern && said !== MODERN ? [said, MODERN] : [said]
}

function revisionIn(value: unknown): RevisionId | undefined {
  return typeof value === 'string' && IDS.includes(value) ? (value as RevisionId) : undefined
}
