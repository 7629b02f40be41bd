// Published servers and SDKs as they are: the right verdict, and at the second start no question whose answer is known.
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Child } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { methodsIn, openingsIn, processesIn, recorded, recordedIn, startIn, startRecorded } from './setup.ts'

const { resolve } = createRequire(import.meta.url)
const published = (name: string) => resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)

interface Row {
  readonly name: string
  /** The program and its arguments. */
  readonly run: readonly [string, ...string[]]
  readonly http?: true
  readonly path?: string
  readonly era: 'legacy' | 'modern'
  readonly transport: string
  readonly first: string
}

const legacyOnPipe = { era: 'legacy', transport: 'stdio', first: 'discover initialize' } as const
const legacyOverHttp = {
  http: true,
  era: 'legacy',
  transport: 'streamable-http',
  first: 'discover initialize',
} as const

const ROWS: readonly Row[] = [
  { name: 'everything', run: [published('everything'), 'stdio'], ...legacyOnPipe },
  { name: 'filesystem', run: [published('filesystem'), '.'], ...legacyOnPipe },
  { name: 'memory', run: [published('memory')], ...legacyOnPipe },
  { name: 'thinking', run: [published('sequential-thinking')], ...legacyOnPipe },
  { name: 'everything-http', run: [published('everything'), 'streamableHttp'], ...legacyOverHttp },
  {
    name: 'everything-sse',
    run: [published('everything'), 'sse'],
    path: '/sse',
    ...legacyOverHttp,
    transport: 'http+sse',
    first: 'discover initialize initialize',
  },
  { name: 'v1-sessions', run: ['sdk-v1', 'sessions'], ...legacyOverHttp },
  { name: 'v1-stateless', run: ['sdk-v1', 'stateless'], ...legacyOverHttp },
  { name: 'v2', run: ['sdk-v2'], era: 'modern', transport: 'stdio', first: 'discover' },
  {
    name: 'v2-http',
    run: ['sdk-v2', 'http'],
    http: true,
    era: 'modern',
    transport: 'streamable-http',
    first: 'discover',
  },
]

interface Report {
  readonly name: string
  readonly era: string
  readonly eraSource: string
  readonly transport: string
  readonly tools: number | null
}

const programs: Child[] = []
const runs: Record<string, { readonly report: Report; readonly sent: string; readonly processes: number }>[] =
  []
let folder: Workspace

beforeAll(async () => {
  folder = await openWorkspace()
  const entries = ROWS.map(async ({ name, run: [program, ...args], http, path }) => {
    const frames = folder.file(name)
    if (!http) return [name, recorded(frames, program, ...args)] as const
    const child = await startRecorded(frames, program, ...args)
    programs.push(child)
    return [name, { url: path === undefined ? child.url : child.url.replace('/mcp', path) }] as const
  })
  const mcpServers = Object.fromEntries(await Promise.all(entries))
  await using workspace = await openWorkspace({ mcpServers, upstream: { probeTimeout: '60s' } })
  for (let start = 0; start < 2; start++) {
    const before = ROWS.map(({ name }) => recordedIn(folder.file(name)).length)
    await using daemon = await startIn(workspace, '--lists-patience', '60s')
    // Each is asked once for its tools at the start of the daemon; the whole list waits for that.
    const ready = async () => {
      for (;;) {
        const { servers } = (await (await fetch(`${daemon.v1}/servers`)).json()) as { servers: Report[] }
        if (servers.every(({ tools, era }) => tools !== null && era !== null)) return servers
      }
    }
    const servers = await ready()
    await daemon.stop()
    runs.push(
      Object.fromEntries(
        ROWS.map(({ name }, index) => {
          const frames = recordedIn(folder.file(name)).slice(before[index])
          const report = servers.find((server) => server.name === name) as Report
          expect(methodsIn(frames)).toContain('tools/list')
          return [name, { report, sent: openingsIn(frames), processes: processesIn(frames).length }]
        }),
      ),
    )
  }
}, 180_000)
afterAll(async () => {
  for (const program of programs) await program.stop('SIGTERM')
  await folder[Symbol.asyncDispose]()
})

test.each(ROWS)('$name is found $era over $transport, and opened so at once the second time', (row) => {
  const [first, second] = runs.map((run) => run[row.name])
  const { name, era, transport } = row
  expect(first).toMatchObject({ report: { name, era, transport, eraSource: 'probe' }, sent: row.first })
  expect(second).toMatchObject({ report: { name, era, transport, eraSource: 'cache' } })
  expect(second?.sent).toBe(era === 'legacy' ? 'initialize' : 'discover')
  expect(first?.report.tools).toBeGreaterThan(0)
  expect(second?.report.tools).toBe(first?.report.tools)
  if (transport === 'stdio') expect([first?.processes, second?.processes]).toEqual([1, 1])
})
