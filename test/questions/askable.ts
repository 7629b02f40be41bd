// Official clients that can be asked: what each was asked is kept, and answered in a way that names the question.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Address, Command, JsonObject } from '../peers/peer.ts'
import { ROOT } from '../peers/processes.ts'

export const KINDS = ['v2 modern', 'v2 legacy', 'v1'] as const
export type Kind = (typeof KINDS)[number]

export interface Askable extends AsyncDisposable {
  /** What it was asked, in order. */
  readonly asked: readonly { readonly method: string; readonly params: JsonObject }[]
  /** What it says of its roots. */
  roots: readonly JsonObject[]
  callTool(name: string, args: JsonObject): Promise<JsonObject>
  getPrompt(name: string, args: Record<string, string>): Promise<JsonObject>
  readResource(uri: string): Promise<JsonObject>
  rootsChanged(): Promise<void>
}

const INFO = { name: 'askable', version: '1.0.0' }
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } }

/** What a client answers: the form's words each repeat the message. */
function answerTo(method: string, params: JsonObject, roots: readonly JsonObject[]): JsonObject {
  if (method === 'roots/list') return { roots }
  if (method === 'sampling/createMessage') {
    const { messages } = params as { messages: { content: { text: string } | { text: string }[] }[] }
    const said = [messages[0]?.content].flat()[0]?.text
    return { role: 'assistant', model: 'test', content: { type: 'text', text: `sampled for ${said}` } }
  }
  const { requestedSchema, message } = params as {
    requestedSchema?: { properties: Record<string, { type: string }>; required?: string[] }
    message: string
  }
  const content = Object.fromEntries(
    (requestedSchema?.required ?? []).map((name) => {
      const boolean = requestedSchema?.properties[name]?.type === 'boolean'
      return [name, boolean ? true : `told for ${message}`]
    }),
  )
  return requestedSchema === undefined ? { action: 'accept' } : { action: 'accept', content }
}

export async function openAskable(
  kind: Kind,
  address: Address,
  capabilities: JsonObject = CAPABILITIES,
): Promise<Askable> {
  const asked: { method: string; params: JsonObject }[] = []
  const state = { roots: [{ uri: 'file:///one', name: 'one' }] as readonly JsonObject[] }
  const answer = async (request: object): Promise<never> => {
    const { method, params = {} } = request as { method: string; params?: JsonObject }
    asked.push({ method, params })
    return answerTo(method, params, state.roots) as never
  }
  const client =
    kind === 'v1'
      ? await openV1(address, capabilities, answer)
      : await openV2(kind, address, { capabilities, answer })
  return {
    asked,
    get roots() {
      return state.roots
    },
    set roots(roots) {
      state.roots = roots
    },
    callTool: async (name, args) => ({ ...(await client.callTool({ name, arguments: args })) }),
    getPrompt: async (name, args) => ({ ...(await client.getPrompt({ name, arguments: args })) }),
    readResource: async (uri) => ({ ...(await client.readResource({ uri })) }),
    rootsChanged: () => client.sendRootsListChanged(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

interface Sdk {
  callTool(params: { name: string; arguments: JsonObject }): Promise<object>
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<object>
  readResource(params: { uri: string }): Promise<object>
  sendRootsListChanged(): Promise<void>
  close(): Promise<void>
}

type Answering = (request: object) => Promise<never>

async function openV2(
  kind: Kind,
  address: Address,
  { capabilities, answer }: { readonly capabilities: JsonObject; readonly answer: Answering },
): Promise<Sdk> {
  const mode = kind === 'v2 modern' ? 'auto' : 'legacy'
  const client = new Client(INFO, { versionNegotiation: { mode }, capabilities })
  if (capabilities['elicitation']) client.setRequestHandler('elicitation/create', answer)
  if (capabilities['sampling']) client.setRequestHandler('sampling/createMessage', answer)
  if (capabilities['roots']) client.setRequestHandler('roots/list', answer)
  await client.connect(
    'url' in address
      ? new StreamableHTTPClientTransport(new URL(address.url))
      : new StdioClientTransport(parameters(address)),
  )
  return client
}

async function openV1(address: Address, capabilities: JsonObject, answer: Answering): Promise<Sdk> {
  const client = new ClientV1(INFO, { capabilities })
  if (capabilities['elicitation']) client.setRequestHandler(ElicitRequestSchema, answer)
  if (capabilities['sampling']) client.setRequestHandler(CreateMessageRequestSchema, answer)
  if (capabilities['roots']) client.setRequestHandler(ListRootsRequestSchema, answer)
  const transport: TransportV1 =
    'url' in address ? new HttpV1(new URL(address.url)) : new StdioV1(parameters(address))
  await client.connect(transport)
  return client
}

function parameters({ command, args, cwd = ROOT, env }: Command) {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return {
    ...{ command, args: [...args], cwd, stderr: 'ignore' as const },
    env: { ...Object.fromEntries(inherited), ...env },
  }
}
