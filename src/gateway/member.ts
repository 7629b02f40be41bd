// One server as the gateway sees it: how to reach it, what it offers, and what it is called in public.
import { asMcpxError, clip, isObject, keepLatest, McpxError } from '../base/index.ts'
import type { Cancellation, Clock, JsonObject, Log } from '../base/index.ts'
import type { Connection, Lease, LeaseFor, Served, Upstream, UpstreamRequest } from '../pool/index.ts'
import { ERRORS, METHOD, methodIn, newest, revision as revisionFacts } from '../spec/index.ts'
import { answerable, raise, raiseError } from '../wire/index.ts'
import type { Answer, Call, Caller, Remark } from '../wire/index.ts'
import { CHANGED_LISTS, Changes, SUBSCRIBABLE } from './changes.ts'
import type { ChangedList } from './changes.ts'
import { toolFilter } from './filter.ts'
import type { ToolFilter } from './filter.ts'
import type { Errand, Reply } from './errand.ts'
import { Hearing } from './hearing.ts'
import { forCatalogue, LISTS, ServerLists } from './lists.ts'
import type { List, ListKind } from './lists.ts'
import { publicName } from './names.ts'
import type { AskingServer, Questions, Strays } from './questions/index.ts'
import { Relist } from './relist.ts'
import { Subscriptions } from './subscriptions.ts'
import { formOfServer, retold, supportOf, takingTasks } from './tasks/index.ts'
import type { TaskForm, TaskIds, TaskRequest, TaskSupport } from './tasks/index.ts'

export interface MemberOptions {
  readonly upstream: Upstream
  /** What leads its public names where several servers stand together. */
  readonly prefix: string
  readonly filter: ToolFilter
  /** What the server may see, whoever calls; only a server that is shared by all has such roots. */
  readonly roots?: readonly JsonObject[] | undefined
}

/** What the servers of one gateway share. */
export interface MemberIo {
  readonly clock: Clock
  readonly log: Log
  readonly questions: Questions
  readonly strays: Strays
  readonly taskIds: TaskIds
  /** How long a list is waited for, in ms. */
  readonly patience: () => number
}

/** Who asks, as far as lists depend on it. */
export type Asking = Pick<Caller, 'principal' | 'capabilities' | 'revision'>

export class Member {
  readonly upstream: Upstream
  readonly prefix: string
  readonly allows: (tool: string) => boolean
  readonly changes = new Changes()
  readonly #io: MemberIo
  readonly #roots: readonly JsonObject[] | undefined
  readonly #lists = new Map<string, ServerLists>()
  readonly #warned = new Map<string, true>()
  readonly #hearings = new Map<Connection, Hearing>()
  readonly #subscriptions = new Map<string, Subscriptions>()
  readonly #relist: Relist

  constructor(options: MemberOptions, io: MemberIo) {
    this.upstream = options.upstream
    this.prefix = options.prefix
    this.allows = toolFilter(options.filter)
    this.#roots = options.roots
    this.#io = io
    this.#relist = new Relist({
      ...{ server: this.name, clock: io.clock, log: io.log },
      lists: () => this.allLists(),
      tell: (kind) => this.changes.tell(kind),
    })
    this.upstream.onStray = (inquiry, owner) =>
      io.strays.answer(inquiry, this.#asking({ lead: undefined }), owner)
  }

  get name(): string {
    return this.upstream.name
  }

  /** The lists that a caller sees: shared by all whom the server cannot tell apart. */
  lists(caller: Asking): ServerLists {
    const who = this.#who(caller)
    const key = this.upstream.sharing(who)
    let lists = this.#lists.get(key)
    if (lists === undefined) {
      const onLate = (kind: ListKind): void => this.changes.tell(LISTS[kind].capability)
      lists = new ServerLists(this.upstream, who, { ...this.#io, onLate, warned: this.#warned })
    }
    keepLatest(this.#lists, [key, lists], MAX_LISTS)
    return lists
  }

  /** The tools as somebody saw them last, whoever it was. */
  get latestTools(): List | undefined {
    return [...this.#lists.values()]
      .map((lists) => lists.known('tools'))
      .findLast((list) => list !== undefined)
  }

  /** Every principal's lists, for what concerns all of them. */
  allLists(): Iterable<ServerLists> {
    return this.#lists.values()
  }

  /**
   * Whether changes of a list will be told: by the server itself, or, while it has not shown what it offers, by mcpx once it
   * does.
   */
  announces(kind: ChangedList): boolean {
    const { current } = this.upstream
    if (current === undefined) return true
    const hearing = this.#hearings.get(current)
    if (hearing !== undefined) return hearing.hears(kind)
    const declared = current.capabilities[kind]
    return isObject(declared) && declared['listChanged'] === true
  }

  /** Resolves when it is known what the server tells of. Rejects with the start's McpxError. */
  async settled(caller: Asking): Promise<void> {
    await this.describe(caller)
    const { current } = this.upstream
    if (current !== undefined) await this.#hearings.get(current)?.ready
  }

  /** A connection to the server is open: what it tells is heard, and what changed while it was away is looked for. */
  started(connection: Connection): void {
    this.#forgetClosed()
    if (connection.asks === 'by-result') this.#hearing(connection)
    for (const kind of CHANGED_LISTS) {
      const known = [...this.#lists.values()].some((lists) => lists.known(kind) !== undefined)
      if (known) this.#relist.changed(kind)
    }
  }

  /** Somebody has logged in, so that lists may be had which nobody has seen yet. */
  entered(): void {
    for (const kind of CHANGED_LISTS) this.#relist.changed(kind)
  }

  stopped(): void {
    this.#forgetClosed()
    for (const subscriptions of this.#subscriptions.values()) subscriptions.lost()
  }

  /** The server tells something outside of calls. */
  heard(method: string, params: JsonObject): void {
    if (method === METHOD.resourceUpdated) {
      for (const subscriptions of this.#subscriptions.values()) subscriptions.updated(params)
    }
    for (const kind of CHANGED_LISTS) {
      if (SUBSCRIBABLE[kind].method === method) this.#relist.changed(kind)
    }
  }

  /** Listens to a resource until the returned function is called. Rejects with an McpxError. */
  subscribe(caller: Asking, uri: string, listener: (params: JsonObject) => void): Promise<() => void> {
    const who = this.#who(caller)
    const key = this.upstream.sharing(who)
    let subscriptions = this.#subscriptions.get(key)
    if (subscriptions === undefined) {
      const hearing = (connection: Connection): Hearing => this.#hearing(connection)
      subscriptions = new Subscriptions({ ...this.#io, upstream: this.upstream, who, hearing })
      this.#subscriptions.set(key, subscriptions)
    }
    return subscriptions.add(uri, listener)
  }

  publicName(name: string): string {
    return publicName(this.prefix, name)
  }

  /**
   * Runs a call's errand on this server and resolves with the answer in the newest shape, or with what the caller is asked
   * first. Rejects with an McpxError.
   */
  run(call: Call, errand: Errand): Promise<Answer> {
    if (methodIn(newest(), errand.method)?.mayAsk === true)
      return this.#io.questions.run(this.#asking(errand), { call, params: errand.params })
    return this.#request(call.caller, errand, {
      ...{ params: errand.params, cancellation: call.cancellation },
      ...{ wantsProgress: call.wantsProgress, logLevel: call.logLevel },
      onNotification: (method, params) => call.notify(method, params),
    }).then(({ answer }) => answer)
  }

  /** How the server gives tasks for a caller's calls; it is opened where that is not known. Rejects with the start's McpxError. */
  tasksFor(call: Call): TaskForm | Promise<TaskForm> {
    const { caller, cancellation } = call
    const { scope, tuning } = this.upstream.spec
    // A task outlives its call, so that it needs an instance that does.
    if (scope === 'call' || (scope === 'session' && caller.session === undefined)) return 'none'
    const { current } = this.upstream
    // A caller of its own lane may get another connection than most.
    const follows = tuning().preference === 'follow' && revisionFacts(caller.revision).era === 'legacy'
    if (current !== undefined && !follows) return formOfServer(current)
    const silent = call.asked === 'by-request' && call.ask === undefined
    const who = this.#whoFor(silent ? { ...caller, capabilities: {} } : caller)
    return this.#opened(who, cancellation).then(formOfServer)
  }

  /** What a tool says of being called as a task. */
  async taskSupport(caller: Caller, tool: string): Promise<TaskSupport> {
    const lists = this.lists(caller)
    const list = lists.known('tools') ?? (await lists.within('tools', this.#io.patience())).list
    return supportOf(list?.byKey.get(tool))
  }

  /** The longest that a call may last, in ms. */
  get longest(): number {
    return this.upstream.spec.tuning().callTimeoutMax
  }

  /** Sends a request about a task, over the connection that has it while that is open. Rejects with an McpxError. */
  aboutTask(caller: Caller, request: TaskRequest, over: Connection | undefined): Promise<Reply> {
    const { method, params, ...more } = request
    return this.#request(this.#whoFor(caller), { method, params, tasks: true }, { ...more, params, over })
  }

  /** Keeps the instance of a connection for a caller; undefined where it takes no more leases. */
  hold(connection: Connection, caller: Caller): Promise<Lease | undefined> {
    return this.upstream.hold(connection, this.#whoFor(caller))
  }

  /** Hears what a client says outside of its calls: that its roots are others now. */
  hear(remark: Remark): void {
    const { caller, ask, method } = remark
    if (method !== METHOD.rootsChanged) return
    const owner = this.upstream.ownerOf(caller)
    if (owner !== undefined) void this.#io.strays.renew(owner, ask, this.#asking({ lead: undefined }))
  }

  /** The capabilities that the server declared, opening it where it is not open yet. Rejects with the start's McpxError. */
  async describe(caller: Asking): Promise<Description> {
    const who = this.#who(caller)
    const connection = await this.#opened(who, undefined)
    const { capabilities, verdict } = connection
    const { instructions } = verdict.opening
    return {
      ...{ capabilities, tasks: formOfServer(connection) },
      instructions: typeof instructions === 'string' ? instructions : undefined,
    }
  }

  async #opened(who: LeaseFor, cancellation: Cancellation | undefined): Promise<Connection> {
    const lease = await this.upstream.lease(who, cancellation).catch((error: unknown) => {
      throw asMcpxError(error)
    })
    lease.release()
    return lease.connection
  }

  #whoFor(caller: Caller): LeaseFor {
    const { principal, session, revision } = caller
    return { principal, session, revision, answers: this.#answers(caller) }
  }

  async #request(who: LeaseFor, errand: Errand, { over, ...more }: More): Promise<Reply> {
    const { method, headers, tasks } = errand
    const answers = tasks === true ? takingTasks(who.answers) : who.answers
    const told = retold({ server: this.name, principal: who.principal }, this.#io.taskIds)
    const { params, onNotification } = more
    const request: UpstreamRequest = {
      ...{ principal: who.principal, ...more, method, headers, answers },
      params: told.up(params),
      onNotification: onNotification && ((name, said) => onNotification(name, told.down(said))),
    }
    const { answer, connection } = await (over?.isOpen === true
      ? over.request(request).then((given): Served => ({ answer: given, connection: over }))
      : this.upstream.request(who, request))
    errand.onServed?.(connection)
    const spoken = connection.verdict.revision
    if ('result' in answer)
      return { answer: { result: told.down(raise(method, answer.result, spoken)) }, connection }
    if (HOP_ERRORS.has(answer.error.code)) throw this.#hopError(method, answer.error)
    const error = raiseError(answer.error, spoken, { method, uri: uriOf(errand.params) })
    return { answer: { error }, connection }
  }

  /** The server as those need it who carry its questions. */
  asking(lead?: string): AskingServer {
    return this.#asking({ lead })
  }

  #asking(errand: Pick<Errand, 'lead'> & Partial<Errand>): AskingServer {
    const { method = '', lead } = errand
    return {
      ...{ name: this.name, lead, roots: this.#roots },
      ownerOf: ({ caller }) => this.upstream.ownerOf(caller),
      rootsChanged: (owner) => this.upstream.tell(owner, METHOD.rootsChanged),
      send: async ({ caller, wantsProgress, logLevel }, { answers, ...sending }) => {
        const { principal, session, revision } = caller
        const { answer, connection } = await this.#request(
          { principal, session, revision, answers },
          { ...errand, method, params: sending.params, lead },
          {
            ...sending,
            ...{ wantsProgress, logLevel },
            onInterrupted: () => sending.interrupted?.(),
            onNotification: (name, said) => sending.notify(name, said),
          },
        )
        return { answer, revision: connection.verdict.revision }
      },
    }
  }

  #hearing(connection: Connection): Hearing {
    const known = this.#hearings.get(connection)
    if (known !== undefined) return known
    const { clock, log } = this.#io
    const hearing = new Hearing(connection, {
      ...{ server: this.name, clock, log },
      onChanged: (kind) => this.#relist.changed(kind),
      onUpdated: (params) => this.heard(METHOD.resourceUpdated, params),
      onReopened: () => {
        for (const kind of CHANGED_LISTS) this.#relist.changed(kind)
      },
    })
    this.#hearings.set(connection, hearing)
    return hearing
  }

  #forgetClosed(): void {
    for (const [connection, hearing] of this.#hearings) {
      if (connection.isOpen) continue
      hearing.stop()
      this.#hearings.delete(connection)
    }
  }

  /** A caller as one who leases for what is shared by all whom the server cannot tell apart. */
  #who(caller: Asking): LeaseFor {
    return forCatalogue(caller.principal, this.#answers(caller))
  }

  #answers({ capabilities, revision, principal }: Asking): JsonObject {
    return this.#io.questions.answers(answerable(capabilities, revision), principal)
  }

  /** Errors about the framing concern mcpx's own request; the caller's was well formed. */
  #hopError(method: string, error: { code: number; message: string }): McpxError {
    return new McpxError(
      'UPSTREAM_PROTOCOL',
      `Server "${this.name}" refused the framing of mcpx's ${method} with ${error.code}: ${clip(error.message, 200)}`,
      { data: { error } },
    )
  }
}

/** What a server said of itself when it was opened. */
interface Description {
  readonly capabilities: JsonObject
  readonly instructions: string | undefined
  readonly tasks: TaskForm
}

interface More extends Omit<UpstreamRequest, 'method' | 'headers'> {
  /** The connection to use while it is open. */
  readonly over?: Connection | undefined
}

function uriOf(params: JsonObject | undefined): string | undefined {
  return typeof params?.['uri'] === 'string' ? params['uri'] : undefined
}

/** Lists by who may share them; those that were not used for longest go first. */
const MAX_LISTS = 100

const HOP_ERRORS: ReadonlySet<number> = new Set([ERRORS.headerMismatch, ERRORS.unsupportedProtocolVersion])
