// Tool calls that a caller starts, leaves, and comes back to.
import { randomUUID } from 'node:crypto'
import { Cancellation, clip, McpxError } from '../base/index.ts'
import type { Clock, FailureCode, JsonObject, Timer } from '../base/index.ts'
import type { CallHandler } from '../wire/index.ts'
import { callTool } from './tool-call.ts'
import type { Outcome, ToolRequest } from './tool-call.ts'

/** One call as its caller sees it. */
export type AskReport =
  | { readonly id: string; readonly status: 'running' }
  | { readonly id: string; readonly status: 'input_required'; readonly questions: JsonObject }
  | { readonly id: string; readonly status: 'done'; readonly result: JsonObject }
  | {
      readonly id: string
      readonly status: 'failed'
      readonly code: FailureCode
      readonly detail: string
      /** The error that the server answered with, where it is one. */
      readonly error?: unknown
    }

export interface AsksOptions {
  readonly clock: Clock
  /** How long a call that nobody looks at goes on, in ms. */
  readonly patience: () => number
}

type Failed = Extract<AskReport, { status: 'failed' }>

interface Ask {
  readonly id: string
  readonly principal: string
  readonly view: CallHandler
  readonly request: ToolRequest
  readonly cancellation: Cancellation
  readonly watchers: Set<() => void>
  outcome: Outcome | undefined
  lastSeen: number
}

const PER_PRINCIPAL = 100
const IN_ALL = 1000
/** How long the end of a call is kept, in ms. */
const KEPT = 10 * 60_000
const SWEEP = 60_000
const MAX_WAIT = 60_000

export class Asks {
  readonly #options: AsksOptions
  readonly #asks = new Map<string, Ask>()
  #sweep: Timer | undefined

  constructor(options: AsksOptions) {
    this.#options = options
  }

  /** Starts a call. Throws `TOO_MANY_PARKED` where too many of the principal's, or of everybody's, are under way. */
  start(view: CallHandler, request: ToolRequest, principal: string): AskReport {
    this.#makeRoom(principal)
    const ask: Ask = {
      ...{ id: randomUUID(), principal, view, request, cancellation: new Cancellation() },
      ...{ watchers: new Set<() => void>(), outcome: undefined, lastSeen: this.#options.clock.now() },
    }
    this.#asks.set(ask.id, ask)
    this.#run(ask, request)
    this.#sweep ??= this.#options.clock.after(SWEEP, () => this.#look())
    return reportOf(ask)
  }

  /** How a call stands, after at most `wait` ms of running on. Throws `ASK_UNKNOWN`. */
  async get(id: string, principal: string, wait: number): Promise<AskReport> {
    const ask = this.#find(id, principal)
    if (ask.outcome === undefined && wait > 0) await this.#change(ask, Math.min(wait, MAX_WAIT))
    ask.lastSeen = this.#options.clock.now()
    return reportOf(ask)
  }

  /** Answers the questions of a call, which runs on. Throws `ASK_UNKNOWN`, or `USAGE` where nothing is asked. */
  answer(id: string, principal: string, answers: JsonObject): AskReport {
    const ask = this.#find(id, principal)
    if (ask.outcome?.status !== 'input_required') {
      throw new McpxError('USAGE', `The call is ${reportOf(ask).status}: it asks nothing now.`)
    }
    const { state } = ask.outcome
    ask.outcome = undefined
    this.#run(ask, { ...ask.request, answers, state })
    return reportOf(ask)
  }

  /** Ends a call, on its server too, and forgets it. Throws `ASK_UNKNOWN`. */
  drop(id: string, principal: string): void {
    this.#end(this.#find(id, principal), 'its caller gave it up')
  }

  stop(): void {
    this.#sweep?.cancel()
    for (const ask of this.#asks.values()) this.#end(ask, 'mcpx is being stopped')
  }

  /** Where it is full, the oldest call that is over is forgotten; one that is under way never is. */
  #makeRoom(principal: string): void {
    const all = [...this.#asks.values()]
    const own = all.filter((ask) => ask.principal === principal)
    const [whose, full] = own.length >= PER_PRINCIPAL ? ['yours', own] : ['all callers', all]
    if (full === all && all.length < IN_ALL) return
    const oldest = full.find(isOver)
    if (oldest !== undefined) this.#asks.delete(oldest.id)
    else {
      const text = `${full.length} calls of ${whose} are under way. Answer some, or give them up: DELETE /v1/ask/{id}.`
      throw new McpxError('TOO_MANY_PARKED', text)
    }
  }

  #run(ask: Ask, request: ToolRequest): void {
    const { principal, cancellation, view } = ask
    void callTool(view, request, { caller: { principal }, cancellation }).then((outcome) => {
      ask.outcome = outcome
      ask.lastSeen = this.#options.clock.now()
      for (const watcher of ask.watchers) watcher()
    })
  }

  #end(ask: Ask, reason: string): void {
    this.#asks.delete(ask.id)
    ask.cancellation.cancel(reason)
    // A call that waits for answers is nobody's at the moment: whoever comes back for it, and leaves, ends it.
    if (ask.outcome?.status === 'input_required')
      this.#run(ask, { ...ask.request, answers: {}, state: ask.outcome.state })
  }

  #find(id: string, principal: string): Ask {
    const ask = this.#asks.get(id)
    if (ask === undefined || ask.principal !== principal) {
      throw new McpxError(
        'ASK_UNKNOWN',
        `There is no call "${clip(id)}": it ended a while ago, or was dropped. Make it anew.`,
      )
    }
    ask.lastSeen = this.#options.clock.now()
    return ask
  }

  #change(ask: Ask, wait: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel()
        ask.watchers.delete(done)
        resolve()
      }
      const timer = this.#options.clock.after(wait, done)
      ask.watchers.add(done)
    })
  }

  #look(): void {
    const now = this.#options.clock.now()
    for (const ask of this.#asks.values()) {
      if (ask.watchers.size > 0) continue
      const limit = isOver(ask) ? KEPT : this.#options.patience()
      if (now - ask.lastSeen > limit) this.#end(ask, 'nobody came back for it')
    }
    this.#sweep = this.#asks.size > 0 ? this.#options.clock.after(SWEEP, () => this.#look()) : undefined
  }
}

function isOver({ outcome }: Ask): boolean {
  return outcome !== undefined && outcome.status !== 'input_required'
}

function reportOf({ id, outcome }: Ask): AskReport {
  switch (outcome?.status) {
    case undefined:
      return { id, status: 'running' }
    case 'input_required':
      return { id, status: 'input_required', questions: outcome.questions }
    case 'done':
      return { id, status: 'done', result: outcome.result }
    case 'failed':
      return { id, status: 'failed', ...failureOf(outcome.error) }
  }
}

function failureOf({ code, message, data: { error } }: McpxError): Omit<Failed, 'id' | 'status'> {
  return { code, detail: message, ...(error === undefined ? {} : { error }) }
}
