// Questions and answers in the newest shape, valid by its schema, with every spelling in them now and then.
import * as fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { JsonObject } from '../../src/base/index.ts'
import type { Question } from '../../src/wire/index.ts'

type Members = Readonly<Record<string, Arbitrary<unknown>>>

function shaped(required: Members, optional: Members = {}): Arbitrary<JsonObject> {
  const keys = Object.keys(required)
  return fc.record({ ...required, ...optional }, { requiredKeys: keys }) as Arbitrary<JsonObject>
}

const text = fc.string({ maxLength: 6 })
const name = fc.stringMatching(/^[a-z]{1,5}$/)
const constant = <T>(value: T): Arbitrary<T> => fc.constant(value)
const labels = { title: text, description: text }
const meta = { _meta: fc.dictionary(constant('example.test/a'), fc.nat(), { maxKeys: 1 }) }

const values = fc.uniqueArray(name, { minLength: 1, maxLength: 3 })
const titled = values.map((all) => all.map((value) => ({ const: value, title: value.toUpperCase() })))
const field = fc.oneof(
  shaped(
    { type: constant('string') },
    { ...labels, minLength: fc.nat(5), maxLength: fc.nat(9), default: text },
  ),
  shaped({ type: constant('string') }, { format: fc.constantFrom('email', 'uri', 'date', 'date-time') }),
  // The published schemas say `integer` of these bounds, whatever the type.
  shaped(
    { type: fc.constantFrom('number', 'integer') },
    { ...labels, minimum: fc.nat(), maximum: fc.nat(), default: fc.nat() },
  ),
  shaped({ type: constant('boolean') }, { ...labels, default: fc.boolean() }),
  shaped({ type: constant('string'), enum: values }, { ...labels, default: name }),
  shaped({ type: constant('string'), enum: constant(['a', 'b']), enumNames: constant(['A', 'B']) }, labels),
  shaped({ type: constant('string'), oneOf: titled }, { ...labels, default: name }),
)
const choices = fc.oneof(shaped({ type: constant('string'), enum: values }), shaped({ anyOf: titled }))
const list = shaped(
  { type: constant('array'), items: choices },
  { ...labels, minItems: fc.nat(2), default: values },
)
const fields = fc.oneof(
  { weight: 4, arbitrary: fc.dictionary(name, field, { maxKeys: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(name, fc.oneof(field, list), { maxKeys: 4 }) },
)
const requestedSchema = shaped(
  { type: constant('object'), properties: fields },
  { required: fc.array(name, { maxLength: 2 }), $schema: constant('https://json-schema.org/x') },
)

const annotated = { annotations: shaped({}, { priority: constant(1), lastModified: constant('2025-01-12') }) }
const base64 = fc.constantFrom('', 'AAEC')
const media = (type: string, mimeType: string): Arbitrary<JsonObject> =>
  shaped({ type: constant(type), data: base64, mimeType: constant(mimeType) }, { ...annotated, ...meta })
const plain = fc.oneof(
  shaped({ type: constant('text'), text }, { ...annotated, ...meta }),
  media('image', 'image/png'),
  media('audio', 'audio/wav'),
)
const used = shaped({ type: constant('tool_use'), id: name, name, input: constant({}) }, meta)
const came = shaped(
  { type: constant('tool_result'), toolUseId: name, content: fc.array(plain, { maxLength: 2 }) },
  { isError: fc.boolean(), structuredContent: fc.constantFrom<unknown>({ a: 1 }, [1], 'text') },
)
const block = fc.oneof(
  { weight: 20, arbitrary: plain },
  { weight: 1, arbitrary: used },
  { weight: 1, arbitrary: came },
)
const role = fc.constantFrom('user', 'assistant')
const content = fc.oneof(block, fc.array(block, { maxLength: 3 }))
const message = shaped({ role, content }, meta)
const tool = shaped(
  { name, inputSchema: constant({ type: 'object' }) },
  { description: text, outputSchema: fc.constantFrom({ type: 'object' }, { type: 'array' }) },
)
const sampling = { messages: fc.array(message, { maxLength: 3 }), maxTokens: fc.nat() }
const samplingOptions = {
  systemPrompt: text,
  temperature: constant(1),
  stopSequences: fc.array(text, { maxLength: 2 }),
  includeContext: fc.constantFrom('none', 'thisServer', 'allServers'),
}

const asking = (method: string, params: Arbitrary<JsonObject>): Arbitrary<Question> =>
  params.map((given) => ({ method, params: given }))

export const forms = asking(
  'elicitation/create',
  shaped({ message: text, requestedSchema }, { mode: constant('form') }),
)

export const samplings = asking(
  'sampling/createMessage',
  fc.oneof(
    { weight: 3, arbitrary: shaped(sampling, samplingOptions) },
    {
      weight: 1,
      arbitrary: shaped(sampling, { tools: fc.array(tool), toolChoice: constant({ mode: 'auto' }) }),
    },
  ),
)

export const questions = fc.oneof(
  forms,
  samplings,
  asking(
    'elicitation/create',
    shaped(
      { mode: constant('url'), message: text, url: constant('https://example.test/') },
      { elicitationId: name },
    ),
  ),
  constant<Question>({ method: 'roots/list', params: undefined }),
)

export interface Reply {
  readonly method: string
  readonly definition: string
  readonly result: JsonObject
}

const answering = (method: string, definition: string, result: Arbitrary<JsonObject>): Arbitrary<Reply> =>
  result.map((given) => ({ method, definition, result: given }))

export const replies = fc.oneof(
  answering(
    'elicitation/create',
    'ElicitResult',
    shaped(
      { action: fc.constantFrom('accept', 'decline', 'cancel') },
      { content: fc.dictionary(name, fc.oneof(text, fc.nat(), fc.boolean()), { maxKeys: 3 }), ...meta },
    ),
  ),
  answering(
    'sampling/createMessage',
    'CreateMessageResult',
    shaped({ role, content, model: name }, { stopReason: fc.constantFrom('endTurn', 'other') }),
  ),
  answering(
    'roots/list',
    'ListRootsResult',
    shaped(
      { roots: fc.array(shaped({ uri: constant('file:///a') }, { name, ...meta }), { maxLength: 3 }) },
      meta,
    ),
  ),
)
