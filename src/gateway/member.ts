// One server as the gateway sees it: how to reach it, what it offers, and what it is called in public.
import { asMcpxError, clip, isObject, McpxError } from '../base/index.ts'
import type { Clock, JsonObject, Log } from '../base/index.ts'
import type { Upstream } from '../pool/index.ts'
import { ERRORS } from '../spec/index.ts'
import { raise, raiseError } from '../wire/index.ts'
import type { Answer, Call } from '../wire/index.ts'
import { Changes } from './changes.ts'
import type { ChangedList } from './changes.ts'
import { toolFilter } from './filter.ts'
import type { ToolFilter } from './filter.ts'
import { forCatalogue, ServerLists } from './lists.ts'
import { publicName } from './names.ts'

export interface MemberOptions {
  readonly upstream: Upstream
  /** What leads its public names where several servers stand together. */
  readonly prefix: string
  readonly filter: ToolFilter
}

/** What is asked of a server for a caller. */
export interface Errand {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export class Member {
  readonly upstream: Upstream
  readonly prefix: string
  readonly allows: (tool: string) => boolean
  readonly changes = new Changes()
  readonly #io: { readonly clock: Clock; readonly log: Log }
  readonly #lists = new Map<string, ServerLists>()

  constructor(options: MemberOptions, io: { readonly clock: Clock; readonly log: Log }) {
    this.upstream = options.upstream
    this.prefix = options.prefix
    this.allows = toolFilter(options.filter)
    this.#io = io
  }

  get name(): string {
    return this.upstream.name
  }

  /** The lists that a principal sees: shared by all where the server is. */
  lists(principal: string): ServerLists {
    const key = this.upstream.spec.scope === 'global' ? '' : principal
    let lists = this.#lists.get(key)
    if (lists === undefined) {
      lists = new ServerLists(this.upstream, forCatalogue(principal), this.#io)
      this.#lists.set(key, lists)
    }
    return lists
  }

  /** Every principal's lists, for what concerns all of them. */
  allLists(): Iterable<ServerLists> {
    return this.#lists.values()
  }

  /** Whether the server says of itself when a list changes, over a connection on which mcpx hears it. */
  announces(kind: ChangedList): boolean {
    const connection = this.upstream.current
    if (connection?.verdict.era !== 'legacy' || connection.verdict.transport !== 'stdio') return false
    const declared = connection.capabilities[kind]
    return isObject(declared) && declared['listChanged'] === true
  }

  publicName(name: string): string {
    return publicName(this.prefix, name)
  }

  /** Runs a call's errand on this server and resolves with the answer in the newest shape. Rejects with an McpxError. */
  async run(call: Call, errand: Errand): Promise<Answer> {
    const { answer, connection } = await this.upstream.request(call.caller, {
      ...errand,
      cancellation: call.cancellation,
      onNotification: call.wantsProgress ? (method, params) => call.notify(method, params) : undefined,
    })
    const spoken = connection.verdict.revision
    if ('result' in answer) return { result: raise(errand.method, answer.result, spoken) }
    if (HOP_ERRORS.has(answer.error.code)) throw this.#hopError(errand.method, answer.error)
    return { error: raiseError(answer.error, spoken, { method: errand.method, uri: uriOf(errand.params) }) }
  }

  /** The capabilities that the server declared, opening it where it is not open yet. Rejects with the start's McpxError. */
  async describe(principal: string): Promise<{ capabilities: JsonObject; instructions: string | undefined }> {
    const lease = await this.upstream.lease(forCatalogue(principal))
    try {
      const { capabilities, verdict } = lease.connection
      const { instructions } = verdict.opening
      return { capabilities, instructions: typeof instructions === 'string' ? instructions : undefined }
    } catch (error) {
      throw asMcpxError(error)
    } finally {
      lease.release()
    }
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

function uriOf(params: JsonObject | undefined): string | undefined {
  return typeof params?.['uri'] === 'string' ? params['uri'] : undefined
}

const HOP_ERRORS: ReadonlySet<number> = new Set([ERRORS.headerMismatch, ERRORS.unsupportedProtocolVersion])
