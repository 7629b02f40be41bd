// The official clients: SDK v2 in its three ways to open a connection, and SDK v1.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js'
import { everyPage } from './peer.ts'
import type { Address, Command, JsonObject, Peer, Ref } from './peer.ts'
import { ROOT } from './processes.ts'

const INFO = { name: 'sdk-client', version: '1.0.0' }

/** SDK v2: `legacy` initializes, `auto` asks the server first, a pin speaks that revision or fails. */
export async function openSdkV2(address: Address, mode: VersionNegotiationMode): Promise<Peer> {
  const client = new Client(INFO, { versionNegotiation: { mode } })
  const transport =
    'url' in address
      ? new StreamableHTTPClientTransport(new URL(address.url))
      : new StdioClientTransport(stdioParameters(address))
  await client.connect(transport)
  return sdkPeer(client, client.getNegotiatedProtocolVersion() ?? '')
}

export async function openSdkV1(address: Address): Promise<Peer> {
  const client = new ClientV1(INFO)
  if ('url' in address) {
    const transport = new HttpV1(new URL(address.url))
    await client.connect(transport)
    return sdkPeer(client, transport.protocolVersion ?? '')
  }
  let revision = ''
  const transport: TransportV1 = new StdioV1(stdioParameters(address))
  // The client says what was agreed to its transport only.
  transport.setProtocolVersion = (agreed) => (revision = agreed)
  await client.connect(transport)
  return sdkPeer(client, revision)
}

/** What both generations of the client have in common; their own types differ too much to name it by them. */
interface SdkClient {
  listTools(params: { cursor?: string }): Promise<object>
  callTool(params: { name: string; arguments: JsonObject }): Promise<object>
  listPrompts(params: { cursor?: string }): Promise<object>
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<object>
  listResources(params: { cursor?: string }): Promise<object>
  readResource(params: { uri: string }): Promise<object>
  listResourceTemplates(params: { cursor?: string }): Promise<object>
  complete(params: { ref: Ref; argument: { name: string; value: string } }): Promise<object>
  close(): Promise<void>
}

function sdkPeer(client: SdkClient, revision: string): Peer {
  const plain = async (result: Promise<object>) => ({ ...(await result) }) as JsonObject
  const page = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor })
  return {
    revision,
    listTools: () => everyPage('tools', (cursor) => plain(client.listTools(page(cursor)))),
    callTool: (name, args) => plain(client.callTool({ name, arguments: args })),
    listPrompts: () => everyPage('prompts', (cursor) => plain(client.listPrompts(page(cursor)))),
    getPrompt: (name, args) => plain(client.getPrompt({ name, arguments: args })),
    listResources: () => everyPage('resources', (cursor) => plain(client.listResources(page(cursor)))),
    readResource: (uri) => plain(client.readResource({ uri })),
    listResourceTemplates: () =>
      everyPage('resourceTemplates', (cursor) => plain(client.listResourceTemplates(page(cursor)))),
    complete: (ref, argument) => plain(client.complete({ ref, argument })),
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

function stdioParameters({ command, args, cwd = ROOT, env }: Command) {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const stderr = 'ignore' as const
  return { command, args: [...args], cwd, env: { ...Object.fromEntries(inherited), ...env }, stderr }
}
