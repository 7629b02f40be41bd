// Tasks across: made of calls in whichever form the server has them, known to callers under ids of mcpx's own.
import { isObject, McpxError } from '../../base/index.ts'
import type { Cancellation, Clock, JsonObject } from '../../base/index.ts'
import type { Connection, TaskAsker } from '../../pool/index.ts'
import { eraOf, METHOD } from '../../spec/index.ts'
import type { Answer, Call, Caller } from '../../wire/index.ts'
import type { Errand } from '../errand.ts'
import type { Questions } from '../questions/index.ts'
import { Book, MAX_TTL } from './book.ts'
import type { Entry } from './book.ts'
import { drive } from './drive.ts'
import type { Drive } from './drive.ts'
import { HeldTask } from './held.ts'
import type { TaskIds } from './ids.ts'
import type { TaskServer } from './party.ts'
import {
  formOfCaller,
  isTerminal,
  lowerTask,
  missingTasks,
  needsTasks,
  raiseTask,
  readCreated,
  seedOf,
} from './shape.ts'
import type { TaskForm, TaskState } from './shape.ts'
import { TheirTask } from './theirs.ts'

export interface TasksOptions {
  readonly ids: TaskIds
  readonly clock: Clock
  readonly questions: Questions
  readonly newId: () => string
}

/**
 * How long a caller that wants a task waits for its server's own one, or for an error, in ms: a server of 2025-11-25 that was
 * asked for a task makes one, one with the extension may, and any other can only refuse.
 */
const GRACE = { core: 10_000, extension: 2_000, none: 250 }
/** What the outcome of a server's own task may have to be kept here too, in characters. */
const MAX_KEPT = 65_536

interface Served {
  readonly answer: Answer
  readonly connection: Connection | undefined
}

/** A call as it is sent to a server of that form, or why it is not. */
type Prepared = { readonly errand: Errand } | { readonly refusal: Answer }

export class Tasks {
  readonly book: Book
  readonly #options: TasksOptions

  constructor(options: TasksOptions) {
    this.#options = options
    this.book = new Book(options.clock)
  }

  /** Runs a call of a tool: as a task where its caller takes one and its server gives one, or where its caller asks for one. */
  async call(member: TaskServer, call: Call, errand: Errand): Promise<Answer> {
    const form = formOfCaller(call.caller)
    const asked = form === 'core' && isObject(errand.params?.['task'])
    const offer = await member.tasksFor(call)
    if (offer === 'none' && !asked) return member.run(call, errand)
    const prepared = await this.#prepare(member, call, { errand, offer, asked })
    if ('refusal' in prepared) return prepared.refusal
    if (asked) return this.#hold(member, call, prepared.errand)
    const { answer, connection } = await this.#run(member, call, prepared.errand)
    const created = readCreated(answer)
    if (created === undefined) return answer
    const entry = await this.#adopt(member, call.caller, { created, connection })
    entry.hidden = form !== 'extension'
    if (form === 'extension') return { result: { ...seedOf(entry.state), resultType: 'task' } }
    return this.drive(entry, call, { longest: member.longest, owned: true })
  }

  /** A task as it is now, under the id that callers know. Rejects with an McpxError. */
  async look(entry: Entry, caller: Caller): Promise<Answer> {
    if (isTerminal(entry.state) && hasOutcome(entry.state)) return { result: entry.state }
    const answer = await entry.task.look(caller)
    if ('error' in answer) return answer
    const state = { ...answer.result, resultType: 'complete', taskId: entry.id }
    if (!isTerminal(state)) {
      this.book.see(entry, state)
      return { result: state }
    }
    // Small outcomes are kept, so that they outlive the instance; the server is asked again for others.
    const small = entry.held || JSON.stringify(state).length <= MAX_KEPT
    this.book.see(entry, small ? state : { ...seedOf(state) })
    if (entry.task instanceof TheirTask) entry.task.rest()
    return { result: state }
  }

  /** Waits for what a task comes to. */
  drive(entry: Entry, call: Call, how: Drive): Promise<Answer> {
    const { clock, questions } = this.#options
    return drive(
      entry,
      { ...how, call },
      {
        ...{ clock, questions },
        look: (one) => this.look(one, call.caller),
        listen: (one, listener) => this.book.listen(one.id, listener),
      },
    )
  }

  /** The task that an id names for a caller, of one of these servers; undefined where there is none. */
  find(id: unknown, caller: Caller, members: readonly TaskServer[]): Entry | undefined {
    const ref = this.#options.ids.read(id, caller.principal)
    const member = ref && members.find(({ name }) => name === ref.server)
    if (ref === undefined || member === undefined) return undefined
    const known = this.book.get(String(id))
    if (known !== undefined || ref.held) return known
    // Another process of mcpx made it, or this one has forgotten it.
    const task = new TheirTask({ member, id: ref.id, clock: this.#options.clock })
    const state = { taskId: String(id), status: 'working', ttlMs: null }
    return this.book.add({
      id: String(id),
      member,
      own: ref.id,
      held: false,
      task,
      caller,
      hidden: false,
      state,
    })
  }

  /** A server told of a task outside of calls. */
  heard(member: TaskServer, method: string, params: JsonObject): void {
    const { taskId } = params
    const entry = typeof taskId === 'string' ? this.book.find(member.name, taskId) : undefined
    if (entry === undefined) return
    const state = method === METHOD.taskStatus ? raiseTask(params) : params
    // What a server of 2025-11-25 tells lacks the outcome and the questions.
    if (method === METHOD.taskStatus && state['status'] !== 'working')
      return void this.look(entry, entry.caller).catch(() => {})
    this.book.see(entry, { ...state, taskId: entry.id })
  }

  /** Who answers what a server asks for a task of its own. */
  asker(member: TaskServer, own: string): TaskAsker | undefined {
    return this.book.find(member.name, own)?.task.ask
  }

  async #prepare(
    member: TaskServer,
    { caller }: Call,
    { errand, offer, asked }: { readonly errand: Errand; readonly offer: TaskForm; readonly asked: boolean },
  ): Promise<Prepared> {
    const { task, ...params } = errand.params ?? {}
    const takes = formOfCaller(caller) === 'extension' || asked
    if (offer === 'none') return { errand: { ...errand, params } }
    if (offer === 'extension')
      return { errand: { ...errand, params: asked ? params : errand.params, tasks: takes } }
    const support = await member.taskSupport(caller, String(params['name']))
    if (support === 'forbidden' || (support === 'optional' && !takes))
      return { errand: { ...errand, params } }
    if (!takes && eraOf(caller.revision) === 'modern') return { refusal: missingTasks() }
    return { errand: { ...errand, params: { ...params, task: asked ? task : {} } } }
  }

  /** A server that cannot do without a task gets told that one is welcome: mcpx waits for it. */
  async #run(member: TaskServer, call: Call, errand: Errand): Promise<Served> {
    const first = await served(member, call, errand)
    const again =
      eraOf(call.caller.revision) === 'legacy' && errand.tasks !== true && needsTasks(first.answer)
    return again ? served(member, call, { ...errand, tasks: true }) : first
  }

  async #adopt(
    member: TaskServer,
    caller: Caller,
    { created, connection }: { readonly created: TaskState; readonly connection: Connection | undefined },
  ): Promise<Entry> {
    const own = String(created['taskId'])
    const id = this.#options.ids.of({ server: member.name, id: own, held: false }, caller.principal)
    const task = new TheirTask({ member, id: own, clock: this.#options.clock })
    task.lease = connection && (await member.hold(connection, caller).catch(() => undefined))
    const state = { ...created, taskId: id }
    return this.book.add({ id, member, own, held: false, task, caller, hidden: false, state })
  }

  /**
   * A task for a caller that wants one in any case: the server's own where it makes one at once, else one that mcpx holds.
   * An error at once is the call's answer.
   */
  async #hold(member: TaskServer, call: Call, errand: Errand): Promise<Answer> {
    const { clock, newId, ids } = this.#options
    const { caller, cancellation } = call
    if (!this.book.hasRoom(caller.principal)) throw tooMany()
    const wanted = isObject(call.params?.['task']) ? call.params['task']['ttl'] : undefined
    const ttl = typeof wanted === 'number' && wanted > 0 ? Math.min(wanted, MAX_TTL) : MAX_TTL
    const own = newId()
    const id = ids.of({ server: member.name, id: own, held: true }, caller.principal)
    const task = new HeldTask({ id, clock, ttl, maxSize: this.book.room(caller.principal) })
    const entry: Entry = { id, member, own, held: true, task, caller, hidden: false, state: task.state }
    let theirs: Entry | undefined
    let isHeld = false
    const ended = task.run(call, async (detached) => {
      const { answer, connection } = await this.#run(member, detached, errand)
      const created = readCreated(answer)
      if (created === undefined) return answer
      theirs = await this.#adopt(member, caller, { created, connection })
      theirs.hidden = isHeld
      return isHeld ? this.drive(theirs, detached, { longest: MAX_TTL, owned: true }) : answer
    })
    const given = cancellation.onCancel((reason) => task.close(reason))
    const early = await soon(ended, graceOf(errand), { clock, cancellation })
    given()
    if (theirs !== undefined) return createdFor(theirs)
    if (early !== undefined && 'error' in early) return early
    isHeld = true
    this.book.add(entry)
    void ended.then(() => this.book.see(entry, task.state))
    return createdFor(entry)
  }
}

async function served(member: TaskServer, call: Call, errand: Errand): Promise<Served> {
  let connection: Connection | undefined
  const answer = await member.run(call, { ...errand, onServed: (by) => (connection = by) })
  return { answer, connection }
}

function graceOf({ params, tasks }: Errand): number {
  if (params?.['task'] !== undefined) return GRACE.core
  return tasks === true ? GRACE.extension : GRACE.none
}

/** The result that tells a caller of 2025-11-25 of its task. Every task begins by working. */
function createdFor({ state }: Entry): Answer {
  const { _meta: meta, ...rest } = lowerTask(state)
  const task = { ...rest, status: 'working' }
  return { result: { resultType: 'complete', task, ...(meta !== undefined && { _meta: meta }) } }
}

function hasOutcome({ status, result, error }: TaskState): boolean {
  return status === 'cancelled' || result !== undefined || error !== undefined
}

/** What comes within that many ms, or undefined. */
function soon(
  ended: Promise<Answer>,
  ms: number,
  { clock, cancellation }: { readonly clock: Clock; readonly cancellation: Cancellation },
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => resolve(undefined))
    const forget = cancellation.onCancel(() => resolve(undefined))
    void ended.then((answer) => {
      timer.cancel()
      forget()
      resolve(answer)
    })
  })
}

function tooMany(): McpxError {
  return new McpxError(
    'TOO_MANY_PARKED',
    'Too many tasks are held for the caller already. Fetch the outcome of some of them, cancel some, or make the call without a task.',
  )
}
