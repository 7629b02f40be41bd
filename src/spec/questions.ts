import type { RevisionId } from './table.ts'

/**
 * What a server may ask of its client. Requests of the server's own where a revision asks `by-request`, entries of
 * `inputRequests` where it asks `by-result`. `capability` is what the client must have declared.
 */
export const QUESTIONS = {
  'sampling/createMessage': { capability: 'sampling', since: '2024-11-05' },
  'roots/list': { capability: 'roots', since: '2024-11-05' },
  'elicitation/create': { capability: 'elicitation', since: '2025-06-18' },
} as const satisfies Record<string, { readonly capability: string; readonly since: RevisionId }>

export type QuestionMethod = keyof typeof QUESTIONS
