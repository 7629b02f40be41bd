// Options that record and replay have in common.
import { McpxError } from '../../base/index.ts'
import { parseDuration } from '../../config/index.ts'

/** For an option that may be repeated. */
export function collect(value: string, all: readonly string[]): string[] {
  return [...all, value]
}

/** Throws USAGE, as all functions here do for what cannot be understood. */
export function urlOf(text: string): URL {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw new McpxError('USAGE', `${text} is no URL of HTTP.`)
  // A corpus has the URL in it, and a corpus is for everybody's eyes.
  if (url.username !== '' || url.password !== '') {
    throw new McpxError(
      'USAGE',
      'The URL has credentials in it: give them with --header, whose values are not stored.',
    )
  }
  return url
}

export function headersOf(texts: readonly string[]): (readonly [name: string, value: string])[] {
  return texts.map((text) => {
    const colon = text.indexOf(':')
    const [name, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
    if (colon < 1) throw new McpxError('USAGE', `--header ${text} has no colon: write "Name: value".`)
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[\r\n]/.test(value)) {
      throw new McpxError('USAGE', `--header ${name} is no header.`)
    }
    return [name, value] as const
  })
}

/** Milliseconds. */
export function durationOf(option: string, text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0)
    throw new McpxError('USAGE', `${option} ${text} is no duration such as 30s.`)
  return ms
}

export function countOf(option: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new McpxError('USAGE', `${option} ${text} is no count.`)
}
