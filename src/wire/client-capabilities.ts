// What a client can be asked, and what it would have to declare.
import { clip, isObject } from '../base/index.ts'
import type { JsonObject } from '../base/index.ts'
import { canAsk, hasFeature, METHOD, TASKS_EXTENSION } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import { isQuestion } from './question.ts'
import type { Question } from './question.ts'

/** Everything that any client can be asked. */
export const EVERY_ANSWER: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
}

/**
 * What a client of that revision can be asked, in the newest shape: `elicitation` by `form` or `url`, `sampling` with `tools`
 * or `context`, `roots`. The extensions that it declared stand beside that, but for tasks, which are carried apart; whatever
 * else it declared is left out.
 */
export function answerable(capabilities: JsonObject, from: RevisionId): JsonObject {
  const { elicitation, sampling, roots, extensions } = capabilities
  const modes = isObject(elicitation) && canAsk(from, METHOD.elicit) ? modesOf(elicitation, from) : {}
  return {
    ...(Object.keys(modes).length > 0 && { elicitation: modes }),
    ...(isObject(sampling) && { sampling: samplingOf(sampling, from) }),
    ...(isObject(roots) && { roots: {} }),
    ...(isObject(extensions) && hasFeature(from, 'extensions') && carriedExtensions(extensions)),
  }
}

/** The extensions that mcpx carries as they are, as a capability; nothing where there are none. */
export function carriedExtensions(declared: JsonObject): { readonly extensions?: JsonObject } {
  const { [TASKS_EXTENSION]: _, ...extensions } = declared
  return Object.keys(extensions).length > 0 ? { extensions } : {}
}

/** Why a client that can be asked `capabilities` cannot be put the question, in plain words; undefined where it can. */
export function whyNot(question: Question, capabilities: JsonObject): string | undefined {
  if (!isQuestion(question.method)) return `no client can be asked "${clip(question.method)}"`
  for (const [name, parts] of Object.entries(capabilityFor(question))) {
    const declared = capabilities[name]
    if (!isObject(declared)) return `the client does not answer ${name}`
    const lacking = Object.keys(isObject(parts) ? parts : {}).find((part) => !Object.hasOwn(declared, part))
    if (lacking !== undefined)
      return `the client does not answer ${name} ${WITH.get(lacking) ?? `by ${lacking}`}`
  }
  return undefined
}

/** The capability that a question needs, as `requiredCapabilities` names it; empty where nothing can be asked like this. */
export function capabilityFor({ method, params = {} }: Question): JsonObject {
  switch (method) {
    case METHOD.elicit: {
      const { mode = 'form' } = params
      return { elicitation: { [typeof mode === 'string' ? clip(mode) : 'form']: {} } }
    }
    case METHOD.sample:
      return { sampling: usesTools(params) ? { tools: {} } : {} }
    case METHOD.rootsList:
      return { roots: {} }
    default:
      return {}
  }
}

/** Whether the params of a sampling request speak of tools: offer them, or tell of their use. */
export function usesTools(params: JsonObject): boolean {
  const { tools, toolChoice, messages } = params
  if (tools !== undefined || toolChoice !== undefined) return true
  return Array.isArray(messages) && messages.some((message) => isObject(message) && tellsOfTools(message))
}

/** Whether the content of a message, one block or several, holds the use of a tool or what came of it. */
export function tellsOfTools(message: JsonObject): boolean {
  const { content } = message
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  return blocks.some((block) => isObject(block) && OF_TOOLS.has(block['type']))
}

const OF_TOOLS: ReadonlySet<unknown> = new Set(['tool_use', 'tool_result'])
const WITH: ReadonlyMap<string, string> = new Map([
  ['form', 'by form'],
  ['url', 'by URL'],
  ['tools', 'with tools'],
])

/** A client that names no mode answers forms (2025-11-25, client/elicitation, "Capabilities"). */
function modesOf(elicitation: JsonObject, from: RevisionId): JsonObject {
  const { form, url } = elicitation
  return {
    ...((isObject(form) || !isObject(url)) && { form: {} }),
    ...(isObject(url) && hasFeature(from, 'urlElicitation') && { url: {} }),
  }
}

/** Where nothing is to be declared for it, servers may ask any client to include context. */
function samplingOf(sampling: JsonObject, from: RevisionId): JsonObject {
  const { tools, context } = sampling
  return {
    ...(isObject(tools) && hasFeature(from, 'samplingTools') && { tools: {} }),
    ...((isObject(context) || !hasFeature(from, 'samplingContext')) && { context: {} }),
  }
}
