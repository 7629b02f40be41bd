// What holds of every question and every answer: nothing is changed in place, what comes out is valid by the official schema of
// the revision that it is spelled for, and what it means is what was asked.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isObject } from '../../src/base/index.ts'
import type { JsonObject } from '../../src/base/index.ts'
import { REVISIONS } from '../../src/spec/index.ts'
import type { RevisionId } from '../../src/spec/index.ts'
import { lowerQuestion, lowerReply, raiseQuestion, raiseReply } from '../../src/wire/index.ts'
import type { Question } from '../../src/wire/index.ts'
import { definitionsOf, schemaOf, WITHOUT_SCHEMAS } from '../spec/published.ts'
import { forms, questions, replies, samplings } from './arbitrary-questions.ts'
import { frozen } from './frozen.ts'
import { validatorOf } from './validator.ts'

const IDS = REVISIONS.map(({ id }) => id)
const RUNS = { numRuns: 300 }
const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} }
const DEFINITIONS: Readonly<Record<string, string>> = {
  'elicitation/create': 'ElicitRequest',
  'sampling/createMessage': 'CreateMessageRequest',
  'roots/list': 'ListRootsRequest',
}

const lowered = (question: Question, to: RevisionId): Question | undefined =>
  lowerQuestion(frozen(question), { to, answerable: ALL, newId: () => 'new' })

test.each(IDS)('%s: spelling once more changes nothing', (id) => {
  fc.assert(
    fc.property(questions, (question) => {
      const once = lowered(question, id)
      if (once === undefined) return
      expect(lowered(once, id)).toBe(once)
      // What a server of the revision asks reaches a client of the same revision as it was.
      expect(lowered(raiseQuestion(once, id), id)).toEqual(once)
    }),
    RUNS,
  )
})

test.each(IDS)('%s: a form that can be put asks the same', (id) => {
  fc.assert(
    fc.property(forms, (question) => {
      const once = lowered(question, id)
      const back = once === undefined ? undefined : raiseQuestion(once, id)
      const hasLists = JSON.stringify(question).includes('"array"')
      const sayable = id >= '2025-11-25' || (id === '2025-06-18' && !hasLists)
      expect(back === undefined).toBe(!sayable)
      if (back !== undefined) expect(askedBy(back)).toEqual(askedBy(question))
    }),
    RUNS,
  )
})

test.each(IDS)('%s: a conversation that can be put says the same', (id) => {
  fc.assert(
    fc.property(samplings, (question) => {
      const once = lowered(question, id)
      const hasTools = /"tools"|"toolChoice"|"tool_use"|"tool_result"/.test(JSON.stringify(question))
      expect(once === undefined).toBe(id < '2025-11-25' && hasTools)
      if (once !== undefined) expect(saidIn(once)).toEqual(saidIn(question))
    }),
    RUNS,
  )
})

if (WITHOUT_SCHEMAS !== undefined) {
  test('published schemas', (context) => context.skip(WITHOUT_SCHEMAS))
}

const check = test.skipIf(WITHOUT_SCHEMAS !== undefined)

check.each(IDS)('%s: questions are valid, and so is their newest shape', (id) => {
  const validate = validatorOf(id)
  fc.assert(
    fc.property(questions, (question) => {
      const once = lowered(question, id)
      if (once === undefined) return
      const definition = DEFINITIONS[question.method] ?? ''
      expect(validate(definition, requestOf(once, id, definition))).toBe('')
      const back = lowered(raiseQuestion(once, id), '2026-07-28')
      expect(validateNewest(definition, plain(back))).toBe('')
    }),
    RUNS,
  )
})

check.each(IDS)('%s: answers are valid, and so is their newest shape', (id) => {
  const validate = validatorOf(id)
  fc.assert(
    fc.property(replies, ({ method, definition, result }) => {
      const once = lowerReply(method, frozen(result), id)
      if (once === undefined) return
      expect(validate(definition, once)).toBe('')
      expect(lowerReply(method, once, id)).toBe(once)
      const newest = lowerReply(method, raiseReply(method, once, id), '2026-07-28')
      expect(validateNewest(definition, newest)).toBe('')
    }),
    RUNS,
  )
})

const validateNewest = WITHOUT_SCHEMAS === undefined ? validatorOf('2026-07-28') : () => ''

/** A question as it stands on the wire; where a definition is that of a whole message, with what makes it one. */
function requestOf(question: Question, id: RevisionId, definition: string): unknown {
  const whole = definitionsOf(schemaOf(id))[definition]?.required?.includes('jsonrpc') === true
  return plain(whole ? { jsonrpc: '2.0', id: 1, ...question } : question)
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** What a form asks, whichever way it is spelled: everything but defaults, which not all revisions have. */
function askedBy({ params = {} }: Question): unknown {
  const { message, requestedSchema } = params
  const { properties = {}, required } = isObject(requestedSchema) ? requestedSchema : {}
  return {
    message,
    required,
    fields: Object.entries(properties as JsonObject).map(([name, field]) => [name, fieldOf(field)]),
  }
}

function fieldOf(field: unknown): unknown {
  const { oneOf, enum: values, enumNames: names, default: initial, ...rest } = isObject(field) ? field : {}
  const choices = Array.isArray(oneOf)
    ? oneOf.map((choice: JsonObject) => [choice['const'], choice['title']])
    : Array.isArray(values)
      ? values.map((value: unknown, at) => [value, Array.isArray(names) ? names[at] : undefined])
      : undefined
  return { ...rest, choices, initial: rest['type'] === 'boolean' ? initial : undefined }
}

/** Who says what in a conversation, block by block. Sound that a revision cannot carry is told of as text. */
function saidIn({ params = {} }: Question): unknown {
  const { messages, _meta: _, ...rest } = params
  const blocks = (messages as JsonObject[]).flatMap(({ role, content }) =>
    (Array.isArray(content) ? content : [content]).map((block: JsonObject) => [role, wordsOf(block)]),
  )
  return { ...rest, tools: toolNames(params['tools']), blocks }
}

function wordsOf(block: JsonObject): unknown {
  switch (block['type']) {
    case 'audio':
      return 'sound'
    case 'text':
      return String(block['text']).startsWith('[audio: ') ? 'sound' : block['text']
    case 'image':
      return block['data']
    default:
      return block['id'] ?? block['toolUseId']
  }
}

function toolNames(tools: unknown): unknown {
  return Array.isArray(tools) ? tools.map((tool: JsonObject) => tool['name']) : undefined
}
