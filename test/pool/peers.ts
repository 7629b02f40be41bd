// Servers in memory: what a dialer reaches in a test. A peer answers messages as a server would and knows nothing of mcpx.
import { McpxError } from '../../src/base/index.ts'
import type {
  Channel,
  ChannelListener,
  CloseReason,
  Dialer,
  Id,
  RpcMessage,
  SendFailure,
  TransportKind,
} from '../../src/wire/index.ts'

/** One channel as the server sees it. */
export interface Line {
  readonly transport: TransportKind
  readonly received: { message: RpcMessage; headers: Readonly<Record<string, string>> | undefined }[]
  readonly abandoned: Id[]
  readonly state: 'open' | 'closed'
  readonly say: (message: RpcMessage, via?: Id) => void
  readonly fail: (id: Id | undefined, failure: SendFailure) => void
  /** The process exits, or the stream ends. */
  readonly end: (reason?: CloseReason) => void
}

export type Habit = (message: RpcMessage, line: Line) => void

export interface Peer extends Dialer {
  readonly lines: Line[]
  readonly opened: number
  /** Channels that are open now, and the most that were at once. */
  readonly open: number
  readonly most: number
}

export const CRASH: CloseReason = { kind: 'exited', code: 3, signal: null, stderr: ['out of memory'] }

/** How a server behaves when it is opened the nth time; an error refuses to be dialled. */
export type Choice = (transport: TransportKind, nth: number) => Habit | McpxError

/** A dialer to a server that always behaves the same. */
export function createPeer(habit: Habit | McpxError): Peer {
  return createChoosingPeer(() => habit)
}

export function createChoosingPeer(choose: Choice): Peer {
  const lines: Line[] = []
  let open = 0
  let most = 0
  return {
    lines,
    get opened() {
      return lines.length
    },
    get open() {
      return open
    },
    get most() {
      return most
    },
    async dial(_, transport, listener) {
      await Promise.resolve()
      const chosen = choose(transport, lines.length + 1)
      if (chosen instanceof McpxError) throw chosen
      open++
      most = Math.max(most, open)
      const { channel, line } = pair({ transport, listener, habit: chosen }, () => {
        open--
      })
      lines.push(line)
      return channel
    },
  }
}

interface Ends {
  readonly transport: TransportKind
  readonly listener: ChannelListener
  readonly habit: Habit
}

/** A channel and the line at its other end. Messages arrive in a later turn, as they do on a pipe. */
export function pair(
  { transport, listener, habit }: Ends,
  gone: () => void = () => {},
): {
  channel: Channel
  line: Line
} {
  let state: 'open' | 'closed' = 'open'
  let ending: Promise<void> | undefined
  const later = (run: () => void): void => queueMicrotask(() => state === 'open' && run())
  const end = (reason: CloseReason): void => {
    if (state === 'closed') return
    state = 'closed'
    gone()
    listener.onClosed(reason)
  }
  const line: Line = {
    transport,
    received: [],
    abandoned: [],
    get state() {
      return state
    },
    say: (message, via) => later(() => listener.onMessage(message, via)),
    fail: (id, failure) => later(() => listener.onFailed(id, failure)),
    end: (reason = CRASH) => later(() => end(reason)),
  }
  const channel: Channel = {
    transport,
    send(message, headers) {
      if (state === 'closed' || ending !== undefined) return
      line.received.push({ message: structuredClone(message), headers })
      later(() => habit(message, line))
    },
    abandon: (id) => void line.abandoned.push(id),
    // A process takes its time to end.
    close: () => (ending ??= Promise.resolve().then(() => end({ kind: 'closed' }))),
  }
  return { channel, line }
}

type Handlers = Readonly<Record<string, (line: Line, id: Id) => void>>

/** A habit by method; requests that it has no entry for are refused, unless it is silent. */
export function answering(handlers: Handlers, silent = false): Habit {
  return (message, line) => {
    if (!('method' in message) || !('id' in message)) return
    const handler = handlers[message.method]
    if (handler !== undefined) handler(line, message.id)
    else if (!silent) line.say(refusal(message.id))
  }
}

export const refusal = (id: Id, code = -32601): RpcMessage => ({
  ...{ jsonrpc: '2.0', id, error: { code, message: 'no' } },
})

export const reply = (id: Id, value: Record<string, unknown> = {}): RpcMessage => ({
  ...{ jsonrpc: '2.0', id, result: value },
})

const INFO = { name: 'files', version: '1' }

const initialize =
  (version: string, info: Record<string, unknown> = INFO) =>
  (line: Line, id: Id) =>
    line.say(reply(id, { protocolVersion: version, capabilities: { tools: {} }, serverInfo: info }))

const discover = (line: Line, id: Id): void =>
  line.say(
    reply(id, {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': INFO },
    }),
  )

const tools = (line: Line, id: Id): void => line.say(reply(id, { tools: [] }))

export const HANDLERS = { initialize, discover, tools }

export const LEGACY = answering({
  initialize: initialize('2025-06-18'),
  'tools/list': tools,
  'tools/call': tools,
})
export const MODERN = answering({ 'server/discover': discover, 'tools/list': tools, 'tools/call': tools })
export const DUAL = answering({
  initialize: initialize('2025-06-18'),
  'server/discover': discover,
  'tools/list': tools,
})

/** The methods that a line received, in order. */
export const methodsOf = (line: Line | undefined): string[] =>
  (line?.received ?? []).flatMap(({ message }) => ('method' in message ? [message.method] : []))
