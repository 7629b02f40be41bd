// What the tests of upstream eras stand on: servers that record each frame, and mcpx processes that share one state folder.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { canonicalDefinition, parseConfigFile } from '../../src/config/index.ts'
import type { JsonObject } from '../peers/peer.ts'
import { ROOT, startChild } from '../peers/processes.ts'
import { fixturePath } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'

const RECORD = pathToFileURL(fileURLToPath(new URL('../fixtures/upstream/record.mjs', import.meta.url))).href

/** One thing that reached a server: its start, or a request with the frame that it held. */
export interface Recorded {
  readonly pid: number
  readonly start?: true
  readonly verb?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly message?: { readonly method?: string; readonly params?: JsonObject }
}

function upstreamPath(name: string): string {
  return fileURLToPath(new URL(`../fixtures/upstream/${name}.mjs`, import.meta.url))
}

/** A program of test/fixtures/upstream, test/fixtures/servers or an absolute path, as a server on stdio that records to a file. */
export function recorded(frames: string, program: string, ...args: string[]) {
  return {
    command: process.execPath,
    args: ['--import', RECORD, pathOf(program), ...args],
    env: { FRAMES: frames },
  }
}

/** The same over HTTP, which prints its address as the first line that holds one. */
export async function startRecorded(frames: string, program: string, ...args: string[]) {
  const { env, ...command } = recorded(frames, program, ...args)
  const child = startChild({ ...command, env: { ...env, PORT: '0' } })
  let said = ''
  child.stdout.setEncoding('utf8')
  for await (const part of child.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
    said += part
    const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)?.[0]
    if (url === undefined) continue
    child.stdout.resume()
    return { ...child, url }
  }
  throw new Error(`The server ended before it said its address: ${child.stderr()}`)
}

function pathOf(program: string): string {
  return [program, upstreamPath(program), fixturePath(program)].find((path) => existsSync(path)) ?? program
}

export function recordedIn(path: string): Recorded[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as Recorded)
}

const OPENINGS = ['server/discover', 'initialize']

export function methodsIn(frames: readonly Recorded[]): string[] {
  return frames.flatMap(({ message }) => message?.method ?? [])
}

/** The opening requests, in the order in which they arrived, in short. */
export function openingsIn(frames: readonly Recorded[]): string {
  const sent = methodsIn(frames).filter((method) => OPENINGS.includes(method))
  return sent.map((method) => method.replace('server/', '')).join(' ')
}

/** The opening requests that each process got, in the order of their starts. */
export function processesIn(frames: readonly Recorded[]): string[] {
  const pids = frames.filter(({ start }) => start === true).map(({ pid }) => pid)
  return pids.map((pid) => openingsIn(frames.filter((frame) => frame.pid === pid)))
}

export interface EraReport {
  readonly name: string
  readonly preference: string
  readonly preferenceSource: string
  readonly live: { readonly era: string; readonly revision: string; readonly eraSource: string } | null
  readonly record: (JsonObject & { readonly era: string; readonly ageMs: number }) | null
  readonly probe: readonly { dir: string; method: string; ms: number; summary: string }[]
}

export interface Event {
  readonly id: number
  readonly type: string
  readonly data: JsonObject
}

export interface Watch extends AsyncDisposable {
  readonly seen: readonly Event[]
  /** Reads on until what was seen is enough. */
  until(enough: (seen: readonly Event[]) => boolean): Promise<readonly Event[]>
}

interface Call {
  readonly server: string
  readonly tool: string
  readonly args?: JsonObject
  readonly headers?: Record<string, string>
}

export interface Called {
  readonly status: number
  /** The text of the tool's answer, or the code of the problem. */
  readonly said: string
  readonly body: JsonObject
}

/** A daemon of a workspace: it is started and ended, and what it remembers stays in the folder. */
export interface Era extends AsyncDisposable {
  readonly url: string
  readonly v1: string
  readonly running: Running
  protocol(server: string): Promise<EraReport>
  call(server: string, tool: string, more?: Omit<Call, 'server' | 'tool'>): Promise<Called>
  stop(signal?: NodeJS.Signals): Promise<void>
}

export async function startIn(workspace: Workspace, ...args: string[]): Promise<Era> {
  const running = await workspace.start('daemon', '--port', '0', '--json', ...args)
  const { mcp, v1 } = JSON.parse(await running.printed(/\n/)) as { mcp: string; v1: string }
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => void (await running.end(signal))
  return {
    url: mcp,
    v1,
    running,
    protocol: async (server) => {
      const { servers } = (await (await fetch(`${v1}/protocol`)).json()) as { servers: EraReport[] }
      const found = servers.find(({ name }) => name === server)
      if (found === undefined) throw new Error(`There is no server ${server}`)
      return found
    },
    call: (server, tool, more) => callTool(v1, { server, tool, ...more }),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  }
}

async function callTool(v1: string, { server, tool, args = {}, headers = {} }: Call): Promise<Called> {
  const response = await fetch(`${v1}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    // A caller that can be asked something has a session of its own on a legacy server.
    body: JSON.stringify({ server, tool, args, capabilities: {} }),
  })
  const body = (await response.json()) as JsonObject & { content?: { text: string }[]; code?: string }
  return { status: response.status, said: body.content?.[0]?.text ?? String(body.code), body }
}

/** Reads events, from after the one of that id; without an id, what comes from now on. */
export async function watch(v1: string, after?: number): Promise<Watch> {
  const stop = new AbortController()
  const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': String(after) }
  const { body } = await fetch(`${v1}/events`, { headers, signal: stop.signal })
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  const seen: Event[] = []
  let pending = ''
  const until = async (enough: (seen: readonly Event[]) => boolean) => {
    while (!enough(seen)) {
      const part = await reader?.read()
      if (part?.value === undefined) throw new Error(`The events ended: ${JSON.stringify(seen)}`)
      const blocks = `${pending}${part.value}`.split('\n\n')
      pending = blocks.pop() ?? ''
      seen.push(...blocks.flatMap(eventIn))
    }
    return seen
  }
  return {
    seen,
    until,
    [Symbol.asyncDispose]: async () => {
      // The daemon may have ended before its reader.
      await reader?.cancel().catch(() => undefined)
      stop.abort()
    },
  }
}

function eventIn(block: string): Event[] {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1]
  const data = field('data')
  if (data === undefined) return []
  return [{ id: Number(field('id')), type: String(field('event')), data: JSON.parse(data) as JsonObject }]
}

export function statePath(workspace: Workspace): string {
  return join(workspace.file('state'), 'upstream-eras.json')
}

export interface Remembered {
  readonly version: number
  readonly records: Readonly<Record<string, JsonObject>>
}

export function remembered(workspace: Workspace): Remembered {
  return JSON.parse(readFileSync(statePath(workspace), 'utf8')) as Remembered
}

/** Records by the name of the server that they are of. */
export async function plant(
  workspace: Workspace,
  config: JsonObject,
  records: Record<string, JsonObject>,
): Promise<void> {
  const keyed = Object.entries(records).map(([name, record]) => [digestOf(config, name), record])
  await plantText(workspace, JSON.stringify({ version: 1, records: Object.fromEntries(keyed) }))
}

export async function plantText(workspace: Workspace, text: string): Promise<void> {
  await mkdir(workspace.file('state'), { recursive: true, mode: 0o700 })
  await writeFile(statePath(workspace), text, { mode: 0o600 })
}

/** The key under which a server of a configuration is remembered. */
export function digestOf(config: JsonObject, server: string): string {
  const definition = parseConfigFile(JSON.stringify(config), { path: join(ROOT, 'mcpx.json') }).servers.get(
    server,
  )
  if (definition === undefined) throw new Error(`There is no server ${server}`)
  return createHash('sha256').update(canonicalDefinition(definition)).digest('hex')
}

/** A record as a plain probe of an unchanged server leaves it. */
export function recordOf(era: 'legacy' | 'modern', more: JsonObject = {}): JsonObject {
  const now = Date.now()
  return {
    ...{ era, revision: era === 'modern' ? '2026-07-28' : '2025-11-25', transport: 'stdio' },
    ...{ source: 'probe', first: 'discover', at: now, usedAt: now, server: {} },
    ...more,
  }
}
