// Legacy servers that are not of this project answer with the same bytes when the modern era stands in front of them.
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compare } from '../../src/cli/corpus/compare.ts'
import type { Exchange } from '../../src/cli/corpus/exchange-file.ts'
import { readCorpus, writeCorpus } from '../../src/cli/corpus/folder.ts'
import { parseSelector } from '../../src/cli/corpus/selector.ts'
import { verbOf } from '../../src/cli/corpus/template.ts'
import type { Mode } from '../../src/endpoint/server/index.ts'
import { legacy, modern } from '../endpoint/server/upgraded.ts'
import { openWorkspace } from '../peers/workspace.ts'
import type { Workspace } from '../peers/workspace.ts'
import { FOREIGN } from './foreign-programs.ts'
import type { Foreign, Started } from './foreign-programs.ts'
import { linesFor } from './foreign-requests.ts'

const BESIDE = ['off', 'observe', 'dry-run', 'serve'] as const satisfies Mode[]

let workspace: Workspace
beforeAll(async () => {
  workspace = await openWorkspace()
})
afterAll(() => workspace[Symbol.asyncDispose]())

test.each(FOREIGN)('$name: the same bytes in every mode but sunset', async (foreign) => {
  await using again = await foreign.start()
  const folder = await record(foreign)
  const corpus = readCorpus(workspace.file(folder))
  const count = corpus.exchanges.length
  expect(count).toBeGreaterThanOrEqual(40)
  expect(corpus.volatile).toEqual(['header:date', 'header:mcp-session-id', 'sse:id'])
  expectContents(foreign, corpus.exchanges)

  await Promise.all(
    (['bare', ...BESIDE] as const).map(async (mode) => {
      const replayed = await workspace.run(['replay', again.urls[mode], folder])
      expect({ mode, ...replayed }).toMatchObject({
        mode,
        code: 0,
        stdout: expect.stringContaining(`All ${count} exchanges are the same.`),
        stderr: '',
      })
    }),
  )
  await expectInFront(foreign, again, count - foreign.unseen.length)
  await expectFound(folder, again.urls.serve)
})

/** Records the bare server of a process of its own; returns the name of the corpus. */
async function record(foreign: Foreign): Promise<string> {
  await using bare = await foreign.start()
  const folder = foreign.name.replaceAll(' ', '-')
  const requests = linesFor(foreign).map((line) => JSON.stringify(line))
  writeFileSync(workspace.file('requests.jsonl'), requests.join('\n'))
  const options = ['--requests', 'requests.jsonl', '--out', folder, '--mask', 'sse:id', '--quiet', '100ms']
  expect(await workspace.run(['record', bare.urls.bare, ...options])).toMatchObject({ code: 0, stderr: '' })
  return folder
}

/** What makes the corpus worth comparing: had sessions not been carried, every answer would be the same refusal. */
function expectContents({ sessions, resumed }: Foreign, exchanges: readonly Exchange[]): void {
  const answerTo = (name: string): string =>
    exchanges.find((one) => one.name.replace(/^\d+-/, '') === name)?.response.toString() ?? ''
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    expect(answerTo(`initialize-${version}`)).toContain(`"protocolVersion":"${version}"`)
    expect(answerTo(`initialized-${version}`)).toMatch(/^HTTP\/1\.1 202 /)
    expect(answerTo(`delete-${version}`)).toMatch(sessions ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 405 /)
  }
  expect(answerTo('tools-list')).toContain('"tools":[')
  expect(answerTo('origin-foreign')).toMatch(/^HTTP\/1\.1 200 /)
  expect(answerTo('body-6-mib')).toMatch(/^HTTP\/1\.1 413 /)
  expect(answerTo('body-broken')).toMatch(/^HTTP\/1\.1 400 /)
  expect(answerTo('method-unknown')).toContain('"code":-32601')
  expect(answerTo('accept-html')).toMatch(/^HTTP\/1\.1 406 /)
  expect(answerTo('call-progress').split('notifications/progress')).toHaveLength(4)
  expect(answerTo('batch-current').split('"result":{}')).toHaveLength(3)
  if (sessions) {
    expect(answerTo('session-unknown')).toMatch(/^HTTP\/1\.1 40[04] /)
    expect(answerTo('ping-after-delete')).toMatch(/^HTTP\/1\.1 40[04] /)
  }
  if (resumed.length > 0) expect(answerTo('get-resumed')).toMatch(/\nid: [^]+"result":\{"content":\[/)
}

/** The library has seen each request that was replayed, and answers or leaves alone those of the modern era, as its mode says. */
async function expectInFront(foreign: Foreign, { urls, events }: Started, count: number): Promise<void> {
  const call = modern('tools/call', foreign.echo)
  expect(await answerOf(urls.sunset, call)).toMatchObject({ status: 200 })
  const refused = await answerOf(urls.sunset, legacy('initialize', { protocolVersion: '2025-11-25' }))
  expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('2026-07-28') })
  const bare = await answerOf(urls.bare, call)
  for (const mode of BESIDE) {
    const answer = await answerOf(urls[mode], call)
    if (mode === 'serve')
      expect(answer).toMatchObject({ status: 200, text: expect.stringContaining(foreign.said) })
    // The SDK's transports refuse the version that the header names.
    else expect({ mode, ...answer }).toEqual({ mode, ...bare, status: 400 })
    if (mode === 'off') continue
    const told = await events(mode, count + 1)
    expect(told).toHaveLength(count + 1)
    const servedBy = told.map((event) => event.servedBy)
    expect(new Set(servedBy.slice(0, -1))).toEqual(new Set(['legacy']))
    expect(told.at(-1)).toMatchObject({
      era: 'modern',
      method: 'tools/call',
      servedBy: mode === 'serve' ? 'modern' : 'legacy',
      ...(mode === 'dry-run' && { verdict: { status: 200 } }),
    })
  }
}

async function answerOf(url: string, init: RequestInit): Promise<{ status: number; text: string }> {
  const response = await fetch(url, init)
  return { status: response.status, text: await response.text() }
}

/** One byte of one stored header is made another one, and `mcpx replay` finds it; the comparison finds each such change. */
async function expectFound(folder: string, url: string): Promise<void> {
  const corpus = readCorpus(workspace.file(folder))
  const [first] = corpus.exchanges
  const [changed] = first === undefined ? [] : withOtherBytes(first)
  if (first === undefined || changed === undefined) throw new Error('The corpus is empty')
  const exchanges = [{ ...first, response: changed.response }, ...corpus.exchanges.slice(1)]
  writeCorpus(workspace.file(`${folder}-changed`), { ...corpus, exchanges })
  const { code, stdout } = await workspace.run(['replay', url, `${folder}-changed`, '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    same: exchanges.length - 1,
    drift: [{ exchange: first.name, differences: [{ at: changed.at }] }],
  })

  const masks = corpus.volatile.map(parseSelector)
  const addresses = { expected: new URL(corpus.url).host, got: new URL(url).host }
  const how = { masks, chunks: corpus.chunks, addresses, hidden: () => undefined }
  for (const exchange of corpus.exchanges) {
    const { name, end, request, response } = exchange
    const verb = verbOf(request)
    const alike = (bytes: Buffer) => compare({ bytes, end }, { bytes: response, end }, { ...how, verb })
    expect({ name, differences: alike(response) }).toEqual({ name, differences: [] })
    // A changed media type has the body compared as what it says it is, so that more may be found behind the header.
    for (const { at, response: bytes } of withOtherBytes(exchange))
      expect({ name, at: alike(bytes)[0]?.at }).toEqual({ name, at })
  }
}

/** The response once for each header whose value is compared as it is, with the last byte of that value changed. */
function withOtherBytes({ response }: Exchange): { at: string; response: Buffer }[] {
  const text = response.toString('latin1')
  const lines = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n').slice(1)
  const plain = lines.filter(
    (line) => !/^(date|mcp-session-id|content-length|transfer-encoding):/i.test(line),
  )
  return plain.map((line) => {
    const other = Buffer.from(response)
    const place = text.indexOf(`\r\n${line}\r\n`) + line.length + 1
    // Flipping the lowest bit makes no line end of a byte that is none.
    other.writeUInt8(other.readUInt8(place) ^ 1, place)
    return { at: `header ${line.slice(0, line.indexOf(':')).toLowerCase()}`, response: other }
  })
}
