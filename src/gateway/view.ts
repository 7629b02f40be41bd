// What stands behind one endpoint: all servers under prefixed names, or one server under its own.
import { clip, isObject, McpxError } from '../base/index.ts'
import type { Clock, JsonObject, Log } from '../base/index.ts'
import { ERRORS, METHOD, revisionsOf } from '../spec/index.ts'
import type { ExtensionMethod, Method } from '../spec/index.ts'
import { paramHeaderFault, paramHeadersOf } from '../wire/index.ts'
import type { Answer, Ask, Call, Caller, CallHandler, ParamHeader, Remark } from '../wire/index.ts'
import { ASSUMED, carry } from './carried.ts'
import { gather } from './gather.ts'
import { hintsOf } from './hints.ts'
import { LISTS } from './lists.ts'
import { listen } from './listen.ts'
import type { Listenable } from './listen.ts'
import { Listening } from './listening.ts'
import type { ListKind } from './lists.ts'
import type { Errand } from './errand.ts'
import type { LoginDesk } from './logins.ts'
import type { Asking, Member } from './member.ts'
import { NameRoutes } from './name-routes.ts'
import type { Naming } from './names.ts'
import { pageOf } from './pages.ts'
import { ResourceRoutes } from './resource-routes.ts'
import { aboutTasks, carryTasks, withTaskSupport } from './tasks/index.ts'
import type { Tasks } from './tasks/index.ts'
import { Skills } from './skills.ts'
import { unknown } from './unknown.ts'

export interface ViewOptions {
  readonly members: readonly Member[]
  readonly naming: Naming
  /** How long a list waits for servers that are slow to start, in ms. */
  readonly patience: () => number
  readonly tasks: Tasks
  readonly logins: LoginDesk
  readonly clock: Clock
  readonly log: Log
}

type Handler = (view: View, call: Call) => Promise<Answer>

/** What happens to each request that a client may send. Those that a client's own edge answers never come here. */
const HANDLERS: Partial<Record<Method | ExtensionMethod, Handler>> = {
  [METHOD.discover]: (view, call) => view.discover(call),
  [METHOD.toolsList]: (view, call) => view.list('tools', call),
  [METHOD.promptsList]: (view, call) => view.list('prompts', call),
  [METHOD.resourcesList]: (view, call) => view.list('resources', call),
  [METHOD.templatesList]: (view, call) => view.list('resourceTemplates', call),
  [METHOD.toolsCall]: (view, call) => view.callTool(call),
  [METHOD.promptsGet]: (view, call) => view.getPrompt(call),
  [METHOD.resourcesRead]: (view, call) => view.readResource(call),
  [METHOD.complete]: (view, call) => view.complete(call),
  [METHOD.tasksGet]: (view, call) => view.aboutTasks(call),
  [METHOD.tasksResult]: (view, call) => view.aboutTasks(call),
  [METHOD.tasksList]: (view, call) => view.aboutTasks(call),
  [METHOD.tasksUpdate]: (view, call) => view.aboutTasks(call),
  [METHOD.tasksCancel]: (view, call) => view.aboutTasks(call),
  [METHOD.skillsList]: (view, call) => view.askSkills(call),
  [METHOD.skillsGet]: (view, call) => view.askSkills(call),
  [METHOD.directoryRead]: (view, call) => view.askSkills(call),
  [METHOD.listen]: (view, call) => listen(view.listenable(call), call),
  [METHOD.subscribe]: (view, call) => view.subscribe(call),
  [METHOD.unsubscribe]: (view, call) => view.unsubscribe(call),
}

export class View implements CallHandler {
  readonly members: readonly Member[]
  readonly #options: ViewOptions
  readonly #names: NameRoutes
  readonly #routes: ResourceRoutes
  readonly #skills: Skills
  readonly #sessions = new Map<string, Listening>()

  constructor(options: ViewOptions) {
    this.members = options.members
    this.#options = options
    this.#names = new NameRoutes(options)
    this.#routes = new ResourceRoutes(options.members, options.log)
    this.#skills = new Skills(options, this.#routes)
  }

  /** Whether names stand as the server gave them, because there is only one. */
  get single(): Member | undefined {
    return this.members.length === 1 ? this.members[0] : undefined
  }

  /** Tells a legacy caller what changes, until the returned function is called. */
  tune(caller: Caller, notify: (method: string, params: JsonObject) => void): () => void {
    const session = new Listening({ members: this.members, caller, tasks: this.#options.tasks }, notify)
    const { session: name } = caller
    if (name !== undefined) this.#sessions.set(name, session)
    return () => {
      session.stop()
      if (name !== undefined && this.#sessions.get(name) === session) this.#sessions.delete(name)
    }
  }

  async subscribe(call: Call): Promise<Answer> {
    const uri = uriIn(call)
    const session = this.#sessions.get(call.caller.session ?? '')
    if (session === undefined) return noSession()
    await session.add(uri, (listener) => this.#subscribe(call, uri, listener))
    return { result: { resultType: 'complete' } }
  }

  async unsubscribe(call: Call): Promise<Answer> {
    this.#sessions.get(call.caller.session ?? '')?.remove(uriIn(call))
    return { result: { resultType: 'complete' } }
  }

  /** What a caller can listen to. */
  listenable(call: Call): Listenable {
    const { tasks, clock } = this.#options
    return {
      ...{ members: this.members, tasks, clock },
      settled: async () => {
        await gather(this.members, (member) => member.settled(call.caller), this.#options)
      },
      subscribe: (uri, listener) => this.#subscribe(call, uri, listener),
    }
  }

  async #subscribe(call: Call, uri: string, listener: (params: JsonObject) => void): Promise<() => void> {
    const member = await this.#ownerOf(uri, call)
    return member.subscribe(call.caller, uri, listener)
  }

  /** The caller is asked once, however many servers want to know. */
  hear(remark: Remark): void {
    const { ask } = remark
    let answer: Promise<Answer> | undefined
    const once: Ask | undefined =
      ask && ((question, cancellation) => (answer ??= ask(question, cancellation)))
    for (const member of this.members) member.hear({ ...remark, ask: once })
  }

  handle(call: Call): Promise<Answer> {
    return this.#options.logins.run(call, () => this.#handle(call))
  }

  async #handle(call: Call): Promise<Answer> {
    const handler = HANDLERS[call.method as Method | ExtensionMethod]
    if (handler !== undefined) return handler(this, call)
    // One server may know methods that mcpx does not; several cannot be told apart.
    if (this.single !== undefined) return this.single.run(call, call)
    return { error: { code: ERRORS.methodNotFound, message: `Method not found: ${clip(call.method)}` } }
  }

  async discover(call: Call): Promise<Answer> {
    const { members } = this
    const told = await gather(members, (member) => member.describe(call.caller), this.#options)
    const capabilities: JsonObject = {}
    const instructions: string[] = []
    const among = this.single === undefined ? 'several' : 'alone'
    if (told.length < members.length) carry(ASSUMED, capabilities, among)
    for (const [member, description] of told) {
      carry(description.capabilities, capabilities, among)
      carryTasks(description, call.caller, capabilities)
      if (description.instructions === undefined) continue
      instructions.push(
        this.single === undefined
          ? `# ${member.name}\n\n${description.instructions}`
          : description.instructions,
      )
    }
    return {
      result: {
        resultType: 'complete',
        supportedVersions: [...revisionsOf('modern')],
        capabilities,
        ...(instructions.length > 0 ? { instructions: instructions.join('\n\n') } : {}),
        ttlMs: 0,
        cacheScope: 'private',
      },
    }
  }

  aboutTasks(call: Call): Promise<Answer> {
    return aboutTasks(this.#options.tasks, this.members, call)
  }

  async askSkills(call: Call): Promise<Answer> {
    if (this.single !== undefined) return this.single.run(call, call)
    const { method } = call
    return method === METHOD.skillsList ? this.#skills.list(call) : this.#skills.about(call)
  }

  async list(kind: ListKind, call: Call): Promise<Answer> {
    const { patience } = this.#options
    const parts = await Promise.all(
      this.members.map(async (member) => {
        const lists = member.lists(call.caller)
        const { list, error } = await lists.within(kind, patience())
        if (error !== undefined && this.single !== undefined && list === undefined) throw error
        const listed = list?.items ?? []
        const items = this.#names.publish(
          member,
          kind,
          kind === 'tools' ? withTaskSupport(listed, member, call.caller) : listed,
        )
        return { items, hints: lists.hints(kind) }
      }),
    )
    const all = parts.flatMap(({ items }) => items)
    const items =
      this.single === undefined && kind.startsWith('resource') ? unique(all, LISTS[kind].key) : all
    const page = pageOf(items, call.params?.['cursor'])
    return {
      result: {
        resultType: 'complete',
        [kind]: page.items,
        ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
        ...hintsOf(parts.flatMap(({ hints }) => hints)),
      },
    }
  }

  async callTool(call: Call): Promise<Answer> {
    const { member, native } = await this.#names.find('tools', call)
    if (!member.allows(native)) throw unknown('tools', call.params?.['name'], [])
    const params = renamed(call.params, native)
    await this.#checkHeaders(member, call, params)
    const run = async (): Promise<Answer> => {
      const headers = await this.#paramHeaders(member, call.caller, params)
      return this.#options.tasks.call(
        member,
        call,
        this.#errand(member, { method: call.method, params, headers }),
      )
    }
    const answer = await run().catch(async (error: unknown) => {
      if (!isHeaderMismatch(error)) throw error
      // The tool's annotations changed since it was listed; the server refused before it ran anything.
      const lists = member.lists(call.caller)
      lists.invalidate('tools')
      await lists.get('tools')
      return run()
    })
    if (this.single === undefined) this.#routes.learn(member, answer)
    return answer
  }

  /** Over modern HTTP a caller repeats annotated parameters in headers, on which whoever stands between may have relied. */
  async #checkHeaders(member: Member, call: Call, params: JsonObject): Promise<void> {
    if (call.headerValues === undefined) return
    const annotated = await this.#annotations(member, call.caller, params['name'])
    const fault = paramHeaderFault(annotated, params['arguments'], call.headerValues)
    if (fault !== undefined) throw new McpxError('HEADER_MISMATCH', `Header mismatch: ${fault}`)
  }

  /** The headers that repeat a call's parameters. On a pipe there are none. */
  async #paramHeaders(
    member: Member,
    caller: Asking,
    params: JsonObject,
  ): Promise<Record<string, string> | undefined> {
    if (member.upstream.spec.transport === 'stdio') return undefined
    return paramHeadersOf(await this.#annotations(member, caller, params['name']), params['arguments'])
  }

  /** The annotated parameters of a tool, which are known once its server has listed it. */
  async #annotations(member: Member, caller: Asking, name: unknown): Promise<readonly ParamHeader[]> {
    const lists = member.lists(caller)
    const list = lists.known('tools') ?? (await lists.within('tools', this.#options.patience())).list
    const tool = list?.byKey.get(String(name))
    return tool === undefined ? [] : lists.paramHeaders(tool)
  }

  async getPrompt(call: Call): Promise<Answer> {
    const { member, native } = await this.#names.find('prompts', call)
    return this.#run(member, call, { method: call.method, params: renamed(call.params, native) })
  }

  async readResource(call: Call): Promise<Answer> {
    const uri = call.params?.['uri']
    if (typeof uri !== 'string') throw new McpxError('RESOURCE_UNKNOWN', 'params.uri must be a string')
    const member = await this.#ownerOf(uri, call)
    const answer = await this.#run(member, call, { method: call.method, params: call.params })
    if (this.single === undefined) this.#routes.learn(member, answer)
    return answer
  }

  async complete(call: Call): Promise<Answer> {
    const ref = call.params?.['ref']
    if (this.single !== undefined) return this.single.run(call, call)
    if (isObject(ref) && typeof ref['uri'] === 'string') {
      const member = await this.#routes.find(ref['uri'], call.caller)
      return member.run(call, { method: call.method, params: call.params })
    }
    const name = isObject(ref) ? ref['name'] : undefined
    const { member, native } = await this.#names.find('prompts', { caller: call.caller, params: { name } })
    return member.run(call, {
      method: call.method,
      params: { ...call.params, ref: { ...(ref as JsonObject), name: native } },
    })
  }

  /** The server of a resource. The files of a skill need not be listed as resources. */
  async #ownerOf(uri: string, call: Call): Promise<Member> {
    if (this.single !== undefined) return this.single
    return this.#routes.find(uri, call.caller).catch(async (error: unknown) => {
      const member = await this.#skills.find(uri, call)
      if (member === undefined) throw error
      return member
    })
  }

  /** Several servers stand behind one caller, so that their questions have to say who asks. */
  #errand(member: Member, errand: Errand): Errand {
    return this.single === undefined ? { ...errand, lead: member.name } : errand
  }

  #run(member: Member, call: Call, errand: Errand): Promise<Answer> {
    return member.run(call, this.#errand(member, errand))
  }
}

function uriIn({ params }: Call): string {
  const uri = params?.['uri']
  if (typeof uri === 'string') return uri
  throw new McpxError('RESOURCE_UNKNOWN', 'params.uri must be a string')
}

function noSession(): Answer {
  const message = 'Subscriptions need a session: open one with initialize'
  return { error: { code: ERRORS.invalidRequest, message } }
}

function isHeaderMismatch(error: unknown): boolean {
  const said = error instanceof McpxError ? error.data['error'] : undefined
  return isObject(said) && said['code'] === ERRORS.headerMismatch
}

function renamed(params: JsonObject | undefined, name: string): JsonObject {
  return params !== undefined && params['name'] === name ? params : { ...params, name }
}

/** The first of each name counts: it comes from the server that the configuration names first. */
function unique(items: readonly JsonObject[], key: string): JsonObject[] {
  const byKey = new Map<unknown, JsonObject>()
  for (const item of items) if (!byKey.has(item[key])) byKey.set(item[key], item)
  return [...byKey.values()]
}
