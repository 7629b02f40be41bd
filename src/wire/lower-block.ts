import type { JsonObject } from '../base/index.ts'
import { mapMember, without } from './copy.ts'
import type { Spelling } from './spelling.ts'

/** A content block for a revision: a type that the revision lacks becomes one that it has. Unknown types stay as they are. */
export function lowerBlock(block: JsonObject, spelling: Spelling): JsonObject {
  if (!spelling.anyBlock) return block
  return without(annotated(retyped(block, spelling), spelling), spelling.absent.block)
}

/** What carries `annotations` of the content kind (audience, priority, lastModified), for a revision. */
export function annotated(object: JsonObject, spelling: Spelling): JsonObject {
  return mapMember(object, 'annotations', (annotations) => without(annotations, spelling.absent.annotations))
}

function retyped(block: JsonObject, spelling: Spelling): JsonObject {
  switch (block['type']) {
    case 'audio':
      return spelling.audio ? block : describedAudio(block)
    case 'resource_link':
      return spelling.resourceLinks ? without(block, spelling.absent.resourceLink) : embeddedLink(block)
    case 'resource':
      return mapMember(block, 'resource', (contents) => without(contents, spelling.absent.contents))
    default:
      return block
  }
}

function describedAudio(block: JsonObject): JsonObject {
  const { data, mimeType, ...rest } = block
  const size = typeof data === 'string' ? `, ${bytesOfBase64(data)} bytes` : ''
  const kind = typeof mimeType === 'string' ? mimeType : 'unknown type'
  return { ...rest, type: 'text', text: `[audio: ${kind}${size}]` }
}

/** The resource's own text is not at hand: the text says what the link says, and the URI can still be read. */
function embeddedLink(block: JsonObject): JsonObject {
  const { uri, name, title, description, mimeType, size, icons: _, ...rest } = block
  if (typeof uri !== 'string') return block
  const label = [title, name].find((text) => typeof text === 'string' && text !== '')
  const details = [
    typeof mimeType === 'string' ? mimeType : undefined,
    typeof size === 'number' ? `${size} bytes` : undefined,
  ].filter((detail) => detail !== undefined)
  const head = `[resource: ${typeof label === 'string' ? label : uri}${details.map((detail) => `, ${detail}`).join('')}]`
  const lines = typeof description === 'string' ? [head, uri, description] : [head, uri]
  return { ...rest, type: 'resource', resource: { uri, mimeType: 'text/plain', text: lines.join('\n') } }
}

function bytesOfBase64(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor((data.length * 3) / 4) - padding
}
