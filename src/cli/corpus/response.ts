// A recorded response taken apart. The parts together hold every byte of it.
import { createHttpReader, fieldOf } from './http-reader.ts'

export interface Response {
  /** Each head's lines, interim (1xx) ones first. Lines keep their line ends and are ISO 8859-1. */
  readonly heads: readonly (readonly string[])[]
  /** The body without chunk framing. */
  readonly body: Buffer
  readonly chunks: readonly Chunk[]
  readonly trailers: readonly string[]
  /** What is not HTTP/1.1, or a part that never became whole. */
  readonly rest: Buffer
}

export interface Chunk {
  /** The line before it, with its size. */
  readonly line: string
  /** Where it begins in the body. */
  readonly start: number
}

/** Takes apart the response to a request of that verb. */
export function readResponse(bytes: Buffer, verb: string): Response {
  const heads: (readonly string[])[] = []
  const pieces: Buffer[] = []
  const chunks: Chunk[] = []
  const trailers: string[] = []
  let length = 0
  let known = 0
  const reader = createHttpReader(
    { answering: verb },
    {
      onHead(lines) {
        heads.push(lines)
        known += lines.join('').length
      },
      onChunk(line) {
        // The line end of the chunk before belongs to the framing.
        known += line.length + (chunks.length > 0 ? 2 : 0)
        chunks.push({ line, start: length })
      },
      onBody(piece) {
        pieces.push(piece)
        length += piece.length
        known += piece.length
      },
      onTrailer(line) {
        trailers.push(line)
        known += line.length
      },
    },
  )
  reader.take(bytes)
  return { heads, body: Buffer.concat(pieces), chunks, trailers, rest: bytes.subarray(known) }
}

/** The lines of the head that is no interim one, or none. */
export function headOf({ heads }: Response): readonly string[] {
  return heads.at(-1) ?? []
}

export function contentOf(head: readonly string[]): 'json' | 'events' | 'other' {
  // What is compressed can only be compared as bytes.
  if (fieldOf(head, 'content-encoding') !== undefined) return 'other'
  const type = fieldOf(head, 'content-type')?.toLowerCase() ?? ''
  if (type.startsWith('text/event-stream')) return 'events'
  return /^application\/([\w.-]+\+)?json/.test(type) ? 'json' : 'other'
}
