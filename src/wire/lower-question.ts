// Questions and their answers, spelled for those who get them. Which revision has what stands in spec/features.ts.
import { isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { canAsk, fieldsAbsent, hasFeature, METHOD } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { tellsOfTools, usesTools } from './client-capabilities.ts'
import { mapItems, mapMember, without } from './copy.ts'
import { lowerBlock } from './lower-block.ts'
import { lowerForm } from './lower-form.ts'
import { lowerStructured, lowerTool } from './lower.ts'
import type { Question } from './question.ts'
import { spellingOf } from './spelling.ts'
import type { Spelling } from './spelling.ts'

/** Who a question is spelled for. */
export interface QuestionTarget {
  readonly to: RevisionId
  /** What the client can be asked, as `answerable` gives it. */
  readonly answerable: JsonObject
  /** A new name for an elicitation, where the revision demands one and the server gave none. */
  readonly newId: () => string
}

/**
 * A question in the newest shape, spelled for a client. The same object where nothing changes; undefined where the client's
 * revision cannot say it. Whether the client declared what it needs is `whyNot`'s to say.
 */
export function lowerQuestion(question: Question, target: QuestionTarget): Question | undefined {
  const { method, params } = question
  if (!canAsk(target.to, method)) return undefined
  if (params === undefined) return question
  const lowered = lowerParams(method, params, target)
  if (lowered === undefined) return undefined
  return lowered === params ? question : { method, params: lowered }
}

/**
 * An answer in the newest shape, spelled for the server of that revision that asked. The same object where nothing changes;
 * undefined where the revision cannot say it.
 */
export function lowerReply(method: string, result: JsonObject, to: RevisionId): JsonObject | undefined {
  if (!canAsk(to, method)) return undefined
  const spelling = spellingOf(to)
  const bare = without(result, spelling.absent.result)
  if (method === METHOD.sample) return lowerSampled(bare, spelling)
  const reply = without(bare, spelling.absent.reply)
  if (method === METHOD.rootsList) {
    return mapItems(reply, 'roots', (root) => without(root, spelling.absent.root))
  }
  return hasFeature(to, 'multiSelect') || !holdsArray(reply['content']) ? reply : undefined
}

function lowerParams(method: string, params: JsonObject, target: QuestionTarget): JsonObject | undefined {
  const bare = without(params, fieldsAbsent(target.to, 'question'))
  switch (method) {
    case METHOD.elicit:
      return lowerElicitation(bare, params['mode'], target)
    case METHOD.sample:
      return lowerSampling(bare, target)
    default:
      return bare
  }
}

function lowerElicitation(
  params: JsonObject,
  mode: unknown,
  { to, newId }: QuestionTarget,
): JsonObject | undefined {
  if (mode === 'url') {
    if (!hasFeature(to, 'urlElicitation')) return undefined
    const named = typeof params['elicitationId'] === 'string' || !hasFeature(to, 'elicitationId')
    return named ? params : { ...params, elicitationId: newId() }
  }
  if (mode !== undefined && mode !== 'form' && !hasFeature(to, 'elicitationMode')) return undefined
  const { requestedSchema: schema } = params
  if (!isObject(schema)) return params
  const lowered = lowerForm(schema, to)
  if (lowered === undefined) return undefined
  return lowered === schema ? params : { ...params, requestedSchema: lowered }
}

function lowerSampling(params: JsonObject, { to, answerable }: QuestionTarget): JsonObject | undefined {
  if (!hasFeature(to, 'samplingTools') && usesTools(params)) return undefined
  const spelling = spellingOf(to)
  const { includeContext = 'none' } = params
  const { sampling } = answerable
  // The default is no context, and a client that did not declare it is not to be asked for any.
  const included = includeContext === 'none' || (isObject(sampling) && isObject(sampling['context']))
  const fitting = included ? params : without(params, ['includeContext'])
  const offering = mapItems(fitting, 'tools', (tool) => lowerTool(tool, spelling))
  if (hasFeature(to, 'samplingBlocks')) {
    return mapItems(offering, 'messages', (message) => lowerMessage(message, spelling))
  }
  const messages: unknown = offering['messages']
  if (!Array.isArray(messages)) return offering
  const single = messages.flatMap((message: unknown) =>
    isObject(message) ? singleBlocks(message).map((one) => lowerMessage(one, spelling)) : [message],
  )
  const same = single.length === messages.length && single.every((message, at) => message === messages[at])
  return same ? offering : { ...offering, messages: single }
}

function lowerSampled(result: JsonObject, spelling: Spelling): JsonObject | undefined {
  // The `_meta` of a result has been there from the start, unlike that of a message.
  if (hasFeature(spelling.revision, 'samplingBlocks')) return withBlocks(result, spelling)
  if (tellsOfTools(result)) return undefined
  const [only, ...others] = singleBlocks(result)
  return only === undefined || others.length > 0 ? undefined : withBlocks(only, spelling)
}

function lowerMessage(message: JsonObject, spelling: Spelling): JsonObject {
  return withBlocks(without(message, spelling.absent.samplingMessage), spelling)
}

/** A message of several blocks as one message for each: the same role says the same in the same order. */
function singleBlocks(message: JsonObject): JsonObject[] {
  const { content } = message
  return Array.isArray(content)
    ? content.map((block: unknown) => ({ ...message, content: block }))
    : [message]
}

function withBlocks(message: JsonObject, spelling: Spelling): JsonObject {
  const block = (value: JsonObject): JsonObject => lowerSampledBlock(value, spelling)
  return mapMember(mapItems(message, 'content', block), 'content', block)
}

function lowerSampledBlock(block: JsonObject, spelling: Spelling): JsonObject {
  if (block['type'] !== 'tool_result') return lowerBlock(block, spelling)
  return mapItems(lowerStructured(block, spelling), 'content', (inner) => lowerBlock(inner, spelling))
}

function holdsArray(content: unknown): boolean {
  return isObject(content) && Object.values(content).some(Array.isArray)
}
