// Any client, any server: every client sees through mcpx what the server itself says, spelled for the client's revision.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENTS, openRaw } from '../peers/clients.ts'
import { openExamples, SERVERS, surveyDirectly } from '../peers/examples.ts'
import type { Examples, ServerName } from '../peers/examples.ts'
import { difference, spelledFor, withoutEnvelope } from '../peers/expectation.ts'
import type { Address, JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { survey } from '../peers/survey.ts'
import type { Survey } from '../peers/survey.ts'

/** How a client reaches a server through mcpx, and what mcpx puts before the server's names there. */
interface Face {
  readonly name: string
  address(daemon: Daemon, server: ServerName): Address
  prefix(server: ServerName): string
}

const FACES: readonly Face[] = [
  {
    name: 'http, own path',
    address: (daemon, server) => ({ url: `${daemon.url}/${server}` }),
    prefix: () => '',
  },
  { name: 'http, merged', address: (daemon) => ({ url: daemon.url }), prefix: (server) => `${server}__` },
  { name: 'stdio', address: (daemon, server) => daemon.serve('--server', server), prefix: () => '' },
]

const CELLS = CLIENTS.flatMap((client) =>
  SERVERS.flatMap((server) =>
    FACES.map((face) => ({ client, server, face, name: client.name, by: face.name })),
  ),
)
const ALL_CAPABILITIES = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} }, tasks: {} }
const marks = new Map<string, string>()

let examples: Examples
let daemon: Daemon
let direct: Record<ServerName, Survey>
/** Tools that a server shows only to clients that can answer questions: mcpx may have shown itself as one. */
let optional: string[]

beforeAll(async () => {
  examples = await openExamples()
  direct = await surveyDirectly(examples)
  optional = await toolsForAble(examples)
  daemon = await startDaemon(examples.config)
  // The merged lists hold what is known at the time, so each server is met once before.
  for (const server of SERVERS) {
    await using first = await openRaw({ url: `${daemon.url}/${server}` }, '2025-11-25')
    await first.listTools()
  }
})

afterAll(async () => {
  await daemon?.stop()
  await examples?.[Symbol.asyncDispose]()
  console.log(table())
})

test.each(CELLS)('$name sees $server by $by', async ({ client, server, face }) => {
  const cell = `${client.name} ${server} ${face.name}`
  marks.set(cell, 'FAILED')
  await using peer = await client.open(face.address(daemon, server))
  expect(peer.revision).toBe(client.revision)
  const prefix = face.prefix(server)
  const seen = await survey(peer, examples.servers[server].plan, prefix)
  const expected = spelledFor(client.revision, withoutEnvelope(direct[server]))
  const compared = prefix === '' ? seen : withoutOthers(seen, expected)
  expect(difference(expected, withoutEnvelope(compared), optional)).toBeUndefined()
  marks.set(cell, 'ok')
})

test('a list of one server holds nothing of another, and the merged list everything', async () => {
  await using peer = await openRaw({ url: daemon.url }, '2026-07-28')
  const names = (await peer.listTools()).map(({ name }) => String(name))
  for (const server of SERVERS) {
    await using own = await openRaw({ url: `${daemon.url}/${server}` }, '2026-07-28')
    const listed = (await own.listTools()).map(({ name }) => `${server}__${String(name)}`)
    expect(listed).toEqual(names.filter((name) => name.startsWith(`${server}__`)))
  }
  expect(names.filter((name) => !SERVERS.some((server) => name.startsWith(`${server}__`)))).toEqual([])
})

async function toolsForAble({ servers }: Examples): Promise<string[]> {
  const { address, newest } = servers.everything
  await using able = await openRaw(address, newest, ALL_CAPABILITIES)
  const known = direct.everything.tools.map(({ name }) => name)
  const names = (await able.listTools()).map(({ name }) => String(name))
  return names.filter((name) => !known.includes(name))
}

/** Resources keep their URIs in the merged lists, so those of other servers are told by the URI alone. */
function withoutOthers(seen: Survey, expected: Survey): Survey {
  const keep = (items: readonly JsonObject[], like: readonly JsonObject[], key: string) =>
    items.filter((item) => like.some((other) => other[key] === item[key]))
  return {
    ...seen,
    resources: keep(seen.resources, expected.resources, 'uri'),
    templates: keep(seen.templates, expected.templates, 'uriTemplate'),
  }
}

/** A line a client and face, a column a server. */
function table(): string {
  const rows = CLIENTS.flatMap((client) =>
    FACES.map((face) => [
      client.name,
      face.name,
      ...SERVERS.map((server) => marks.get(`${client.name} ${server} ${face.name}`) ?? '-'),
    ]),
  )
  const lines = [['client', 'by', ...SERVERS], ...rows]
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(column < 2 ? 16 : 11))
        .join('')
        .trimEnd(),
    )
    .join('\n')
}
