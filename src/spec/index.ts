// What the specification says, revision by revision: literal tables, and look-ups that are derived from them.
export { ASSUMED_REVISION } from './assumed.ts'
export {
  canAsk,
  eraOf,
  eraOfDate,
  fieldsAbsent,
  hasFeature,
  isRevisionId,
  methodIn,
  newest,
  revision,
  revisionsOf,
} from './derived.ts'
export type { Era, HttpFacts, MethodFacts, RevisionFacts } from './facts.ts'
export { MERGED_EXTENSIONS, SKILLS_EXTENSION, TASKS_EXTENSION } from './extensions.ts'
export type { ExtensionMethod } from './extensions.ts'
export { FEATURES } from './features.ts'
export type { Fallback, FeatureFacts, FeatureName, Place } from './features.ts'
export { isLogLevel, isMoreVerbose, logReaches } from './log-levels.ts'
export { METHOD } from './methods.ts'
export { ERRORS, HEADERS, LOG_LEVELS, META } from './names.ts'
export type { LogLevel } from './names.ts'
export { QUESTIONS } from './questions.ts'
export type { QuestionMethod } from './questions.ts'
export { REVISIONS } from './table.ts'
export type { Method, MethodIn, Revision, RevisionId } from './table.ts'
