// Server-sent events as bytes, both ways.
import { createParser } from 'eventsource-parser'
import { DEFAULT_MAX_MESSAGE } from './ndjson.ts'

export interface SseEvent {
  /** The event's type; undefined where the stream named none, which means `message`. */
  readonly event: string | undefined
  readonly id: string | undefined
  readonly data: string
}

export interface SseReaderOptions {
  onEvent(event: SseEvent): void
  /** The server asks for this many milliseconds before a reconnect. */
  onRetry?(ms: number): void
  /** An event over the limit was dropped; the next one is read again. */
  onOversize?(): void
  /** How many characters an event may have. */
  readonly maxEvent?: number
}

export interface SseReader {
  /** Takes the next bytes of the stream, split anywhere. */
  feed(bytes: Uint8Array): void
}

/** Reads one event stream. Comments and fields that no specification knows are left out. */
export function createSseReader(options: SseReaderOptions): SseReader {
  const maxEvent = options.maxEvent ?? DEFAULT_MAX_MESSAGE
  // The parser takes strings only. This decoder keeps a character that two chunks share and drops a BOM.
  const decoder = new TextDecoder()
  let overflowed = false
  let endedWithReturn = false
  let skipping: BlankLineFinder | undefined
  const parser = createParser({
    maxBufferSize: maxEvent,
    onEvent: ({ event, id, data }) => {
      if (data.length > maxEvent) options.onOversize?.()
      else options.onEvent({ event, id, data })
    },
    onRetry: (ms) => options.onRetry?.(ms),
    onError: (error) => {
      overflowed ||= error.type === 'max-buffer-size-exceeded'
    },
  })

  function feed(bytes: Uint8Array): void {
    let text = decoder.decode(bytes, { stream: true })
    if (skipping !== undefined) {
      const end = skipping.find(text)
      if (end === -1) return
      skipping = undefined
      text = text.slice(end)
    }
    if (text === '') return
    // After a lone carriage return the parser waits for what follows before it ends an event. One character shows it that, so
    // that what comes behind, too large perhaps, cannot take the event along.
    if (endedWithReturn) parser.feed(text.slice(0, 1))
    parser.feed(endedWithReturn ? text.slice(1) : text)
    endedWithReturn = text.endsWith('\r')
    if (!overflowed) return
    overflowed = false
    parser.reset()
    endedWithReturn = false
    skipping = createBlankLineFinder(text)
    options.onOversize?.()
  }

  return { feed }
}

interface SseFields {
  readonly data: string
  readonly event?: string
  readonly id?: string
  readonly retry?: number
}

/** One event as text, its blank line included. */
export function formatSse({ data, event, id, retry }: SseFields): string {
  let text = ''
  if (event !== undefined) text += `event: ${oneLine(event)}\n`
  if (id !== undefined) text += `id: ${oneLine(id)}\n`
  if (retry !== undefined) text += `retry: ${retry}\n`
  // JSON never holds a raw line break, so nearly every event is one data line.
  const body = /[\r\n]/.test(data) ? data.replace(/\r\n|\r|\n/g, '\ndata: ') : data
  return `${text}data: ${body}\n\n`
}

/** A comment as text: what keeps an idle stream open. */
export function formatComment(text = ''): string {
  return text === '' ? ':\n\n' : `: ${oneLine(text)}\n\n`
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\0]+/g, ' ')
}

interface BlankLineFinder {
  /** The offset behind the first blank line, -1 where there is none yet. */
  find(text: string): number
}

/** `before` is the text that the search goes on from: its last character may be half of a line's end. */
function createBlankLineFinder(before: string): BlankLineFinder {
  let atLineStart = /[\r\n]$/.test(before)
  let afterCr = before.endsWith('\r')
  return {
    find(text) {
      for (let at = 0; at < text.length; at++) {
        const character = text.charAt(at)
        if (character === '\n' && afterCr) {
          afterCr = false
          continue
        }
        const ends = character === '\n' || character === '\r'
        if (ends && atLineStart) return at + 1
        atLineStart = ends
        afterCr = character === '\r'
      }
      return -1
    },
  }
}
