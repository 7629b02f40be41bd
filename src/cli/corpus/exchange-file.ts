// One exchange as a file: a few lines about it, the bytes of the request, the bytes of the response (docs/record-replay.md).
import { McpxError } from '../../base/index.ts'
import { formatDuration, parseDuration } from '../../config/index.ts'
import { fill, formatSegment, parseSegment, segmentsOf } from './template.ts'
import type { Segment, Template } from './template.ts'

export interface Exchange {
  /** The file's name without its ending. */
  readonly name: string
  readonly captures: readonly Capture[]
  /** The exchanges that were not over when this one's request was sent. */
  readonly overlaps: readonly Overlap[]
  readonly request: Template
  readonly response: Buffer
  readonly end: End
}

/** A value of this response that later requests name. */
export interface Capture {
  readonly name: string
  readonly selector: string
}

export interface Overlap {
  readonly name: string
  /** What had passed of it by then: its request, the head of its response, or so many events. */
  readonly passed: Progress
}

export type Progress = 'request' | 'head' | number

/**
 * What ended the response: its own framing, the server's closing, or whoever recorded it, after so many events of a stream, a
 * time without any bytes, or the time limit. Times in ms.
 */
export type End =
  | { readonly kind: 'complete' | 'closed' }
  | { readonly kind: 'events'; readonly count: number }
  | { readonly kind: 'quiet' | 'timeout'; readonly ms: number }

const FIRST = 'mcpx exchange, format 1'
const NOTHING = '(nothing)'

export function formatExchange(exchange: Exchange): string {
  const about = [
    ...exchange.captures.map(({ name, selector }) => `capture: ${name} from ${selector}`),
    ...exchange.overlaps.map(({ name, passed }) => `while: ${name} after ${formatProgress(passed)}`),
    `end: ${formatEnd(exchange.end)}`,
  ]
  const part = (segments: readonly Segment[]): string[] =>
    segments.length === 0 ? [NOTHING] : segments.map(formatSegment)
  const lines = [FIRST, ...about, '', 'request', ...part(exchange.request)]
  return [...lines, '', 'response', ...part(segmentsOf(exchange.response)), ''].join('\n')
}

/** Throws CORPUS_INVALID with the line. Line ends may be those of another system: no byte of a message depends on them. */
export function parseExchange(name: string, text: string): Exchange {
  const lines = text.split(/\r?\n/)
  if (lines[0] !== FIRST) throw broken(name, 0, `does not begin with "${FIRST}"`)
  const captures: Capture[] = []
  const overlaps: Overlap[] = []
  const parts: Record<'request' | 'response', Segment[]> = { request: [], response: [] }
  let end: End | undefined
  let into: Segment[] | undefined
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line === '' || line === NOTHING) continue
    if (line === 'request' || line === 'response') {
      into = parts[line]
      continue
    }
    if (into !== undefined) {
      const segment = parseSegment(line)
      if (segment === undefined) throw broken(name, index, 'begins with none of the marks | : . = *')
      into.push(segment)
      continue
    }
    const capture = /^capture: (\S+) from (\S+)$/.exec(line)
    const overlap = /^while: (\S+) after (?:its (request|head)|(\d+) events)$/.exec(line)
    if (capture !== null) captures.push({ name: capture[1] ?? '', selector: capture[2] ?? '' })
    else if (overlap !== null) overlaps.push({ name: overlap[1] ?? '', passed: progressIn(overlap) })
    else if (line.startsWith('end: ')) end = parseEnd(line.slice(5))
    else throw broken(name, index, 'is neither a capture, a while nor an end')
    if (line.startsWith('end: ') && end === undefined) throw broken(name, index, 'names no end')
  }
  if (end === undefined) throw broken(name, 0, 'says nowhere how the response ended')
  const filled = fill(parts.response, () => undefined)
  const response = 'bytes' in filled ? filled.bytes : Buffer.alloc(0)
  return { name, captures, overlaps, request: parts.request, response, end }
}

export function formatEnd(end: End): string {
  switch (end.kind) {
    case 'complete':
      return 'complete'
    case 'closed':
      return 'closed by the server'
    case 'events':
      return `after ${end.count} events`
    case 'quiet':
      return `quiet for ${formatDuration(end.ms)}`
    case 'timeout':
      return `not within ${formatDuration(end.ms)}`
  }
}

function formatProgress(passed: Progress): string {
  return typeof passed === 'number' ? `${passed} events` : `its ${passed}`
}

function progressIn([, , part, events]: RegExpExecArray): Progress {
  return part === 'request' || part === 'head' ? part : Number(events)
}

function parseEnd(text: string): End | undefined {
  if (text === 'complete') return { kind: 'complete' }
  if (text === 'closed by the server') return { kind: 'closed' }
  const events = /^after (\d+) events$/.exec(text)?.[1]
  if (events !== undefined) return { kind: 'events', count: Number(events) }
  const [, how, time] = /^(quiet for|not within) (\S+)$/.exec(text) ?? []
  const ms = parseDuration(time)
  if (ms === undefined) return undefined
  return { kind: how === 'quiet for' ? 'quiet' : 'timeout', ms }
}

function broken(name: string, index: number, what: string): McpxError {
  return new McpxError('CORPUS_INVALID', `${name}.http, line ${index + 1}: the line ${what}.`)
}
