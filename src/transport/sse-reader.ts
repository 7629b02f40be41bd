// Reads server-sent events from the bytes of a stream. Their writing is in wire: it needs no package.
import { createParser } from 'eventsource-parser'
import { DEFAULT_MAX_MESSAGE } from '../wire/index.ts'

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
  let afterReturn = false
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
    let text = withLineFeeds(decoder.decode(bytes, { stream: true }))
    if (skipping !== undefined) {
      const end = skipping.find(text)
      if (end === -1) return
      skipping = undefined
      text = text.slice(end)
    }
    if (text === '') return
    parser.feed(text)
    if (!overflowed) return
    overflowed = false
    parser.reset()
    skipping = createBlankLineFinder(text)
    options.onOversize?.()
  }

  /**
   * All line ends as line feeds, at once: the parser holds a trailing carriage return back until it sees what follows, and
   * loses the event that it ends when what follows is over the limit.
   */
  function withLineFeeds(text: string): string {
    const own = afterReturn && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') afterReturn = own.endsWith('\r')
    return own.includes('\r') ? own.replace(/\r\n?/g, '\n') : own
  }

  return { feed }
}

interface BlankLineFinder {
  /** The offset behind the first blank line, -1 where there is none yet. */
  find(text: string): number
}

/** `before` is the text that the search goes on from; both have line feeds only. */
function createBlankLineFinder(before: string): BlankLineFinder {
  let atLineStart = before.endsWith('\n')
  return {
    find(text) {
      for (let at = 0; at < text.length; at++) {
        const ends = text.charAt(at) === '\n'
        if (ends && atLineStart) return at + 1
        atLineStart = ends
      }
      return -1
    },
  }
}
