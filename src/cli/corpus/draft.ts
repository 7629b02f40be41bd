// Requests before they are sent: what the standard set and a file of requests are made of.
import type { Capture } from './exchange-file.ts'
import { referencesIn, templateOf } from './template.ts'
import type { Segment, Template } from './template.ts'

export interface Draft {
  readonly name: string
  readonly verb: string
  /** `{{path}}` is that of the server's URL. */
  readonly path: string
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** Segments stand for a body that is no text, or large. */
  readonly body?: string | readonly Segment[]
  readonly captures?: readonly Capture[]
  readonly events?: number
}

/** The request as it is stored. With a body it has a Content-Length, behind the draft's own fields. */
export function requestOf(draft: Draft): Template {
  const { body } = draft
  const segments = typeof body === 'string' ? templateOf(body) : (body ?? [])
  const fields = [...draft.fields]
  if (body !== undefined) {
    const hasReferences = typeof body === 'string' && referencesIn(body).length > 0
    fields.push(['Content-Length', hasReferences ? '{{content-length}}' : String(lengthOf(segments))])
  }
  const head = [`${draft.verb} ${draft.path} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)]
  // Lines of a head are not parted, however long.
  return [...[...head, ''].map((text) => ({ text, end: '\r\n' }) as const), ...segments]
}

/** The fields that every draft begins with, and those that a JSON body has. */
export const HOST = ['Host', '{{host}}'] as const
export const JSON_FIELDS = [
  ['Content-Type', 'application/json'],
  ['Accept', 'application/json, text/event-stream'],
] as const

/** The name under which a header that was given on the command line is stored instead of its value. */
export function headerReference(name: string): string {
  return `header-${name.toLowerCase()}`
}

function lengthOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => {
    if ('bytes' in segment) return sum + segment.bytes.length
    if ('repeated' in segment) return sum + Buffer.byteLength(segment.repeated) * segment.times
    return sum + Buffer.byteLength(segment.text) + segment.end.length
  }, 0)
}
