// What a legacy server asks while it works: which call each question belongs to, and when a call that asked is heard again.
//
// Where calls share a pipe nothing on the wire says which of them asks. So of the calls that are known to ask only one runs at
// a time: it holds the running slot until it ends or waits for an answer, and takes it again before its answer is sent.
import { Cancellation, McpxError } from '../base/index.ts'
import type { Clock, Timer } from '../base/index.ts'
import { ERRORS, METHOD } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Answer, Id, RpcRequest } from '../wire/index.ts'
import type { Sighting } from './ask-memory.ts'
import { relatedTaskOf } from './asker.ts'
import type { Asker, StrayInquiry, TaskAsker } from './asker.ts'
import { Ghosts } from './ghosts.ts'
import { Line } from './line.ts'

export interface InquiriesOptions {
  readonly clock: Clock
  readonly revision: RevisionId
  /** Whether the stream that brings a question is that of the call that asks. */
  readonly byStream: boolean
  /** Whether the server was seen to ask on another stream all the same. */
  readonly asksAside: () => boolean
  readonly reply: (id: Id, answer: Answer) => void
  /** Stops and starts a call's patience. */
  readonly pause: (call: Id) => void
  readonly resume: (call: Id) => void
  readonly onStray: (inquiry: StrayInquiry) => Promise<Answer>
  /** Who answers for a task, by the server's own id of it: a question that names its task needs no other attribution. */
  readonly taskAsker?: ((task: string) => TaskAsker | undefined) | undefined
  readonly onSighting: (sighting: Sighting, where: 'own-stream' | 'aside') => void
}

interface Running {
  readonly id: Id
  readonly asker: Asker
  /** Ends with the call. */
  readonly over: Cancellation
  /** Gives the running slot up. */
  leave: (() => void) | undefined
  entering: Promise<void> | undefined
  /** Questions that wait for an answer. */
  open: number
  window: Timer | undefined
  parked: boolean
  /** Whether it is known to ask, and so takes its turn. */
  readonly inTurn: boolean
  /** Whether a question was, or may have been, given to another call: it may run though it counts as waiting, and wait as running. */
  blurred: boolean
}

interface Open {
  readonly request: RpcRequest
  readonly call: Running | undefined
  /** Whether its own stream named the call. */
  readonly named: boolean
  readonly cancellation: Cancellation
}

/** How long a server may take to ask for more before its call counts as waiting, in ms. */
const GATHER = 30
/** Questions of one connection that may be open. */
const MAX_OPEN = 1000

export class Inquiries {
  readonly #options: InquiriesOptions
  readonly #calls = new Map<Id, Running>()
  /** By the server's own id. */
  readonly #open = new Map<Id, Open>()
  readonly #slot = new Line(1)
  /** Calls that were given up. */
  readonly ghosts: Ghosts

  constructor(options: InquiriesOptions) {
    this.#options = options
    this.ghosts = new Ghosts(options.clock)
  }

  /** Questions that wait for an answer. */
  get open(): number {
    return this.#open.size
  }

  /** Waits until a call that is known to ask may run; resolves with what gives the slot up. Rejects with `CANCELLED`. */
  enter(cancellation: Cancellation): Promise<() => void> {
    return this.#slot.enter(cancellation)
  }

  /** Whether a call waits for answers to what it asked. */
  isParked(id: Id): boolean {
    return this.#calls.get(id)?.parked === true
  }

  get needsSlot(): boolean {
    return !this.#options.byStream || this.#options.asksAside()
  }

  /** A call was sent; `leave` gives the slot up that it holds. */
  begin(id: Id, asker: Asker, leave: (() => void) | undefined): void {
    const over = new Cancellation()
    this.#calls.set(id, {
      ...{ id, asker, over, leave, inTurn: leave !== undefined, blurred: false },
      ...{ entering: undefined, open: 0, window: undefined, parked: false },
    })
  }

  /** A call is over: answered, or given up. What is open of it goes to those who may have asked it, or is answered all the same. */
  end(id: Id, how: 'answered' | 'given up' = 'answered'): void {
    const call = this.#calls.get(id)
    if (call === undefined) return
    this.#calls.delete(id)
    call.window?.cancel()
    call.over.cancel('the call is over')
    call.leave?.()
    if (how === 'given up') this.ghosts.add(id, call.asker)
    if (call.open === 0) return
    for (const open of [...this.#open.values()]) {
      if (open.call === call) this.#pass(open, how)
    }
  }

  /** A server asks; `via` is the call whose own stream brought it. */
  onRequest(request: RpcRequest, via: Id | undefined): void {
    const { id } = request
    if (this.#open.has(id) || this.#open.size >= MAX_OPEN) {
      const message = this.#open.has(id)
        ? `Invalid request: a request with id ${JSON.stringify(id)} is open already`
        : `Invalid request: ${MAX_OPEN} requests are open already`
      return this.#options.reply(id, { error: { code: ERRORS.invalidRequest, message } })
    }
    const task = relatedTaskOf(request)
    const taskAsker = task === undefined ? undefined : this.#options.taskAsker?.(task)
    if (taskAsker !== undefined) return this.#aside(request, taskAsker)
    const call = via === undefined ? this.#guess(request.method) : this.#calls.get(via)
    if (via !== undefined && call !== undefined)
      this.#options.onSighting({ exact: call.asker.subject }, 'own-stream')
    if (call !== undefined) return this.#carry(request, call, via !== undefined)
    this.#stray(request, via === undefined ? this.#principals() : [])
  }

  /** A server gave a question up. */
  onCancelled(id: Id): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    this.#open.delete(id)
    open.cancellation.cancel('the server gave the question up')
    if (open.call !== undefined) void this.#heard(open.call)
  }

  close(): void {
    this.#slot.clear(new McpxError('UPSTREAM_CLOSED', 'The connection closed'))
    const open = [...this.#open.values()]
    this.#open.clear()
    for (const { cancellation } of open) cancellation.cancel('the connection closed')
    for (const id of this.#calls.keys()) this.end(id)
    this.ghosts.clear()
  }

  /**
   * The call that asks, as far as that can be said without confusing users. Of several calls of one principal the latest
   * carries the question: the answer goes by the server's own id, so it is right whichever asked.
   */
  #guess(method: string): Running | undefined {
    // Servers ask for roots when they please, whatever is being called: that says nothing of the call.
    const tells = (sighting: Sighting): void => {
      if (method !== METHOD.rootsList) this.#options.onSighting(sighting, 'aside')
    }
    const running = [...this.#calls.values()].filter(({ parked, blurred }) => !parked || blurred)
    const candidates = running.length > 0 ? running : [...this.#calls.values()]
    const [only, ...others] = candidates
    if (only === undefined) return undefined
    if (candidates.some(({ asker }) => this.ghosts.haunts(asker.principal))) {
      tells({ among: [...candidates.map(({ asker }) => asker.subject), ...this.ghosts.subjects] })
      return undefined
    }
    if (others.length === 0) {
      if (running.length > 0) tells({ exact: only.asker.subject })
      return only
    }
    const slotted = candidates.find(({ leave }) => leave !== undefined)
    if (slotted !== undefined) return slotted
    if (running.length > 0) tells({ among: candidates.map(({ asker }) => asker.subject) })
    if (others.some(({ asker }) => asker.principal !== only.asker.principal)) return undefined
    for (const candidate of candidates) candidate.blurred = true
    return latest(candidates)
  }

  #carry(request: RpcRequest, call: Running, named: boolean): void {
    const { id } = request
    const cancellation = new Cancellation()
    const open: Open = { request, call, named, cancellation }
    this.#open.set(id, open)
    if (call.open++ === 0) this.#options.pause(call.id)
    this.#gather(call)
    const { revision } = this.#options
    void call.asker
      .ask({ request, revision, cancellation })
      .then((answer) => this.#answered(open, call, answer))
  }

  /** What no call carries. */
  #stray(request: RpcRequest, among: readonly string[]): void {
    this.#aside(request, (inquiry) => this.#options.onStray({ ...inquiry, among }))
  }

  /** What no call of its own carries. */
  #aside(request: RpcRequest, ask: TaskAsker): void {
    const { id } = request
    const cancellation = new Cancellation()
    const open: Open = { request, call: undefined, named: false, cancellation }
    this.#open.set(id, open)
    const { revision, reply } = this.#options
    void ask({ request, revision, cancellation }).then((answer) => {
      if (this.#open.get(id) !== open) return
      this.#open.delete(id)
      reply(id, answer)
    })
  }

  /** A question whose call is over. On a shared way another call of the principal may have asked it; nobody else's has. */
  #pass({ request, call, named, cancellation }: Open, how: 'answered' | 'given up'): void {
    this.#open.delete(request.id)
    cancellation.cancel(how === 'answered' ? 'the server ended the call' : 'the call was given up')
    if (named || call === undefined) return
    const { principal } = call.asker
    const own = [...this.#calls.values()].filter(({ asker }) => asker.principal === principal)
    const heir = latest(own)
    if (heir === undefined) return this.#stray(request, [principal])
    heir.blurred = true
    this.#carry(request, heir, false)
  }

  /** Whose a question may be that no call can be named for. */
  #principals(): readonly string[] {
    const calls = [...this.#calls.values()].map(({ asker }) => asker.principal)
    return [...new Set([...calls, ...this.ghosts.principals])]
  }

  #gather(call: Running): void {
    call.window?.cancel()
    call.window = this.#options.clock.after(GATHER, () => {
      call.window = undefined
      call.parked = true
      call.leave?.()
      call.leave = undefined
      call.asker.parked()
    })
  }

  async #answered(open: Open, call: Running, answer: Answer): Promise<void> {
    const { id } = open.request
    if (this.#open.get(id) !== open) return
    await this.#run(call)
    // While it waited for the slot the server may have given the question up, or the call may have ended.
    if (this.#open.get(id) !== open) return
    this.#open.delete(id)
    this.#options.reply(id, answer)
    await this.#heard(call)
  }

  /** One question less: the call runs again, or waits for what is still open. */
  async #heard(call: Running): Promise<void> {
    call.open--
    if (call.open > 0) {
      if (!call.parked) this.#gather(call)
      return
    }
    call.window?.cancel()
    call.window = undefined
    if (call.over.reason !== undefined) return
    this.#options.resume(call.id)
    await this.#run(call)
  }

  /** Makes a parked call run again; on a shared pipe it waits for the slot. */
  #run(call: Running): Promise<void> {
    call.entering ??= this.#enter(call).finally(() => {
      call.entering = undefined
    })
    return call.entering
  }

  async #enter(call: Running): Promise<void> {
    if (!call.parked) return
    // One that is not known to ask may wait for what another one carries, which may be whoever has the slot.
    if (this.needsSlot && call.inTurn && call.leave === undefined) {
      try {
        const leave = await this.#slot.enter(call.over, 'ahead')
        if (call.over.reason === undefined) call.leave = leave
        else leave()
      } catch {
        // The call ended meanwhile: nothing is left to run.
      }
    }
    call.parked = false
  }
}

/** The one that was sent last, of those that run if there are any. */
function latest(calls: readonly Running[]): Running | undefined {
  return calls.findLast(({ parked }) => !parked) ?? calls.at(-1)
}
