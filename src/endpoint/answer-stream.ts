import { revision } from '../spec/index.ts'
import type { RpcMessage } from '../wire/index.ts'
import type { Reply } from './reply.ts'
import type { Session } from './sessions.ts'
import type { Patience, Stream } from './streams.ts'

/**
 * The answer of one POST in a session: one JSON body, or a stream from the first message that goes ahead of it. Where the
 * revision has priming events every answer is a stream that begins with one, so that a client whose connection breaks can
 * still fetch it.
 */
export class AnswerStream {
  readonly #session: Session
  readonly #reply: Reply
  #stream: Stream | undefined

  constructor(session: Session, reply: Reply, patience: Patience | undefined) {
    this.#session = session
    this.#reply = reply
    if (revision(session.revision).http.resumable === 'primed' && reply.mayStream) this.#begin(true, patience)
  }

  /** Sends a message ahead of the answer. False where nobody can get it: no stream is taken, or none had begun when the client left. */
  send(message: RpcMessage): boolean {
    if (this.#stream === undefined && !(this.#reply.mayStream && this.#reply.open)) return false
    const stream = this.#stream ?? this.#begin(false)
    stream.send(message)
    return true
  }

  /** Lets the client go where it has an event's id to come back with. */
  pause(): void {
    if (revision(this.#session.revision).http.resumable === 'primed') this.#stream?.pause()
  }

  /** Sends the answer and ends; without one it only ends. */
  end(answer: RpcMessage | readonly RpcMessage[] | undefined): void {
    const stream = this.#stream
    if (stream !== undefined) return answer === undefined ? stream.close() : stream.end(answer)
    if (answer === undefined) this.#reply.endEmpty(202)
    else this.#reply.end(answer, 200)
  }

  #begin(prime: boolean, patience?: Patience): Stream {
    const stream = this.#session.streams.forRequest()
    stream.attach(this.#reply, { prime, patience })
    this.#stream = stream
    return stream
  }
}
