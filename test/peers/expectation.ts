// What a client of a revision has to see, written down from the specification's changelogs and from nothing of mcpx.
import type { JsonObject } from './peer.ts'
import { REVISIONS } from './raw.ts'
import type { Revision } from './raw.ts'
import type { Outcome, Survey } from './survey.ts'

/** Fits any text: the wording is left to whoever writes it. */
const ANY_TEXT = '\u0000any text'

/** The revision that brought a field. `execution` came with one revision and went with the next. */
const SINCE: Readonly<Record<'listed' | 'result' | 'content', Readonly<Record<string, Revision>>>> = {
  listed: {
    annotations: '2025-03-26',
    title: '2025-06-18',
    outputSchema: '2025-06-18',
    _meta: '2025-06-18',
    icons: '2025-11-25',
    execution: '2025-11-25',
  },
  result: { structuredContent: '2025-06-18' },
  content: { _meta: '2025-06-18' },
}

/** Of the hop, not of the server. */
const ENVELOPE = ['resultType', 'ttlMs', 'cacheScope']
const HOP_META = 'io.modelcontextprotocol/serverInfo'

/** A survey as a client of the revision has to see it, from one made in the server's newest revision. */
export function spelledFor(revision: Revision, seen: Survey): Survey {
  const listed = (item: JsonObject) => known('listed', item, revision)
  return {
    tools: seen.tools.map(listed),
    prompts: seen.prompts.map((prompt) => {
      const args = prompt['arguments'] as JsonObject[] | undefined
      return { ...listed(prompt), ...(args && { arguments: args.map(listed) }) }
    }),
    // Resources have had annotations from the beginning.
    resources: seen.resources.map((item) => ({ ...listed(item), ...pick(item, 'annotations') })),
    templates: seen.templates.map((item) => ({ ...listed(item), ...pick(item, 'annotations') })),
    outcomes: mapValues(seen.outcomes, (outcome) =>
      'result' in outcome ? { result: spelledResult(outcome.result, revision) } : outcome,
    ),
  }
}

/** A survey without what belongs to the hop that it was made over. */
export function withoutEnvelope(seen: Survey): Survey {
  const bare = ({ _meta, ...item }: JsonObject): JsonObject => {
    const { [HOP_META]: _server, ...meta } = (_meta ?? {}) as JsonObject
    return Object.keys(meta).length > 0 ? { ...item, _meta: meta } : item
  }
  return {
    ...seen,
    outcomes: mapValues(seen.outcomes, (outcome) => {
      if (!('result' in outcome)) return outcome
      const fields = Object.entries(bare(outcome.result)).filter(([key]) => !ENVELOPE.includes(key))
      return { result: Object.fromEntries(fields) }
    }),
  }
}

/** Whether something that began with `since` is there in the revision. */
function has(revision: Revision, since: Revision): boolean {
  return REVISIONS.indexOf(revision) >= REVISIONS.indexOf(since)
}

function known(place: keyof typeof SINCE, item: JsonObject, revision: Revision): JsonObject {
  const fields = Object.entries(item).filter(([key]) => {
    if (key === 'execution' && revision === '2026-07-28') return false
    const since = SINCE[place][key]
    return since === undefined || has(revision, since)
  })
  return Object.fromEntries(fields)
}

function spelledResult(result: JsonObject, revision: Revision): JsonObject {
  const spelled = known('result', result, revision)
  const content = result['content'] as JsonObject[] | undefined
  if (content) {
    spelled['content'] = content.map((block) => spelledBlock(block, revision))
    const structured = result['structuredContent']
    const isText = content.some((block) => isJsonOf(block['text'], structured))
    if (structured !== undefined && !has(revision, '2025-06-18') && !isText)
      spelled['content'] = [...(spelled['content'] as JsonObject[]), { type: 'text', text: ANY_TEXT }]
  }
  const messages = result['messages'] as { content: JsonObject }[] | undefined
  if (messages)
    spelled['messages'] = messages.map((message) => ({
      ...message,
      content: spelledBlock(message.content, revision),
    }))
  return spelled
}

function spelledBlock(block: JsonObject, revision: Revision): JsonObject {
  if (block['type'] === 'resource_link' && !has(revision, '2025-06-18'))
    return { type: 'resource', resource: { uri: block['uri'], text: ANY_TEXT, mimeType: ANY_TEXT } }
  if (block['type'] === 'audio' && !has(revision, '2025-03-26')) return { type: 'text', text: ANY_TEXT }
  return known('content', block, revision)
}

function isJsonOf(text: unknown, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(String(text))) === JSON.stringify(value)
  } catch {
    return false
  }
}

/**
 * The first place where what was seen is not what was expected, or nothing. The order of a list is free, and `optional`
 * tools may be there or not.
 */
export function difference(
  expected: Survey,
  seen: Survey,
  optional: readonly string[] = [],
): string | undefined {
  const isOptional = (item: JsonObject) => optional.includes(String(item['name']))
  const ordered = (survey: Survey): Survey => ({
    ...survey,
    tools: byKey(survey.tools, 'name').filter((tool) => !isOptional(tool)),
    prompts: byKey(survey.prompts, 'name'),
    resources: byKey(survey.resources, 'uri'),
    templates: byKey(survey.templates, 'uriTemplate'),
  })
  return differenceOf('survey', ordered(expected), ordered(seen))
}

function byKey(items: readonly JsonObject[], key: string): JsonObject[] {
  return items.toSorted((a, b) => (String(a[key]) < String(b[key]) ? -1 : 1))
}

function differenceOf(path: string, expected: unknown, seen: unknown): string | undefined {
  if (expected === ANY_TEXT && (seen === undefined || typeof seen === 'string')) return undefined
  if (typeof expected === 'object' && expected !== null && typeof seen === 'object' && seen !== null) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(seen)])
    for (const key of keys) {
      const found = differenceOf(
        `${path}.${label(key, expected)}`,
        (expected as JsonObject)[key],
        (seen as JsonObject)[key],
      )
      if (found !== undefined) return found
    }
    return undefined
  }
  return Object.is(expected, seen) ? undefined : `${path}: expected ${shown(expected)}, saw ${shown(seen)}`
}

/** Items of lists are called by their names: an index says nothing to a reader. */
function label(key: string, container: object): string {
  const item: unknown = (container as JsonObject)[key]
  const name =
    Array.isArray(container) && typeof item === 'object' && item ? (item as JsonObject)['name'] : undefined
  return typeof name === 'string' ? `${key} (${name})` : key
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

function pick(item: JsonObject, key: string): JsonObject {
  return key in item ? { [key]: item[key] } : {}
}

function mapValues(outcomes: Survey['outcomes'], change: (outcome: Outcome) => Outcome): Survey['outcomes'] {
  return Object.fromEntries(Object.entries(outcomes).map(([key, outcome]) => [key, change(outcome)]))
}
