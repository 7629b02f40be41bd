// A daemon in front of the same server in each era and over each transport, and callers of either form.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openCaller, overHttp, overPipe } from '../bridge/caller.ts'
import type { Caller } from '../bridge/caller.ts'
import { openGate } from '../peers/gate.ts'
import type { Gate } from '../peers/gate.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon, startProgram } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import type { Revision } from '../peers/raw.ts'
import { openWorkspace } from '../peers/workspace.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/everything/tasks.mjs', import.meta.url))
const PLAIN = fileURLToPath(new URL('../fixtures/bridge/worker.mjs', import.meta.url))

export const SERVERS = ['modern-http', 'modern-stdio', 'legacy-http', 'legacy-stdio'] as const
export type Server = (typeof SERVERS)[number]

export const EXTENSION = 'io.modelcontextprotocol/tasks'
export const RELATED = 'io.modelcontextprotocol/related-task'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

export interface Stage extends AsyncDisposable {
  readonly daemon: Daemon
  readonly gate: Gate
  /** A client of one server alone, or of `plain`, which has no tasks. */
  open(server: Server | 'plain', revision: Revision, by?: 'http' | 'stdio'): Promise<Caller>
  /** What has reached a server so far. */
  frames(server: Server): readonly JsonObject[]
}

/** `settings` stand in the daemon's configuration beside the servers. */
export async function openStage(settings: JsonObject = {}): Promise<Stage> {
  const [gate, workspace] = [await openGate(), await openWorkspace()]
  const env = (server: string) => ({ FRAMES: workspace.file(server), GATE: gate.url('') })
  const hosts = {
    modern: await startProgram([FIXTURE, 'modern', '--port', '0'], env('modern-http')),
    legacy: await startProgram([FIXTURE, 'legacy', '--port', '0'], env('legacy-http')),
  }
  const pipe = (era: string) => ({
    command: process.execPath,
    args: [FIXTURE, era],
    env: env(`${era}-stdio`),
  })
  const daemon = await startDaemon({
    ...settings,
    mcpServers: {
      'modern-http': { url: hosts.modern.line },
      'legacy-http': { url: hosts.legacy.line },
      'modern-stdio': pipe('modern'),
      'legacy-stdio': pipe('legacy'),
      plain: {
        command: process.execPath,
        args: [PLAIN, 'modern'],
        env: { ...env('plain'), NAME: 'plain' },
      },
    },
  })
  return {
    daemon,
    gate,
    open: (server, revision, by = 'http') =>
      openCaller(
        revision,
        by === 'http'
          ? overHttp(`${daemon.url}/${server}`)
          : overPipe(daemon.serve('--standalone', '--server', server)),
        { elicitation: { form: {} } },
      ),
    frames: (server) => {
      const path = env(server).FRAMES
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
      return lines.map((line) => JSON.parse(line) as JsonObject)
    },
    [Symbol.asyncDispose]: async () => {
      await daemon.stop()
      await Promise.all([hosts.modern.stop(), hosts.legacy.stop()])
      await workspace[Symbol.asyncDispose]()
      await gate[Symbol.asyncDispose]()
    },
  }
}

/** Params of a modern caller that takes tasks, and answers forms. */
export const taking = (params: JsonObject): JsonObject => ({
  ...params,
  _meta: { [CAPABILITIES]: { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } } },
})

let lastId = 0

/** The result of a request; an error fails the test. */
export async function ask(caller: Caller, method: string, params: JsonObject): Promise<JsonObject> {
  const { result, error } = (await tried(caller, method, params)) as { result?: JsonObject; error?: unknown }
  if (result === undefined) throw new Error(`${method} was refused: ${JSON.stringify(error)}`)
  return result
}

export function tried(caller: Caller, method: string, params: JsonObject): Promise<JsonObject> {
  return caller.ask(`task-${++lastId}`, method, params)
}

/** Looks at a task until it has one of the states. */
export async function until(
  caller: Caller,
  params: JsonObject,
  states: readonly string[],
): Promise<JsonObject> {
  for (;;) {
    const state = await ask(caller, 'tasks/get', params)
    if (states.includes(String(state['status']))) return state
  }
}

export const OVER = ['completed', 'failed', 'cancelled']
