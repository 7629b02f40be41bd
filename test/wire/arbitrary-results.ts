// Results in the newest shape, valid by its schema, with every feature in them now and then.
import * as fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { JsonObject } from '../../src/base/index.ts'

export interface Sample {
  readonly method: string
  readonly result: JsonObject
}

type Members = Readonly<Record<string, Arbitrary<unknown>>>

/** An object with all of the required members and any of the others. */
function shaped(required: Members, optional: Members = {}): Arbitrary<JsonObject> {
  const keys = Object.keys(required)
  return fc.record({ ...required, ...optional }, { requiredKeys: keys }) as Arbitrary<JsonObject>
}

const text = fc.string({ maxLength: 8 })
const name = fc.stringMatching(/^[a-z]{1,6}$/)
const uri = name.map((path) => `file:///${path}`)
const base64 = fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const json = fc.jsonValue({ maxDepth: 2 }) as Arbitrary<unknown>
const meta = fc.dictionary(fc.constantFrom('a', 'example.test/b'), json, { maxKeys: 2 })
const vendor = { 'x-vendor': json }
const role = fc.constantFrom('user', 'assistant')
const icons = fc.array(shaped({ src: uri }, { mimeType: fc.constant('image/png') }), { maxLength: 2 })
const annotations = shaped(
  {},
  {
    audience: fc.array(role, { maxLength: 2 }),
    priority: fc.constantFrom(0, 0.5, 1),
    lastModified: fc.constant('2025-01-12T15:00:58Z'),
  },
)

const listed = { title: text, icons, _meta: meta, ...vendor }
const describing = { description: text, annotations, mimeType: fc.constant('text/plain'), ...listed }
const resource = shaped({ uri, name }, { ...describing, size: fc.nat() })
const template = shaped({ uriTemplate: uri, name }, describing)
const contents = fc.oneof(
  shaped({ uri, text }, { mimeType: fc.constant('text/plain'), _meta: meta, ...vendor }),
  shaped({ uri, blob: base64 }, { _meta: meta, ...vendor }),
)

const onBlock = { annotations, _meta: meta, ...vendor }
const media = { data: base64, mimeType: fc.constantFrom('image/png', 'audio/wav') }
const block = fc.oneof(
  shaped({ type: fc.constant('text'), text }, onBlock),
  shaped({ type: fc.constant('image'), ...media }, onBlock),
  shaped({ type: fc.constant('audio'), ...media }, onBlock),
  shaped({ type: fc.constant('resource'), resource: contents }, onBlock),
  shaped({ type: fc.constant('resource_link'), uri, name }, { ...describing, size: fc.nat() }),
)

const property = fc.oneof(fc.boolean(), fc.constant({ type: 'string' }), fc.constant({}))
const properties = fc.dictionary(name, property, { maxKeys: 2 })
const inputSchema = shaped(
  { type: fc.constant('object') },
  { properties, $schema: fc.constant('https://json-schema.org/x') },
)
const outputSchema = fc.oneof(
  inputSchema,
  shaped({ properties }),
  fc.constant({ type: 'array', items: {} }),
  fc.constant({ anyOf: [{ type: 'object' }, { type: 'object', properties: {} }] }),
  fc.constant({}),
)
const tool = shaped(
  { name, inputSchema },
  {
    description: text,
    outputSchema,
    annotations: shaped({}, { title: text, readOnlyHint: fc.boolean() }),
    ...listed,
  },
)
const argument = shaped({ name }, { title: text, description: text, required: fc.boolean(), ...vendor })
const prompt = shaped(
  { name },
  { description: text, arguments: fc.array(argument, { maxLength: 2 }), ...listed },
)

const serverInfo = shaped({ name, version: text }, { title: text, icons, websiteUrl: uri, description: text })
const resultMeta = fc
  .tuple(meta, fc.option(serverInfo, { nil: undefined }))
  .map(([rest, info]) =>
    info === undefined ? rest : { ...rest, 'io.modelcontextprotocol/serverInfo': info },
  )
const complete = { resultType: fc.constant('complete') }
const cached = { ...complete, ttlMs: fc.nat(), cacheScope: fc.constantFrom('public', 'private') }
const anyResult = { _meta: resultMeta, ...vendor }

const list = (member: string, item: Arbitrary<unknown>): Arbitrary<JsonObject> =>
  shaped({ ...cached, [member]: fc.array(item, { maxLength: 3 }) }, { nextCursor: text, ...anyResult })

const message = shaped({ role, content: block }, vendor)
const completion = shaped(
  { values: fc.array(text, { maxLength: 3 }) },
  { total: fc.nat(), hasMore: fc.boolean() },
)

/** The results of each method whose result has a shape of its own, by the name of their definition. */
export const RESULTS: Readonly<
  Record<string, { readonly definition: string; readonly result: Arbitrary<JsonObject> }>
> = {
  'tools/list': { definition: 'ListToolsResult', result: list('tools', tool) },
  'prompts/list': { definition: 'ListPromptsResult', result: list('prompts', prompt) },
  'resources/list': { definition: 'ListResourcesResult', result: list('resources', resource) },
  'resources/templates/list': {
    definition: 'ListResourceTemplatesResult',
    result: list('resourceTemplates', template),
  },
  'resources/read': {
    definition: 'ReadResourceResult',
    result: shaped({ ...cached, contents: fc.array(contents, { maxLength: 3 }) }, anyResult),
  },
  'tools/call': {
    definition: 'CallToolResult',
    result: shaped(
      { ...complete, content: fc.array(block, { maxLength: 3 }) },
      { structuredContent: json, isError: fc.boolean(), ...anyResult },
    ),
  },
  'prompts/get': {
    definition: 'GetPromptResult',
    result: shaped(
      { ...complete, messages: fc.array(message, { maxLength: 3 }) },
      { description: text, ...anyResult },
    ),
  },
  'completion/complete': {
    definition: 'CompleteResult',
    result: shaped({ ...complete, completion }, anyResult),
  },
}

export const samples: Arbitrary<Sample> = fc.oneof(
  ...Object.entries(RESULTS).map(([method, { result }]) =>
    result.map((value) => ({ method, result: value })),
  ),
)
