// A daemon in front of the recording server by hand, on either transport, with keys for as many principals as are wanted.
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../peers/peer.ts'
import { startProgram } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'
import { openLedger } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { modernCaller } from './modern-caller.ts'
import type { Caller } from './modern-caller.ts'

export const OVER = ['stdio', 'http'] as const
export type Over = (typeof OVER)[number]

export interface Here extends AsyncDisposable {
  readonly workspace: Workspace
  readonly ledger: Ledger
  readonly daemon: Running
  readonly mcp: string
  readonly v1: string
  /** A modern client; of a principal that is named, or of the local user. */
  caller(principal?: string): Caller
}

export interface Wanted {
  readonly principals?: readonly string[]
  /** Of the server. */
  readonly server?: JsonObject
  readonly settings?: JsonObject
}

export function pathOf(fixture: string): string {
  return fileURLToPath(new URL(`../fixtures/${fixture}.mjs`, import.meta.url))
}

export async function openHere(
  over: Over,
  { principals = [], server, settings }: Wanted = {},
): Promise<Here> {
  const ledger = await openLedger()
  const env = { LEDGER: ledger.url }
  const raw = pathOf('questions/asking-raw')
  const http = over === 'http' ? await startProgram([raw, '--http'], env) : undefined
  const reached = http === undefined ? { command: process.execPath, args: [raw], env } : { url: http.line }
  const keys = principals.map(
    (name) => `${name}:sha256:${createHash('sha256').update(tokenOf(name)).digest('hex')}`,
  )
  const workspace = await openWorkspace({
    mcpServers: { raw: { ...reached, ...server } },
    auth: { keys },
    ...settings,
  })
  const daemon = await workspace.start('daemon', '--port', '0', '--json')
  const { mcp, v1 } = JSON.parse(await daemon.printed(/\n/)) as { mcp: string; v1: string }
  return {
    ...{ workspace, ledger, daemon, mcp, v1 },
    caller: (principal) =>
      modernCaller(mcp, { token: principal === undefined ? undefined : tokenOf(principal) }),
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]()
      await http?.stop('SIGTERM')
      await workspace[Symbol.asyncDispose]()
      await ledger[Symbol.asyncDispose]()
    },
  }
}

function tokenOf(principal: string): string {
  return `token-of-${principal}-that-is-long-enough-to-be-one`
}
