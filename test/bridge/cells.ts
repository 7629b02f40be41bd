// Every way from a caller to a server: two eras and two transports on each hop. Each way has a server of its own.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon, startProgram } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import type { Revision } from '../peers/raw.ts'
import { openWorkspace } from '../peers/workspace.ts'
import { openCaller, overHttp, overPipe } from './caller.ts'
import type { Caller } from './caller.ts'

type Era = 'legacy' | 'modern'
type Transport = 'http' | 'stdio'

export interface Cell {
  readonly name: string
  readonly caller: Era
  readonly by: Transport
  readonly server: Era
  readonly over: Transport
}

const ERAS = ['legacy', 'modern'] as const
const TRANSPORTS = ['http', 'stdio'] as const

export const CELLS: readonly Cell[] = ERAS.flatMap((caller) =>
  TRANSPORTS.flatMap((by) =>
    ERAS.flatMap((server) =>
      TRANSPORTS.map((over) => ({ name: `${caller}-${by}-to-${server}-${over}`, caller, by, server, over })),
    ),
  ),
)

export const REVISION = { legacy: '2025-11-25', modern: '2026-07-28' } as const

/** What a server got, or its note that a stream was closed. */
export interface Noted {
  readonly server: string
  readonly message?: JsonObject & {
    readonly id?: unknown
    readonly method?: string
    readonly params?: JsonObject
  }
  readonly closed?: unknown
}

/** One thing that a call tells its server to do; see test/fixtures/bridge/worker.mjs. */
export type Step = JsonObject

export interface Bridge extends AsyncDisposable {
  readonly gate: Gate
  readonly daemon: Daemon
  /** A client of the cell's era that sees the cell's server alone. */
  open(cell: Cell, revision?: Revision): Promise<Caller>
  /** The same, with the daemon's own servers behind it in any case; of all cells where none is given. */
  join(how: Pick<Cell, 'caller' | 'by'>, name?: string): Promise<Caller>
  /** What has reached the cell's server so far, requests and notifications alike. */
  notes(cell: Cell): readonly Noted[]
}

/** Starts the servers of the cells. `settings` stand in the configuration of each of them; `more` in their environment. */
export async function openBridge(
  cells: readonly Cell[],
  settings: JsonObject = {},
  more: Record<string, string> = {},
): Promise<Bridge> {
  const [gate, workspace] = [await openGate(), await openWorkspace()]
  const env = { FRAMES: workspace.file('frames'), GATE: gate.url(''), ...more }
  const hosts = {
    legacy: await startProgram([WORKER, 'legacy', 'http'], env),
    modern: await startProgram([WORKER, 'modern', 'http'], env),
  }
  const servers = cells.map(({ name, server, over }) => [
    name,
    over === 'http'
      ? { url: `${hosts[server].line}/${name}`, ...settings }
      : { command: process.execPath, args: [WORKER, server], env: { ...env, NAME: name }, ...settings },
  ])
  const daemon = await startDaemon({ mcpServers: Object.fromEntries(servers) as JsonObject })
  const close = async () => {
    await daemon.stop()
    await Promise.all([hosts.legacy.stop(), hosts.modern.stop()])
    await workspace[Symbol.asyncDispose]()
    await gate[Symbol.asyncDispose]()
  }
  return {
    gate,
    daemon,
    open: ({ name, caller, by }, revision = REVISION[caller]) =>
      openCaller(
        revision,
        by === 'http'
          ? overHttp(`${daemon.url}/${name}`)
          : overPipe(daemon.serve('--standalone', '--server', name)),
      ),
    join: ({ caller, by }, name) => {
      const server = name === undefined ? [] : ['--server', name]
      const url = name === undefined ? daemon.url : `${daemon.url}/${name}`
      return openCaller(REVISION[caller], by === 'http' ? overHttp(url) : overPipe(daemon.serve(...server)))
    },
    notes: ({ name }) =>
      (existsSync(env.FRAMES) ? notesIn(env.FRAMES) : []).filter(({ server }) => server === name),
    [Symbol.asyncDispose]: close,
  }
}

export interface Work {
  readonly method: string
  readonly params: (steps: readonly Step[]) => JsonObject
}

/** The three methods during which a server may say something. */
export const WORK: readonly Work[] = [
  { method: 'tools/call', params: (steps) => ({ name: 'work', arguments: { steps } }) },
  {
    method: 'prompts/get',
    params: (steps) => ({ name: 'work', arguments: { steps: JSON.stringify(steps) } }),
  },
  {
    method: 'resources/read',
    params: (steps) => ({ uri: `work:///${encodeURIComponent(JSON.stringify(steps))}` }),
  },
]

export const withMeta = (params: JsonObject, _meta: JsonObject): JsonObject => ({ ...params, _meta })

export const metaOf = ({ message }: Noted): JsonObject => (message?.params?.['_meta'] ?? {}) as JsonObject

const WORKER = fileURLToPath(new URL('../fixtures/bridge/worker.mjs', import.meta.url))

function notesIn(path: string): Noted[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as Noted)
}
