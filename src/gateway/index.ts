// Names, lists and routing: what a client's call means to which server.
export { createGateway } from './gateway.ts'
export { subjectOf } from './questions/index.ts'
export type { Inbox, InboxEntry, InboxEvent } from './questions/index.ts'
export type { Gateway } from './gateway.ts'
export type { Member } from './member.ts'
export type { Naming } from './names.ts'
export type { View } from './view.ts'
