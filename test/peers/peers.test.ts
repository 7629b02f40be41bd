// The clients and the example servers without mcpx between them: what they see here is what they have to see through it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENTS } from './clients.ts'
import type { ClientKind } from './clients.ts'
import { openExamples, SERVERS, surveyDirectly } from './examples.ts'
import type { Examples, ServerName } from './examples.ts'
import { difference, spelledFor, withoutEnvelope } from './expectation.ts'
import type { Address } from './peer.ts'
import { startProgram } from './processes.ts'
import type { Child } from './processes.ts'
import { REVISIONS } from './raw.ts'
import type { Revision } from './raw.ts'
import { openRawHttp } from './raw-http.ts'
import { survey } from './survey.ts'
import type { Survey } from './survey.ts'

let examples: Examples
let baselines: Record<ServerName, Survey>
let teaOverHttp: Child & { line: string }
beforeAll(async () => {
  examples = await openExamples()
  teaOverHttp = await startProgram(['examples/dual-server.mjs', '--http'])
  baselines = await surveyDirectly(examples)
})
afterAll(async () => {
  await examples[Symbol.asyncDispose]()
  await teaOverHttp.stop('SIGTERM')
})

const ERAS: Readonly<Record<ServerName, readonly ('legacy' | 'modern')[]>> = {
  everything: ['legacy'],
  files: ['legacy'],
  units: ['modern'],
  tea: ['legacy', 'modern'],
}
const pairs = CLIENTS.flatMap((client) =>
  SERVERS.filter((server) => client.speaks.some((era) => ERAS[server].includes(era))).map((server) => ({
    client,
    server,
    name: client.name,
  })),
)

test('the plans succeed where they are meant to', () => {
  const failed = Object.values(baselines).flatMap(({ outcomes }) =>
    Object.keys(outcomes).filter((label) => {
      const outcome = outcomes[label]
      return !outcome || !('result' in outcome) || outcome.result['isError'] === true
    }),
  )
  expect(failed).toEqual([
    'call get-sum {"a":"two","b":40}',
    'call read_text_file {"path":"../../package.json"}',
    'call convert {"value":1,"from":"cubit","to":"metre"}',
  ])
})

test.each(pairs)('$name sees of $server what raw frames see', async ({ client, server }) => {
  await expectSame(client, server, examples.servers[server].address)
})

test.each(CLIENTS)('$name sees of the dual server over HTTP what raw frames see', async (client) => {
  await expectSame(client, 'tea', { url: teaOverHttp.line })
})

test('over HTTP a client has a session and a version header where its revision has them', async () => {
  const seen: Record<string, object> = {}
  for (const revision of REVISIONS) {
    await using client = await openRawHttp(teaOverHttp.line, { revision })
    await client.request('tools/list')
    const sent = client.frames.filter(({ direction }) => direction === 'out')
    const headers = sent.at(-1)?.http?.headers ?? {}
    seen[revision] = {
      opening: sent[0]?.message['method'],
      header: headers['mcp-protocol-version'],
      session: client.session !== undefined && headers['mcp-session-id'] === client.session,
    }
  }
  expect(seen).toEqual({
    '2024-11-05': { opening: 'initialize', header: undefined, session: true },
    '2025-03-26': { opening: 'initialize', header: undefined, session: true },
    '2025-06-18': { opening: 'initialize', header: '2025-06-18', session: true },
    '2025-11-25': { opening: 'initialize', header: '2025-11-25', session: true },
    '2026-07-28': { opening: 'server/discover', header: '2026-07-28', session: false },
  })
})

/** Servers do not spell for old clients, so what the revision lacks is taken from both sides. */
async function expectSame(client: ClientKind, server: ServerName, address: Address): Promise<void> {
  const { newest, plan } = examples.servers[server]
  await using peer = await client.open(address)
  expect(peer.revision).toBe(client.speaks.includes('modern') ? newest : client.revision)
  const seen = withoutEnvelope(await survey(peer, plan))
  const expected = withoutEnvelope(baselines[server])
  const revision = peer.revision as Revision
  expect(difference(spelledFor(revision, expected), spelledFor(revision, seen))).toBeUndefined()
}
