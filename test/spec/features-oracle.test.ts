// The feature table against the published schemas, both ways: what a definition gained or lost is a row, and no row is made up.
import { expect, test } from 'vitest'
import { FEATURES, hasFeature, REVISIONS } from '../../src/spec/index.ts'
import type { FeatureFacts, FeatureName, Place, RevisionId } from '../../src/spec/index.ts'
import { definitionsOf, resolved, schemaOf, WITHOUT_SCHEMAS } from './published.ts'
import type { Published } from './published.ts'

/** Where each place of the table is published. A path leads through properties, from a definition. */
const PUBLISHED_AT: Partial<Record<Place, readonly string[]>> = {
  result: ['GetPromptResult', 'CompleteResult'],
  cacheableResult: ['ListToolsResult', 'ListPromptsResult', 'ListResourcesResult', 'ReadResourceResult'],
  resultMeta: ['CallToolResult._meta'],
  notificationMeta: ['ToolListChangedNotification.params._meta'],
  progress: ['ProgressNotification.params'],
  tool: ['Tool'],
  toolResult: ['CallToolResult'],
  prompt: ['Prompt'],
  promptArgument: ['PromptArgument'],
  resource: ['Resource'],
  resourceTemplate: ['ResourceTemplate'],
  resourceLink: ['ResourceLink'],
  block: ['TextContent', 'ImageContent', 'AudioContent', 'EmbeddedResource'],
  contents: ['TextResourceContents', 'BlobResourceContents'],
  annotations: ['Resource.annotations', 'TextContent.annotations', 'AudioContent.annotations'],
  serverCapabilities: ['ServerCapabilities'],
  implementation: ['Implementation'],
  formField: ['StringSchema', 'NumberSchema'],
  samplingMessage: ['SamplingMessage'],
  samplingCapability: ['ClientCapabilities.sampling'],
  root: ['Root'],
  reply: ['ListRootsResult', 'ElicitResult'],
}

/** Rows that no list of members can show. */
const NOT_MEMBERS: Readonly<Record<string, string>> = {
  audio: 'a type of block, checked by its definition',
  resourceLink: 'a type of block, checked by its definition',
  jsonSchema: 'what may stand at the root of a schema',
  structuredValue: 'what may stand in a member',
  resourceNotFound: 'a code, checked with the error codes',
  urlElicitation: 'a mode of a question, checked by its definition',
  elicitationId: 'a member of a question, checked by its definition',
  elicitationMode: 'a member of a question, checked by its definition',
  schemaDialect: 'a member of a schema that is published in line',
  titledEnums: 'a kind of field, checked by its definition',
  multiSelect: 'a kind of field, checked by its definition',
  samplingTools: 'a member of a question, checked by its definition',
  samplingBlocks: 'what may stand in a member',
  taskQuestion: 'a member of a question, checked by its definition',
}

/** Members that every result has, and that rows name once for all places. */
const SHARED = ['result', 'cacheableResult', 'toolResult']

if (WITHOUT_SCHEMAS !== undefined) {
  test('published schemas', (context) => context.skip(WITHOUT_SCHEMAS))
}

const check = test.skipIf(WITHOUT_SCHEMAS !== undefined)

check.each(REVISIONS.map(({ id }) => id))('%s lacks the members that the table says, and no others', (id) => {
  for (const [place, paths] of Object.entries(PUBLISHED_AT) as [Place, string[]][]) {
    for (const path of paths) {
      const here = membersAt(id, path)
      if (here === undefined) continue
      const everywhere = new Set(REVISIONS.flatMap((other) => membersAt(other.id, path) ?? []))
      const lacking = [...everywhere].filter((member) => !here.includes(member)).sort()
      expect({ path, lacking }).toEqual({
        path,
        lacking: lackedBy(id, place).filter((field) => everywhere.has(field)),
      })
    }
  }
})

check('every row that speaks of a member names one that is published', () => {
  for (const [name, row] of rows()) {
    if (name in NOT_MEMBERS) continue
    for (const place of row.at) {
      const paths = PUBLISHED_AT[place] ?? []
      const published = paths.some((path) => membersAt(row.since, path)?.includes(row.field))
      expect(published, `${name}: ${row.field} at ${place} in ${row.since}`).toBe(true)
    }
  }
})

check.each(REVISIONS.map(({ id }) => id))('%s: rows that are not members', (id) => {
  const definitions = definitionsOf(schemaOf(id))
  const structured = definitions['CallToolResult']?.properties?.['structuredContent']
  const output = definitions['Tool']?.properties?.['outputSchema']
  const blocks = definitions['SamplingMessage']?.properties?.['content']?.anyOf
  expect({
    audio: 'AudioContent' in definitions,
    resourceLink: 'ResourceLink' in definitions,
    structuredValue: structured !== undefined && structured['type'] === undefined,
    jsonSchema: output !== undefined && output.properties?.['type'] === undefined,
    urlElicitation: 'ElicitRequestURLParams' in definitions,
    elicitationId: membersAt(id, 'ElicitRequestURLParams')?.includes('elicitationId') === true,
    elicitationMode: membersAt(id, 'ElicitRequestFormParams')?.includes('mode') === true,
    schemaDialect: membersAt(id, 'ElicitRequestFormParams.requestedSchema')?.includes('$schema') === true,
    titledEnums: 'TitledSingleSelectEnumSchema' in definitions,
    multiSelect: 'UntitledMultiSelectEnumSchema' in definitions,
    samplingTools: membersAt(id, 'CreateMessageRequest.params')?.includes('tools') === true,
    samplingBlocks: Array.isArray(blocks) && blocks.some((kind: Published) => kind['type'] === 'array'),
    taskQuestion: membersAt(id, 'ElicitRequestFormParams')?.includes('task') === true,
  }).toEqual(
    Object.fromEntries(
      Object.keys(NOT_MEMBERS)
        .filter((name) => name !== 'resourceNotFound')
        .map((name) => [name, hasFeature(id, name as FeatureName)]),
    ),
  )
})

function rows(): [FeatureName, FeatureFacts][] {
  return Object.entries(FEATURES) as [FeatureName, FeatureFacts][]
}

function lackedBy(id: RevisionId, place: Place): string[] {
  const places = SHARED.includes(place) ? SHARED : [place]
  const lacked = rows().filter(
    ([name, row]) => !hasFeature(id, name) && row.at.some((at) => places.includes(at)),
  )
  // A member that came before its newest form is not lacking.
  const had = rows().filter(([name, row]) => hasFeature(id, name) && row.at.some((at) => places.includes(at)))
  const fields = lacked
    .map(([, row]) => row.field)
    .filter((field) => !had.some(([, row]) => row.field === field))
  return [...new Set(fields)].sort()
}

/** The members that a definition has in a revision, or undefined where the revision has no such definition. */
function membersAt(id: RevisionId, path: string): string[] | undefined {
  const definitions = definitionsOf(schemaOf(id))
  const [name = '', ...steps] = path.split('.')
  let schema: Published | undefined = definitions[name]
  for (const step of steps) {
    const next: Published | undefined = schema?.properties?.[step]
    schema = next === undefined ? undefined : resolved(next, definitions)
  }
  if (schema === undefined) return undefined
  // Params of any notification may carry `_meta`, by the base type that all have; only later schemas repeat it.
  return Object.keys(schema.properties ?? {}).filter(
    (member) => member !== '_meta' || steps.at(-1) !== 'params',
  )
}
