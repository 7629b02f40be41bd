// From the newest shape to what a caller of an older revision can read. Which member goes where stands in spec/features.ts.
import { canonicalJson, isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { META, methodIn, newest } from '../spec/index.ts'
import type { MethodFacts, RevisionId } from '../spec/index.ts'
import { mapItems, mapMember, without, withoutMeta } from './copy.ts'
import { annotated, lowerBlock } from './lower-block.ts'
import { withObjectSchemas } from './lower-schema.ts'
import { spellingOf } from './spelling.ts'
import type { Spelling } from './spelling.ts'

/**
 * A complete result in the newest shape, spelled for the caller's revision. Returns the same object where nothing changes, and
 * never changes its input. Members that no revision knows stay.
 */
export function lower(method: string, result: JsonObject, to: RevisionId): JsonObject {
  const facts = methodIn(to, method)
  // The newest shape still holds what only older revisions have: members of listed tools.
  if (to === newest() && facts?.lists !== 'tools') return result
  const spelling = spellingOf(to)
  const lowered = facts === undefined ? result : lowerBody(result, facts, spelling)
  const cacheable = methodIn(newest(), method)?.cacheable === true
  const bare = without(lowered, cacheable ? spelling.absent.cacheableResult : spelling.absent.result)
  return withoutMeta(bare, spelling.absent.resultMeta)
}

/** The params of a notification in the newest shape, spelled for the receiver's revision. */
export function lowerNotification(
  method: string,
  params: JsonObject | undefined,
  to: RevisionId,
): JsonObject | undefined {
  if (params === undefined || to === newest()) return params
  const { absent } = spellingOf(to)
  const isProgress = methodIn(to, method) !== undefined && META.progressToken in params
  return withoutMeta(isProgress ? without(params, absent.progress) : params, absent.notificationMeta)
}

/** A server's capabilities as its clients of that revision may read them. */
export function lowerCapabilities(capabilities: JsonObject, to: RevisionId): JsonObject {
  return without(capabilities, spellingOf(to).absent.serverCapabilities)
}

/** What a server (or a client) says of itself, `serverInfo` or `clientInfo`, for a revision. */
export function lowerImplementation(info: JsonObject, to: RevisionId): JsonObject {
  return without(info, spellingOf(to).absent.implementation)
}

function lowerBody(result: JsonObject, facts: MethodFacts, spelling: Spelling): JsonObject {
  switch (facts.lists) {
    case 'tools':
      return mapItems(result, 'tools', (tool) => lowerTool(tool, spelling))
    case 'prompts':
      return mapItems(result, 'prompts', (prompt) => lowerPrompt(prompt, spelling))
    case 'resources':
    case 'resourceTemplates': {
      const absent = facts.lists === 'resources' ? spelling.absent.resource : spelling.absent.resourceTemplate
      return mapItems(result, facts.lists, (item) => annotated(without(item, absent), spelling))
    }
    case 'tasks':
      return result
    case undefined:
    default:
      return lowerContent(result, facts, spelling)
  }
}

function lowerContent(result: JsonObject, facts: MethodFacts, spelling: Spelling): JsonObject {
  const block = (value: JsonObject): JsonObject => lowerBlock(value, spelling)
  switch (facts.carries) {
    case 'content': {
      const structured = lowerStructured(result, spelling)
      return spelling.anyBlock ? mapItems(structured, 'content', block) : structured
    }
    case 'messages':
      if (!spelling.anyBlock) return result
      return mapItems(result, 'messages', (message) => mapMember(message, 'content', block))
    case 'contents':
      return mapItems(result, 'contents', (contents) => without(contents, spelling.absent.contents))
    case undefined:
    default:
      return result
  }
}

/** A tool, as a server lists it or as it is offered to a model. */
export function lowerTool(tool: JsonObject, spelling: Spelling): JsonObject {
  const known = without(tool, spelling.absent.tool)
  return spelling.anySchema ? known : withObjectSchemas(known)
}

function lowerPrompt(prompt: JsonObject, spelling: Spelling): JsonObject {
  const { absent } = spelling
  return mapItems(without(prompt, absent.prompt), 'arguments', (argument) =>
    without(argument, absent.promptArgument),
  )
}

/** Structured content that the revision cannot carry moves into a text block, unless a text block says the same already. */
export function lowerStructured(result: JsonObject, spelling: Spelling): JsonObject {
  if (spelling.structured === 'any' || !Object.hasOwn(result, 'structuredContent')) return result
  const { structuredContent: value, ...rest } = result
  if (value === undefined) return rest
  if (spelling.structured === 'objects' && isObject(value)) return result
  const content: unknown = rest['content']
  const blocks: readonly unknown[] = Array.isArray(content) ? content : []
  const text = JSON.stringify(value)
  if (blocks.some((block) => saysSame(block, value, text))) return rest
  return { ...rest, content: [...blocks, { type: 'text', text }] }
}

function saysSame(block: unknown, value: unknown, json: string): boolean {
  if (!isObject(block) || block['type'] !== 'text') return false
  const text = block['text']
  if (typeof text !== 'string') return false
  if (text === json || text === value) return true
  // Equal values of another layout: parsed only where the first character makes it likely.
  const trimmed = text.trimStart()
  if (trimmed[0] !== json[0]) return false
  try {
    return canonicalJson(JSON.parse(trimmed)) === canonicalJson(value)
  } catch {
    return false
  }
}
