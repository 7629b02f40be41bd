// What every client in the tests can do, whatever it is made of: SDK v1, SDK v2, or raw frames in a given revision.

export type JsonObject = Record<string, unknown>

export type Ref = { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }

/** A connected client. A method rejects with an error that has the JSON-RPC `code` where the server answered with one. */
export interface Peer extends AsyncDisposable {
  /** The revision that the connection speaks. */
  readonly revision: string
  listTools(): Promise<JsonObject[]>
  callTool(name: string, args: JsonObject): Promise<JsonObject>
  listPrompts(): Promise<JsonObject[]>
  getPrompt(name: string, args: Record<string, string>): Promise<JsonObject>
  listResources(): Promise<JsonObject[]>
  readResource(uri: string): Promise<JsonObject>
  listResourceTemplates(): Promise<JsonObject[]>
  complete(ref: Ref, argument: { name: string; value: string }): Promise<JsonObject>
  close(): Promise<void>
}

/** How to start a server on stdio. `env` is added to the environment of this process. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export type Address = { readonly url: string } | Command

/** A JSON-RPC error that a raw client was answered with. */
export class AnsweredError extends Error {
  override readonly name = 'AnsweredError'
  readonly code: number
  readonly data: unknown

  constructor(error: { code: number; message: string; data?: unknown }) {
    super(error.message)
    this.code = error.code
    this.data = error.data
  }
}

/** The JSON-RPC code of an error of any of the clients. */
export function codeOf(cause: unknown): number | undefined {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  return typeof code === 'number' ? code : undefined
}

/** Walks the pages of a list. A server that does not have the method has nothing to list. */
export async function everyPage(
  member: string,
  ask: (cursor: string | undefined) => Promise<JsonObject>,
): Promise<JsonObject[]> {
  const items: JsonObject[] = []
  const emptyPage: JsonObject = {}
  let cursor: string | undefined
  do {
    const page = await ask(cursor).catch((cause: unknown) => {
      if (codeOf(cause) === -32601) return emptyPage
      throw cause
    })
    items.push(...((page[member] ?? []) as JsonObject[]))
    cursor = page['nextCursor'] as string | undefined
  } while (cursor !== undefined)
  return items
}
