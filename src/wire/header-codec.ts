// Values of `Mcp-Name` and `Mcp-Param-*`, which hold any text in an ASCII header.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding

export type DecodedHeader =
  { readonly ok: true; readonly value: string } | { readonly ok: false; readonly reason: string }

const PREFIX = '=?base64?'
const SUFFIX = '?='
/** RFC 9110, 5.5: visible ASCII, space and tab. */
const HEADER_TEXT = /^[\t\x20-\x7e]*$/
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

/** The text as a header value: itself where a header can hold it, else the base64 of its UTF-8 between the sentinels. */
export function encodeHeaderValue(text: string): string {
  if (PLAIN.test(text) && !isSentinel(text)) return text
  return `${PREFIX}${btoa(latin1(new TextEncoder().encode(text)))}${SUFFIX}`
}

/** The text that a header value stands for. Refused: bytes that no header may have, base64 that is not canonical, bad UTF-8. */
export function decodeHeaderValue(text: string): DecodedHeader {
  if (!HEADER_TEXT.test(text)) return { ok: false, reason: 'it has characters that are not visible ASCII' }
  if (!isSentinel(text)) return { ok: true, value: text }
  // `=?base64?=` has both sentinels only as long as they may share a character.
  if (text.length < PREFIX.length + SUFFIX.length) return { ok: false, reason: 'it is cut short' }
  const bytes = bytesOf(text.slice(PREFIX.length, -SUFFIX.length))
  if (bytes === undefined) return { ok: false, reason: 'it is not canonical base64' }
  try {
    return { ok: true, value: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { ok: false, reason: 'it is not UTF-8' }
  }
}

function isSentinel(text: string): boolean {
  return text.startsWith(PREFIX) && text.endsWith(SUFFIX)
}

/** Undefined where the bytes would be spelled otherwise: `atob` also takes white space, missing padding and stray bits. */
function bytesOf(base64: string): Uint8Array | undefined {
  try {
    const decoded = atob(base64)
    if (btoa(decoded) !== base64) return undefined
    return Uint8Array.from(decoded, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function latin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}
