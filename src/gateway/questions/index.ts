// Questions: elicitation, sampling and roots, between any two revisions.
export { Inbox } from './inbox.ts'
export type { InboxEntry, InboxEvent } from './inbox.ts'
export { Parking } from './parking.ts'
export type { AskingServer } from './party.ts'
export { subjectOf } from './course.ts'
export { Questions } from './questions.ts'
export { States } from './states.ts'
export { Strays } from './strays.ts'
