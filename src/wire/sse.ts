// Server-sent events as text. They are read in transport.

/** The headers of a response that is a stream of events. */
export const SSE_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  // Proxies that buffer would hold events back.
  'X-Accel-Buffering': 'no',
} as const

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
