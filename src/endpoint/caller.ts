import type { IncomingMessage } from 'node:http'
import { ASSUMED_REVISION, eraOf, HEADERS, isRevisionId } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Caller } from '../wire/index.ts'
import type { Reply } from './reply.ts'
import type { Session } from './sessions.ts'

/** One HTTP request, with its reply and the principal whose credential it carries. */
export interface Visit {
  readonly request: IncomingMessage
  readonly reply: Reply
  readonly principal: string
}

/** What the handler is told of who calls. */
export function callerOf(session: Session | Stranger): Caller {
  const { revision: spoken, clientInfo, capabilities, principal, id } = session
  return { revision: spoken, clientInfo, capabilities, principal, session: id }
}

/** Who calls outside of any session, in the revision that the header names. */
export function strangerOf({ request, principal }: Visit): Stranger {
  const version = request.headers[HEADERS.protocolVersion.toLowerCase()]
  const named = typeof version === 'string' && isRevisionId(version) && eraOf(version) === 'legacy'
  return {
    revision: named ? version : ASSUMED_REVISION,
    clientInfo: undefined,
    capabilities: {},
    principal,
    id: undefined,
  }
}

/** A caller without a session. */
type Stranger = Pick<Session, 'clientInfo' | 'capabilities' | 'principal'> & {
  readonly revision: RevisionId
  readonly id: undefined
}
