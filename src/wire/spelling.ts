import { fieldsAbsent, hasFeature, REVISIONS } from '../spec/index.ts'
import type { Place, RevisionId } from '../spec/index.ts'

/** What a revision's callers cannot read, made ready once for each revision: results are translated on the hot path. */
export interface Spelling {
  readonly revision: RevisionId
  /** Members to leave out, by place. */
  readonly absent: Readonly<Record<DroppingPlace, readonly string[]>>
  readonly audio: boolean
  readonly resourceLinks: boolean
  /** Which `structuredContent` there can be. */
  readonly structured: 'none' | 'objects' | 'any'
  /** Whether a tool's schemas may be any JSON Schema, and need not say `type: object` at the root. */
  readonly anySchema: boolean
  /** Whether anything in a content block can need translation. */
  readonly anyBlock: boolean
}

type DroppingPlace = Exclude<
  Place,
  'toolSchema' | 'toolResult' | 'blockType' | 'error' | 'question' | 'requestedSchema' | 'samplingCapability'
>

export function spellingOf(id: RevisionId): Spelling {
  const spelling = SPELLINGS.get(id)
  if (spelling === undefined) throw new Error(`${id} is not a revision that mcpx speaks`)
  return spelling
}

const SPELLINGS: ReadonlyMap<RevisionId, Spelling> = new Map(REVISIONS.map(({ id }) => [id, spell(id)]))

function spell(id: RevisionId): Spelling {
  const at = (place: DroppingPlace): readonly string[] => fieldsAbsent(id, place)
  const absent = {
    result: at('result'),
    cacheableResult: [...at('result'), ...at('cacheableResult')],
    resultMeta: at('resultMeta'),
    notificationMeta: at('notificationMeta'),
    progress: at('progress'),
    tool: at('tool'),
    prompt: at('prompt'),
    promptArgument: at('promptArgument'),
    resource: at('resource'),
    resourceTemplate: at('resourceTemplate'),
    resourceLink: at('resourceLink'),
    block: at('block'),
    contents: at('contents'),
    annotations: at('annotations'),
    serverCapabilities: at('serverCapabilities'),
    implementation: at('implementation'),
    formField: at('formField'),
    samplingMessage: at('samplingMessage'),
    root: at('root'),
    reply: at('reply'),
  } satisfies Record<DroppingPlace, readonly string[]>
  const audio = hasFeature(id, 'audio')
  const resourceLinks = hasFeature(id, 'resourceLink')
  return {
    revision: id,
    absent,
    audio,
    resourceLinks,
    structured: hasFeature(id, 'structuredValue')
      ? 'any'
      : hasFeature(id, 'structuredContent')
        ? 'objects'
        : 'none',
    anySchema: hasFeature(id, 'jsonSchema'),
    anyBlock:
      !audio ||
      !resourceLinks ||
      [absent.block, absent.contents, absent.annotations, absent.resourceLink].some(
        (fields) => fields.length > 0,
      ),
  }
}
