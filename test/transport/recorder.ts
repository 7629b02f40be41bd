import type { ChannelListener, CloseReason, Id, RpcMessage, SendFailure } from '../../src/wire/index.ts'
import type { Log } from '../../src/base/index.ts'

export type Heard =
  | { kind: 'message'; message: RpcMessage; via: Id | undefined }
  | { kind: 'failed'; id: Id | undefined; failure: SendFailure }
  | { kind: 'closed'; reason: CloseReason }

/** A listener that keeps what it hears, in order, and can be waited on. */
export interface Recorder extends ChannelListener {
  readonly heard: readonly Heard[]
  /** Everything heard that passes, once there are so many. Nothing is waited for twice as long as it comes. */
  until<T extends Heard>(passes: (one: Heard) => one is T, count?: number): Promise<T[]>
}

export function createRecorder(): Recorder {
  const heard: Heard[] = []
  const waiting = new Set<() => void>()
  const hear = (one: Heard): void => {
    heard.push(one)
    for (const look of [...waiting]) look()
  }
  return {
    heard,
    onMessage: (message, via) => hear({ kind: 'message', message, via }),
    onFailed: (id, failure) => hear({ kind: 'failed', id, failure }),
    onClosed: (reason) => hear({ kind: 'closed', reason }),
    until: (passes, count = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = heard.filter(passes)
          if (found.length < count) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
  }
}

type Of<K extends Heard['kind']> = Extract<Heard, { kind: K }>

export const isMessage = (one: Heard): one is Of<'message'> => one.kind === 'message'
export const isFailed = (one: Heard): one is Of<'failed'> => one.kind === 'failed'
export const isClosed = (one: Heard): one is Of<'closed'> => one.kind === 'closed'

/** A message whose params say that. */
export const says =
  (data: string) =>
  (one: Heard): one is Of<'message'> =>
    one.kind === 'message' && 'params' in one.message && one.message.params?.['data'] === data

export interface LogRecorder extends Log {
  readonly lines: { level: string; message: string; facts: Record<string, unknown> | undefined }[]
}

export function createLogRecorder(): LogRecorder {
  const lines: LogRecorder['lines'] = []
  const at = (level: string) => (message: string, facts?: Record<string, unknown>) => {
    lines.push({ level, message, facts })
  }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
