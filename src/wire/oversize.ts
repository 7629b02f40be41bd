// Whose answer a message was that could not be kept: read from its first and last bytes.
import { isId } from './message.ts'
import type { Id } from './message.ts'
import type { OversizeLine } from './ndjson.ts'

const STRING = /"(?:[^"\\]|\\.)*"/y
const SCALAR = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*(?=[\s,}\]])|true|false|null/y
const SPACE = /\s*/y
const BRACKET = /[{}[\]]/
/** The last members of an object whose values are scalars: its closing brace ends the line, so they are its own. */
const LAST_ID =
  /[,{]\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

/**
 * The id of the request that a dropped line answered, undefined where the line was no response or its id stands in the
 * middle, out of sight.
 */
export function answeredBy(line: OversizeLine): Id | undefined {
  const members = leadingMembers(line.head)
  if (members.cut !== 'result' && members.cut !== 'error') return undefined
  return members.id ?? parseId(LAST_ID.exec(line.tail)?.[1])
}

/** Walks the top level of a JSON object up to the member that the text does not hold whole. */
function leadingMembers(text: string): { id: Id | undefined; cut: string | undefined } {
  let at = 0
  let id: Id | undefined
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    at += found?.length ?? 0
    return found
  }
  const punctuation = (mark: string): boolean => {
    take(SPACE)
    const there = text[at] === mark
    if (there) at += 1
    take(SPACE)
    return there
  }
  let open = punctuation('{')
  while (open) {
    const key = take(STRING)
    if (key === undefined || key === '"method"' || !punctuation(':')) break
    const value = take(SCALAR)
    if (key === '"id"') id = parseId(value)
    if (value === undefined) {
      const end = endOfNested(text, at)
      if (end === undefined) return { id, cut: key.slice(1, -1) }
      at = end
    }
    open = punctuation(',')
  }
  return { id, cut: undefined }
}

function endOfNested(text: string, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') {
      STRING.lastIndex = at
      const found = STRING.exec(text)?.[0]
      if (found === undefined) return undefined
      at += found.length - 1
    } else if (BRACKET.test(character)) {
      depth += character === '{' || character === '[' ? 1 : -1
      if (depth === 0) return at + 1
    }
  }
  return undefined
}

function parseId(json: string | undefined): Id | undefined {
  if (json === undefined) return undefined
  try {
    const value: unknown = JSON.parse(json)
    return isId(value) ? value : undefined
  } catch {
    return undefined
  }
}
