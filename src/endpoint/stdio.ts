// The endpoint over a pipe: both eras on one pair of streams, each message in its own.
import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { classifyInbound } from '../era/index.ts'
import { ASSUMED_REVISION, ERRORS, METHOD, revision } from '../spec/index.ts'
import { createLineFramer, shapeOf } from '../wire/index.ts'
import type { Caller, Id, RpcMessage, RpcRequest, RpcResponse } from '../wire/index.ts'
import type { EndpointOptions, Outcome } from './contract.ts'
import { LOCAL_USER } from './contract.ts'
import type { InboundCall } from './inbound-call.ts'
import { agree, answerInitialize, answerLegacy, DEFAULT_LEVEL, takeNotification, tune } from './legacy.ts'
import type { Agreed, LegacyExchange, SessionLogs } from './legacy.ts'
import { answerModern } from './modern.ts'
import { beginOutcome, endPipeOutcome, noteMessage, noteServed } from './outcome.ts'
import { OpenQuestions } from './questions.ts'

export interface PipeOptions extends EndpointOptions {
  /** Whose the pipe is; the local user's where nothing is said. */
  readonly principal?: string | undefined
}

/**
 * Serves one client over a pair of streams. Resolves when the input has ended and what was in flight is answered, or has
 * had its time (`drain`).
 */
export function serveStdio(options: PipeOptions, input: Readable, output: Writable): Promise<void> {
  return new Pipe(options, output).run(input)
}

const CLOSED = 'the client closed the pipe'

class Pipe {
  readonly #options: PipeOptions
  readonly #output: Writable
  readonly #principal: string
  /** A pipe is a session of its own, under a name that no other one has. */
  readonly #session = randomUUID()
  /** One table for both eras: a cancellation carries no mark of either. */
  readonly #inFlight = new Map<Id, InboundCall>()
  readonly #working = new Set<Promise<void>>()
  readonly #questions = new OpenQuestions()
  readonly #logs: SessionLogs = { logLevel: DEFAULT_LEVEL }
  #agreed: Agreed = { revision: ASSUMED_REVISION, clientInfo: undefined, capabilities: {} }
  #initializing: Promise<void> | undefined
  #untune: (() => void) | undefined

  constructor(options: PipeOptions, output: Writable) {
    this.#options = options
    this.#output = output
    this.#principal = options.principal ?? LOCAL_USER
    // A client that closed its end is seen at the input's end; what is still written goes nowhere.
    output.on('error', () => this.#questions.close(CLOSED))
    output.once('close', () => this.#questions.close(CLOSED))
  }

  async run(input: Readable): Promise<void> {
    const framer = createLineFramer({
      onLine: (line) => this.#onLine(line),
      onOversize: () => this.#refuse(refusal(ERRORS.invalidRequest, 'Invalid request: the line is too long')),
    })
    await new Promise<void>((resolve) => {
      input.on('data', (chunk: Buffer) => framer.feed(chunk))
      input.once('end', resolve)
      input.once('close', resolve)
      input.once('error', () => resolve())
      // A stream that somebody paused before does not start by having a listener.
      input.resume()
    })
    // Calls in flight can still be answered; what they ask cannot.
    this.#questions.close(CLOSED)
    this.#untune?.()
    await this.#drain()
  }

  #onLine(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      return this.#refuse(refusal(ERRORS.parse, 'Parse error: the line is not JSON'))
    }
    if (Array.isArray(value)) return this.#onBatch(value)
    const shape = shapeOf(value)
    switch (shape.kind) {
      case 'invalid':
        this.#questions.takeInvalid(shape.id, shape.reason)
        return this.#refuse(refusal(ERRORS.invalidRequest, `Invalid request: ${shape.reason}`, shape.id))
      case 'response':
        return this.#questions.take(shape.message)
      case 'notification':
        return takeNotification(shape.message, this.#exchange(), this.#options)
      case 'request':
        return this.#work(this.#answer(shape.message), (answer) => this.#write(answer))
    }
  }

  #onBatch(values: readonly unknown[]): void {
    if (values.length === 0 || !revision(this.#agreed.revision).http.batches) {
      const why =
        values.length === 0 ? 'the batch is empty' : `revision ${this.#agreed.revision} has no batches`
      return this.#refuse(refusal(ERRORS.invalidRequest, `Invalid request: ${why}`))
    }
    const answers = values.map(async (value): Promise<RpcResponse | undefined> => {
      const shape = shapeOf(value)
      if (shape.kind === 'notification') takeNotification(shape.message, this.#exchange(), this.#options)
      if (shape.kind === 'response') this.#questions.take(shape.message)
      if (shape.kind === 'invalid')
        return refusal(ERRORS.invalidRequest, `Invalid request: ${shape.reason}`, shape.id)
      return shape.kind === 'request' ? this.#answer(shape.message) : undefined
    })
    this.#work(Promise.all(answers), (all) => {
      const given = all.filter((answer) => answer !== undefined)
      if (given.length > 0) this.#write(given)
    })
  }

  /** Answers a request, and tells what became of it where somebody watches. */
  #answer(message: RpcRequest): Promise<RpcResponse | undefined> {
    const outcome = beginOutcome(this.#options)
    const answer = this.#dispatch(message, outcome)
    if (outcome === undefined) return answer
    return answer.then((given) => {
      endPipeOutcome(outcome, given, this.#options)
      return given
    })
  }

  async #dispatch(message: RpcRequest, outcome: Outcome | undefined): Promise<RpcResponse | undefined> {
    const classification = classifyInbound(message, undefined, false)
    if (outcome !== undefined) noteMessage(outcome, message, classification)
    if (classification.era === 'modern') return this.#modern(message, outcome)
    if (message.method === METHOD.initialize) return this.#initialize(message, outcome)
    // What follows `initialize` is spelled in the revision that its answer names.
    await this.#initializing
    if (outcome !== undefined) noteServed(outcome, this.#caller())
    return answerLegacy(message, this.#exchange(), this.#options)
  }

  /** How the client is reached in the legacy era. */
  #exchange(): LegacyExchange {
    const caller = this.#caller()
    const send = (sent: RpcMessage): void => this.#write(sent)
    const way = this.#questions.way(caller, (sent) => {
      this.#write(sent)
      return this.#output.writable
    })
    return { caller, logs: this.#logs, inFlight: this.#inFlight, send, way }
  }

  async #modern(message: RpcRequest, outcome: Outcome | undefined): Promise<RpcResponse | undefined> {
    if (this.#inFlight.has(message.id)) {
      if (outcome !== undefined) outcome.refused = true
      return refusal(
        ERRORS.invalidRequest,
        'Invalid request: a request with this id is in flight already',
        message.id,
      )
    }
    let call: InboundCall | undefined
    const { response, status } = await answerModern(
      message,
      {
        headers: undefined,
        principal: this.#principal,
        send: (notification) => this.#write(notification),
        onCall: (started) => {
          call = started
          if (outcome !== undefined) noteServed(outcome, started.caller)
          this.#inFlight.set(message.id, started)
        },
      },
      this.#options,
    )
    if (outcome !== undefined) outcome.refused = status >= 400
    if (call === undefined) return response
    this.#inFlight.delete(message.id)
    return call.wantsAnswer ? response : undefined
  }

  async #initialize(message: RpcRequest, outcome: Outcome | undefined): Promise<RpcResponse> {
    this.#agreed = agree(message.params)
    if (outcome !== undefined) noteServed(outcome, this.#caller())
    const answer = answerInitialize(message, this.#caller(), this.#options)
    this.#initializing = answer.then(() => {})
    const given = await answer
    this.#untune ??= tune(this.#caller(), (sent) => this.#write(sent), this.#options)
    return given
  }

  #caller(): Caller {
    return { ...this.#agreed, principal: this.#principal, session: this.#session }
  }

  #work<T>(work: Promise<T>, done: (value: T) => void): void {
    const task = work.then(done).finally(() => this.#working.delete(task))
    this.#working.add(task)
  }

  async #drain(): Promise<void> {
    // Who listens would never be answered.
    for (const call of this.#inFlight.values()) if (call.method === METHOD.listen) call.tearDown(CLOSED)
    if (this.#working.size === 0) return
    const { clock, limits } = this.#options
    let stop: (() => void) | undefined
    const late = new Promise<void>((resolve) => {
      const timer = clock.after(limits.drain(), resolve)
      stop = () => timer.cancel()
    })
    await Promise.race([Promise.allSettled(this.#working), late])
    stop?.()
    for (const call of this.#inFlight.values()) call.cancellation.cancel(CLOSED)
  }

  /** Answers what is no request. The client is whoever introduced itself on the pipe. */
  #refuse(answer: RpcResponse): void {
    const outcome = beginOutcome(this.#options)
    if (outcome !== undefined) {
      noteServed(outcome, this.#caller())
      outcome.served = null
      endPipeOutcome(outcome, answer, this.#options)
    }
    this.#write(answer)
  }

  #write(message: RpcMessage | readonly RpcMessage[] | undefined): void {
    if (message !== undefined && this.#output.writable) this.#output.write(`${JSON.stringify(message)}\n`)
  }
}

function refusal(code: number, message: string, id?: Id): RpcResponse {
  return { jsonrpc: '2.0', id: id ?? null, error: { code, message } }
}
