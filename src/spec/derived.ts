import { EXTENSION_METHODS } from './extensions.ts'
import type { Era, MethodFacts, RevisionFacts } from './facts.ts'
import { FEATURES } from './features.ts'
import type { FeatureFacts, FeatureName, Place } from './features.ts'
import { QUESTIONS } from './questions.ts'
import { REVISIONS } from './table.ts'
import type { RevisionId } from './table.ts'

/** The facts of a revision. O(1), like every look-up here: they stand on the path of each message. */
export function revision(id: RevisionId): RevisionFacts {
  return entryOf(id).facts
}

export function isRevisionId(text: string): text is RevisionId {
  return ENTRIES.has(text)
}

export function eraOf(id: RevisionId): Era {
  return entryOf(id).facts.era
}

/** The newest revision, of one era or of all. */
export function newest(era?: Era): RevisionId {
  return era === undefined ? NEWEST : NEWEST_OF[era]
}

/** The revisions of an era, newest first. The array is shared: read it only. */
export function revisionsOf(era: Era): readonly RevisionId[] {
  return IDS_OF[era]
}

/** The facts of a method, or undefined where neither the revision nor an extension of it defines it. */
export function methodIn(id: RevisionId, method: string): MethodFacts | undefined {
  return entryOf(id).methods.get(method)
}

/**
 * The era that a protocol version belongs to, known to mcpx or not: dates from the first modern revision on are modern, dates
 * before it legacy. Undefined for what is not a date.
 */
export function eraOfDate(text: string): Era | undefined {
  if (!DATE.test(text)) return undefined
  return text < FIRST_MODERN ? 'legacy' : 'modern'
}

export function hasFeature(id: RevisionId, name: FeatureName): boolean {
  return entryOf(id).features.has(name)
}

/** Whether a server may ask this of a client of that revision, by a request or in a result. */
export function canAsk(id: RevisionId, method: string): boolean {
  return entryOf(id).questions.has(method)
}

/** The members that a place holds in other revisions, not in this one, and that are left out for its callers. */
export function fieldsAbsent(id: RevisionId, place: Place): readonly string[] {
  return entryOf(id).absent.get(place) ?? NONE
}

interface Entry {
  readonly facts: RevisionFacts
  readonly methods: ReadonlyMap<string, MethodFacts>
  readonly features: ReadonlySet<string>
  readonly questions: ReadonlySet<string>
  readonly absent: ReadonlyMap<Place, readonly string[]>
}

const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/
const NONE: readonly string[] = []
const FEATURE_ROWS: readonly (readonly [string, FeatureFacts])[] = Object.entries(FEATURES)
const ENTRIES: ReadonlyMap<string, Entry> = new Map(REVISIONS.map((facts) => [facts.id, makeEntry(facts)]))
const IDS_OF: Readonly<Record<Era, readonly RevisionId[]>> = {
  legacy: idsOf('legacy'),
  modern: idsOf('modern'),
}
const NEWEST_OF: Readonly<Record<Era, RevisionId>> = { legacy: firstOf('legacy'), modern: firstOf('modern') }
const NEWEST: RevisionId = NEWEST_OF.modern
const FIRST_MODERN: string = IDS_OF.modern.at(-1) ?? NEWEST

function entryOf(id: RevisionId): Entry {
  const entry = ENTRIES.get(id)
  if (entry === undefined) throw new Error(`${id} is not a revision that mcpx speaks`)
  return entry
}

function makeEntry(facts: RevisionFacts): Entry {
  const features = new Set<string>()
  const absent = new Map<Place, string[]>()
  for (const [name, row] of FEATURE_ROWS) {
    if (row.since <= facts.id && (row.until === undefined || facts.id <= row.until)) {
      features.add(name)
      continue
    }
    if (row.fallback !== 'removed' && row.fallback !== 'in-initialize') continue
    for (const place of row.at) absent.set(place, [...(absent.get(place) ?? []), row.field])
  }
  const asked = Object.entries(QUESTIONS).filter(([, { since }]) => since <= facts.id)
  const questions = new Set(asked.map(([method]) => method))
  const extended = facts.era === 'modern' ? EXTENSION_METHODS : {}
  const methods = new Map<string, MethodFacts>(Object.entries({ ...extended, ...facts.methods }))
  return { facts, methods, features, questions, absent }
}

function idsOf(era: Era): RevisionId[] {
  return REVISIONS.filter((facts) => facts.era === era)
    .map((facts) => facts.id)
    .toReversed()
}

function firstOf(era: Era): RevisionId {
  const [id] = IDS_OF[era]
  if (id === undefined) throw new Error(`no revision of the ${era} era`)
  return id
}
