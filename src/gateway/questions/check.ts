// Whether what came back answers the question, before it is sent to the server that asked.
import { isObject } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { METHOD } from '../../spec/index.ts'
import type { Question } from '../../wire/index.ts'
import { formFaults } from './form-faults.ts'

/** At most so many faults are told of: more help nobody. */
const MAX_FAULTS = 20

/**
 * What is wrong with an answer, both in the newest shape, as short sentences that begin with a path; none where it can be sent.
 * Paths lead through the content of a form, and else through the answer. Never throws, and repeats no long value.
 */
export function replyFaults(question: Question, result: unknown): readonly string[] {
  if (!isObject(result)) return ['the answer must be an object']
  return faultsOf(question, result).slice(0, MAX_FAULTS)
}

const ACTIONS: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel'])
const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant'])

function faultsOf(question: Question, result: JsonObject): string[] {
  switch (question.method) {
    case METHOD.elicit:
      return elicitationFaults(result, question)
    case METHOD.sample:
      return samplingFaults(result)
    case METHOD.rootsList:
      return rootsFaults(result)
    default:
      return []
  }
}

function elicitationFaults(result: JsonObject, { params = {} }: Question): string[] {
  const { action, content = {} } = result
  if (!ACTIONS.has(action)) return ['/action must be accept, decline or cancel']
  const { mode = 'form', requestedSchema } = params
  if (action !== 'accept' || mode !== 'form') return []
  // A form without required fields may be accepted as it is, with no content at all.
  return isObject(content) ? formFaults(requestedSchema, content) : ['/content must be an object']
}

function samplingFaults({ role, model, content }: JsonObject): string[] {
  const faults: string[] = []
  if (!ROLES.has(role)) faults.push('/role must be user or assistant')
  if (typeof model !== 'string') faults.push('/model must be text')
  if (!Array.isArray(content)) {
    if (!isBlock(content)) faults.push('/content must be a content block with a type, or a list of them')
    return faults
  }
  if (content.length === 0) faults.push('/content must have at least 1 item')
  return [
    ...faults,
    ...itemFaults(content, isBlock, (at) => `/content/${at} must be a content block with a type`),
  ]
}

function rootsFaults({ roots }: JsonObject): string[] {
  if (!Array.isArray(roots)) return ['/roots must be a list']
  return itemFaults(roots, isRoot, (at) => `/roots/${at} must be an object with a uri`)
}

function itemFaults(
  items: readonly unknown[],
  fits: (item: unknown) => boolean,
  fault: (at: number) => string,
): string[] {
  return items.flatMap((item, at) => (fits(item) ? [] : [fault(at)]))
}

function isBlock(value: unknown): boolean {
  return isObject(value) && typeof value['type'] === 'string'
}

function isRoot(value: unknown): boolean {
  return isObject(value) && typeof value['uri'] === 'string'
}
