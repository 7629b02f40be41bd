// Who takes part in a call that may ask: the caller on one side, the server on the other.
import type { Cancellation, JsonObject } from '../../base/index.ts'
import type { Asker, Resume } from '../../pool/index.ts'
import type { RevisionId } from '../../spec/index.ts'
import type { Answer, Call, Question } from '../../wire/index.ts'

/** A server as those need it who carry its questions. */
export interface AskingServer {
  readonly name: string
  /** What leads its messages, so that a person knows who asks; undefined where there is only one server. */
  readonly lead: string | undefined
  /** Its configured roots: what it may see, whoever calls. */
  readonly roots: readonly JsonObject[] | undefined
  /** Whose instance the call gets, where it is not everybody's. */
  ownerOf(call: Call): string | undefined
  /** Tells an owner's instances that their roots are others now. */
  rootsChanged(owner: string): void
  /** Sends the call's errand and resolves with the answer in the newest shape. Rejects with an McpxError. */
  send(call: Call, sending: Sending): Promise<Sent>
}

/** How an errand is sent this time. */
export interface Sending {
  readonly params: JsonObject | undefined
  readonly cancellation: Cancellation
  /** What the caller, or whoever answers for it, can be asked. */
  readonly answers: JsonObject
  readonly asker: Asker
  /** What goes on from an earlier answer. */
  readonly resume: Resume | undefined
  notify(method: string, params: JsonObject): void
  /** The server ended its stream and goes on later. */
  interrupted?(): void
}

export interface Sent {
  readonly answer: Answer
  readonly revision: RevisionId
}

/** Questions by the keys under which their answers are expected. */
export type Round = ReadonlyMap<string, Question>
