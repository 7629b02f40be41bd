// The runbook is run: its commands and requests against a daemon, its queries against the figures that the daemon has.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { initialize, metricsOf, modernHeaders, modernRequest } from '../http/observed.ts'
import type { Sample } from '../http/observed.ts'
import { post } from '../peers/exchange.ts'
import { ROOT } from '../peers/processes.ts'
import { fixture, openWorkspace } from '../peers/workspace.ts'
import type { Running, Workspace } from '../peers/workspace.ts'

const PAGE = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8')
const BLOCKS = [...PAGE.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map(
  ([, language, info = '', text = '']) => ({
    language,
    info: info.trim(),
    lines: text.trim().split('\n'),
  }),
)
const COMMANDS = BLOCKS.filter(({ language }) => language === 'sh').flatMap(({ info, lines }) => {
  const want = /^run(?: (\d{3}))?$/.exec(info)
  return lines.map((line) => ({ line, runs: want !== null, status: Number(want?.[1] ?? 200) }))
})
const QUERIES = BLOCKS.filter(({ language }) => language === 'promql').flatMap(({ lines }) => lines)

let workspace: Workspace
let daemon: Running
let origin: string
let samples: readonly Sample[]

beforeAll(async () => {
  workspace = await openWorkspace({ mcpServers: { one: fixture('legacy-stdio') } })
  daemon = await workspace.start('daemon', '--port', '0', '--json')
  const { mcp, v1 } = JSON.parse(await daemon.printed(/\n/)) as { mcp: string; v1: string }
  origin = new URL(mcp).origin
  await post(mcp, modernRequest('server/discover', 'new'), modernHeaders('server/discover'))
  await post(mcp, initialize('old'))
  await post(mcp, initialize('kept out'), { origin: 'https://evil.example' })
  samples = await metricsOf(v1)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await workspace[Symbol.asyncDispose]()
})

test('the page has what this test is for', () => {
  expect([COMMANDS.length, QUERIES.length].every((count) => count >= 10)).toBe(true)
  expect(COMMANDS.filter(({ runs }) => !runs)).toEqual([])
  expect(new Set(BLOCKS.map(({ language }) => language))).toEqual(new Set(['promql', 'sh']))
})

test.each(COMMANDS)('$line', async ({ line, status }) => {
  const [program, ...args] = words(line)
  if (program === 'mcpx') {
    const { code, stdout, stderr } = await workspace.run(args)
    expect([code, stderr]).toEqual([0, ''])
    if (args.includes('--json')) expect(JSON.parse(stdout)).toEqual(expect.any(Object))
    else expect(stdout).not.toBe('')
    return
  }
  expect(program).toBe('curl')
  const { url, ...init } = requestOf(args)
  const stop = new AbortController()
  const response = await fetch(url, { ...init, signal: stop.signal })
  expect(response.status).toBe(status)
  stop.abort()
})

test.each(QUERIES)('%s', (query) => {
  const names = [...query.matchAll(/\b((?:mcpx|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)]
  expect(names).not.toEqual([])
  const allLabels = new Set<string>()
  for (const [, name, selector = ''] of names) {
    const own = samples.filter((sample) => sample.name === name)
    for (const label of own.flatMap(({ labels }) => Object.keys(labels))) allLabels.add(label)
    const matchers = [...selector.matchAll(/(\w+)(=~?)"([^"]*)"/g)]
    expect(matchers.map(([text]) => text).join(',')).toBe(selector)
    const fits = own.filter(({ labels }) =>
      matchers.every(([, label = '', operator, value = '']) =>
        operator === '=' ? labels[label] === value : new RegExp(`^(?:${value})$`).test(labels[label] ?? ''),
      ),
    )
    // A query that selects nothing of what has happened is misspelt.
    expect(fits.map((sample) => sample.name)).toContain(name)
  }
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
  expect(grouped.filter((label) => !allLabels.has(label))).toEqual([])
})

test('the page explains every status and code that a refusal has', () => {
  const rows = [...PAGE.matchAll(/^\| (\d{3}(?:, \d{3})*) \| (\S+) \|/gm)]
  const explained = rows.flatMap(([, statuses = '', code]) =>
    statuses.split(', ').map((one) => `${one} ${code}`),
  )
  const seen = samples.filter(
    ({ name, labels }) => name === 'mcpx_requests_total' && Number(labels['status']) >= 400,
  )
  expect(seen.map(({ labels }) => `${labels['status']} ${labels['code']}`)).toEqual(['403 -32600'])
  expect(explained).toEqual(expect.arrayContaining(['403 -32600', '400 -32020', '400 -32022', '404 -32601']))
})

/** The words of a shell line with single quotes and no other syntax. */
function words(line: string): string[] {
  expect(line).not.toMatch(/[|&;<>$`\\]/)
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
}

/** What curl would send, to the daemon of this test. */
function requestOf(args: readonly string[]) {
  const headers: Record<string, string> = {}
  let url = ''
  let body: string | undefined
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? ''
    if (word === '-H') {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(args[++i] ?? '') ?? []
      headers[name] = value
    } else if (word === '-d') body = args[++i]
    else if (!['-s', '-N'].includes(word)) url = word.replace('http://127.0.0.1:6279', origin)
  }
  expect(url.startsWith(origin)).toBe(true)
  return body === undefined ? { url, headers } : { url, headers, body, method: 'POST' }
}
