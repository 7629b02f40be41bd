// `Mcp-Param-*`: headers that repeat arguments of a tool, as the tool's own schema says.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
import { isObject } from '../../base/index.ts'
import type { Clock, JsonObject } from '../../base/index.ts'
import { headerValues } from '../../era/index.ts'
import type { InboundHeaders } from '../../era/index.ts'
import { METHOD } from '../../spec/index.ts'
import { paramHeaderFault, readParamHeaders } from '../../wire/index.ts'
import type { ParamHeader, RpcRequest } from '../../wire/index.ts'
import type { MethodContext, ModernEraOptions } from './options.ts'

type Table = ReadonlyMap<string, readonly ParamHeader[]>

/** Lists that go on for longer than this are not read to their end. */
const MAX_PAGES = 100

/**
 * Knows which arguments the listed tools want repeated. A list that its hints call public is kept as long as they say; any
 * other may differ from caller to caller, and is asked for anew with each call.
 */
export class ToolHeaders {
  readonly #options: ModernEraOptions
  readonly #clock: Clock
  #kept: { readonly table: Table; readonly until: number } | undefined

  constructor(options: ModernEraOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  /** Why a call's headers contradict its arguments, or undefined. Rejects with what the list method throws. */
  async faultOf(
    message: RpcRequest,
    headers: InboundHeaders,
    context: MethodContext,
  ): Promise<string | undefined> {
    const name = message.params?.['name']
    if (message.method !== METHOD.toolsCall || typeof name !== 'string') return undefined
    const params = (await this.#table(context)).get(name)
    return (
      params && paramHeaderFault(params, message.params?.['arguments'], (of) => headerValues(headers, of))
    )
  }

  async #table(context: MethodContext): Promise<Table> {
    const { ttlMs = 0, cacheScope } = this.#options.hints?.[METHOD.toolsList] ?? {}
    if (cacheScope !== 'public' || ttlMs <= 0) return this.#read(context)
    if (this.#kept === undefined || this.#clock.now() >= this.#kept.until)
      this.#kept = { table: await this.#read(context), until: this.#clock.now() + ttlMs }
    return this.#kept.table
  }

  async #read(context: MethodContext): Promise<Table> {
    const table = new Map<string, readonly ParamHeader[]>()
    const { methods } = this.#options
    const list = Object.hasOwn(methods, METHOD.toolsList) ? methods[METHOD.toolsList] : undefined
    if (list === undefined) return table
    let cursor: unknown
    for (let page = 0; page < MAX_PAGES; page++) {
      const result = await list(cursor === undefined ? {} : { cursor }, context)
      if (!isObject(result)) break
      for (const tool of toolsOf(result)) {
        const read = readParamHeaders(tool['inputSchema'])
        // Clients must not call a tool whose annotations are wrong, so there is nothing to hold them to.
        if (read.ok && read.params.length > 0) table.set(String(tool['name']), read.params)
      }
      cursor = result['nextCursor']
      if (typeof cursor !== 'string') break
    }
    return table
  }
}

function toolsOf(result: JsonObject): JsonObject[] {
  const tools = result['tools']
  return Array.isArray(tools) ? tools.filter(isObject) : []
}
