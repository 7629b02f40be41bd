// Where the values of a JSON text stand in it. Texts are ISO 8859-1 of UTF-8 bytes, so that places are bytes.

export interface JsonPlace {
  /** Member names and indexes from the root. */
  readonly path: readonly string[]
  readonly start: number
  readonly end: number
}

/** Every value of a text with its place, outer ones before inner ones; undefined for what is not JSON. */
export function placesIn(text: string): JsonPlace[] | undefined {
  if (parseJson(text) === undefined) return undefined
  const places: JsonPlace[] = []
  let at = 0

  // The text is known to be JSON: nothing here needs to fail.
  function skip(pattern: RegExp): void {
    pattern.lastIndex = at
    at += pattern.exec(text)?.[0].length ?? 0
  }

  function value(path: readonly string[]): void {
    skip(SPACE)
    const index = places.push({ path, start: at, end: at }) - 1
    const opened = text[at]
    if (opened === '{') members('}', () => [...path, key()])
    else if (opened === '[') {
      let count = 0
      members(']', () => [...path, String(count++)])
    } else skip(opened === '"' ? STRING : SCALAR)
    places[index] = { path, start: places[index]?.start ?? at, end: at }
  }

  function members(close: string, next: () => readonly string[]): void {
    at++
    skip(SPACE)
    while (text[at] !== close) {
      value(next())
      skip(SPACE_OR_COMMA)
    }
    at++
  }

  function key(): string {
    const start = at
    skip(STRING)
    const name = String(parseJson(text.slice(start, at)))
    skip(SPACE_OR_COLON)
    return name
  }

  value([])
  return places
}

/** The value of a text, its strings in Unicode; undefined for what is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'latin1').toString('utf8'))
  } catch {
    return undefined
  }
}

/** `/result/tools/0` (RFC 6901); the empty path is the whole text. */
export function pointer(path: readonly string[]): string {
  return path.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

const SPACE = /[ \t\r\n]*/y
const SPACE_OR_COMMA = /[ \t\r\n,]*/y
const SPACE_OR_COLON = /[ \t\r\n:]*/y
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y
const SCALAR = /[^ \t\r\n,\]}]*/y
