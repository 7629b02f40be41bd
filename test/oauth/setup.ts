// The protected server, a browser that agrees to everything, and calls through a daemon.
import { fileURLToPath } from 'node:url'
import { startProgram } from '../peers/processes.ts'
import type { JsonObject } from '../peers/peer.ts'

export interface Protected extends AsyncDisposable {
  readonly mcp: string
  readonly issuer: string
  /** Changes what it does. */
  set(habits: JsonObject): Promise<void>
  /** Refuses the tokens that it has given so far. */
  expire(): Promise<void>
  /** What it has seen. */
  seen(): Promise<Seen>
}

export interface Seen {
  readonly refreshes: number
  readonly grants: readonly Record<string, string>[]
  readonly registrations: readonly JsonObject[]
  readonly authorizations: readonly Record<string, string>[]
  readonly revoked: readonly string[]
  readonly calls: readonly { readonly tool: string; readonly authorization: string }[]
  /** Tokens, codes, verifiers and assertions. */
  readonly secrets: readonly string[]
}

export async function startProtected(habits: JsonObject = {}): Promise<Protected> {
  const path = fileURLToPath(new URL('../fixtures/oauth/protected.mjs', import.meta.url))
  const program = await startProgram([path])
  const { mcp, issuer, control } = JSON.parse(program.line) as Record<string, string>
  if (mcp === undefined || issuer === undefined || control === undefined) throw new Error(program.line)
  const set = async (some: JsonObject): Promise<void> => {
    await fetch(control, { method: 'PUT', body: JSON.stringify(some) })
  }
  await set(habits)
  return {
    ...{ mcp, issuer, set },
    expire: async () => {
      await fetch(`${control}/expire`, { method: 'POST' })
    },
    seen: async () => (await (await fetch(control)).json()) as Seen,
    [Symbol.asyncDispose]: () => program.stop('SIGTERM'),
  }
}

/** Goes where a login leads, as a browser does, and resolves with the page that it ends at. */
export async function visit(address: string): Promise<{ readonly status: number; readonly text: string }> {
  const asked = await fetch(address, { redirect: 'manual' })
  const back = asked.headers.get('location')
  if (back === null) throw new Error(`No redirect from ${address}: ${asked.status} ${await asked.text()}`)
  const arrived = await fetch(back)
  return { status: arrived.status, text: await arrived.text() }
}

/** The address in the text of an error. */
export function addressIn(text: string): string {
  const [address] = /https?:\/\/\S+$/.exec(text) ?? []
  if (address === undefined) throw new Error(`There is no address in: ${text}`)
  return address
}

/** A tool call by REST, of a caller that cannot be asked anything. */
export async function callEcho(
  v1: string,
  server: string,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const body = JSON.stringify({ server, tool: 'echo', args: {}, capabilities: {} })
  const response = await fetch(`${v1}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return { status: response.status, body: (await response.json()) as JsonObject }
}

/** Calls, logs in as the refusal says, and calls again. */
export async function enter(v1: string, server: string): Promise<void> {
  const refused = await callEcho(v1, server)
  const page = await visit(addressIn(String(refused.body['detail'])))
  if (page.status !== 200) throw new Error(page.text)
  const entered = await callEcho(v1, server)
  if (entered.status !== 200) throw new Error(JSON.stringify(entered.body))
}
