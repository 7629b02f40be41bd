// Lists of servers that page, repeat themselves, change their order or cry wolf: what reaches the client is whole, and the same.
import { expect, test } from 'vitest'
import { openCaller, overHttp, overPipe } from '../bridge/caller.ts'
import type { Caller } from '../bridge/caller.ts'
import { exchange } from '../peers/exchange.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import type { Daemon } from '../peers/processes.ts'
import { logged, openHost, tool, toolsOf } from './host.ts'
import type { Asked } from './host.ts'

const ERAS = ['legacy', 'modern'] as const
const REVISIONS = ['2025-11-25', '2026-07-28'] as const
const WAYS = REVISIONS.flatMap((revision) => (['http', 'stdio'] as const).map((by) => ({ revision, by })))

type Way = (typeof WAYS)[number]

const openOn = (daemon: Daemon, { revision, by }: Way) =>
  openCaller(revision, by === 'http' ? overHttp(daemon.url) : overPipe(daemon.serve()))

let lastId = 0

/** The pages of the tools as mcpx serves them. */
async function pagesOf(caller: Caller): Promise<JsonObject[][]> {
  const pages: JsonObject[][] = []
  let cursor: unknown
  do {
    const asked = await caller.ask(`list ${++lastId}`, 'tools/list', cursor === undefined ? {} : { cursor })
    const page = asked['result'] as { tools: JsonObject[]; nextCursor?: string }
    pages.push(page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return pages
}

const namesIn = (pages: readonly JsonObject[][]) => pages.flat().map(({ name }) => String(name))
const numbered = (count: number) =>
  Array.from({ length: count }, (_, at) => tool(`tool-${String(at).padStart(3, '0')}`))

/** Pages of 50, each named by the place at which it begins. */
function paged(tools: readonly JsonObject[]) {
  return ({ params: { cursor = '0' } }: Asked) => {
    const start = Number(cursor)
    const next = start + 50 < tools.length ? { nextCursor: String(start + 50) } : {}
    return { tools: tools.slice(start, start + 50), ...next }
  }
}

test.each(ERAS)(
  'case C28: 250 tools of a %s server in pages of 50 all arrive, paged by mcpx',
  async (era) => {
    const tools = numbered(250)
    const page = paged(tools)
    const answer = toolsOf(() => [])
    await using host = await openHost({
      era,
      answer: (asked, response) => (asked.method === 'tools/list' ? page(asked) : answer(asked, response)),
    })
    await using daemon = await startDaemon({ mcpServers: { a: { url: host.url }, b: { url: host.url } } })
    const names = tools.map(({ name }) => String(name))
    for (const way of WAYS) {
      await using caller = await openOn(daemon, way)
      const pages = await pagesOf(caller)
      expect(namesIn(pages)).toEqual([
        ...names.map((name) => `a__${name}`),
        ...names.map((name) => `b__${name}`),
      ])
      expect(pages).toHaveLength(2)
      const last = await caller.ask('last', 'tools/call', { name: 'b__tool-249', arguments: {} })
      expect(last).toMatchObject({ result: { content: [{ text: 'tool-249' }] } })
      const foreign = await caller.ask('foreign', 'tools/list', { cursor: '50' })
      expect(foreign).toMatchObject({ error: { code: -32602 } })
    }
  },
)

test.each(ERAS)('case C29: the walk of a %s server ends at a cursor that never changes', async (era) => {
  const tools = numbered(8)
  await using host = await openHost({
    era,
    answer: (asked, response) => {
      const whole = { tools, nextCursor: 'more' }
      return asked.method === 'tools/list' ? whole : toolsOf(() => [])(asked, response)
    },
  })
  await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
  for (const way of WAYS) {
    await using caller = await openOn(daemon, way)
    expect(namesIn(await pagesOf(caller))).toEqual(tools.map(({ name }) => name))
  }
  expect(logged(daemon)).toMatchObject([{ server: 'one', msg: expect.stringContaining('page twice') }])
})

test.each(ERAS)(
  'case C31: a %s server that lists in another order each time is listed in one',
  async (era) => {
    const tools = [...numbered(20), tool('with keys', { title: 'Keys', description: 'in another order' })]
    let turn = 0
    const shuffled = () => {
      turn++
      const turned = [...tools.slice(turn % tools.length), ...tools.slice(0, turn % tools.length)]
      return turn % 2 === 0 ? turned.toReversed() : turned
    }
    await using host = await openHost({ era, answer: toolsOf(shuffled) })
    await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
    for (const revision of REVISIONS) {
      const bodies = new Set<string>()
      for (let time = 0; time < 4; time++) bodies.add(await bodyOf(daemon, revision))
      expect([...bodies]).toEqual([expect.stringContaining('tool-019')])
    }
    expect(turn).toBeGreaterThanOrEqual(8)
  },
)

/** The bytes of a list, asked for without a session. */
async function bodyOf(daemon: Daemon, revision: string): Promise<string> {
  const HOP = 'io.modelcontextprotocol/'
  const _meta = { [`${HOP}protocolVersion`]: revision, [`${HOP}clientCapabilities`]: {} }
  const modern = { 'mcp-protocol-version': revision, 'mcp-method': 'tools/list' }
  const isModern = revision === '2026-07-28'
  const params = isModern ? { params: { _meta } } : {}
  const { body } = await exchange(daemon.url, {
    verb: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', accept: 'application/json' },
      ...(isModern && modern),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', ...params }),
  })
  return body
}

test.each(ERAS)('case C45: a name that a %s server lists twice is listed once, and called', async (era) => {
  const tools = [tool('same', { description: 'the first' }), tool('same'), tool('other')]
  await using host = await openHost({ era, answer: toolsOf(() => tools) })
  await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
  for (const way of WAYS) {
    await using caller = await openOn(daemon, way)
    const [page = []] = await pagesOf(caller)
    expect(page).toMatchObject([{ name: 'other' }, { name: 'same', description: 'the first' }])
    const answer = await caller.ask('call', 'tools/call', { name: 'same', arguments: {} })
    expect(answer).toMatchObject({ result: { content: [{ text: 'same' }] } })
  }
  expect(logged(daemon)).toMatchObject([
    { server: 'one', name: 'same', msg: expect.stringContaining('twice') },
  ])
})

test.each(WAYS)(
  'a $revision client over $by hears of a change that happens while the list is being read',
  async (way) => {
    let tools = [tool('old')]
    let held: Promise<void> | undefined
    const answer = toolsOf(() => tools)
    await using host = await openHost({
      era: 'legacy',
      capabilities: { tools: { listChanged: true } },
      answer: async (asked, response) => {
        const [given, wait] = [await answer(asked, response), held]
        if (asked.method === 'tools/list') await wait
        return given
      },
    })
    await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
    await using caller = await openOn(daemon, way)
    await listening(caller, way)
    expect(namesIn(await pagesOf(caller))).toEqual(['old'])
    const stream = await host.stream(1)
    const lists = host.times('tools/list')
    let release = () => {}
    held = new Promise((resolve) => (release = resolve))
    caller.send('slow', 'tools/list')
    await host.reached('tools/list', lists + 1)
    ;[held, tools] = [undefined, [tool('new')]]
    stream.tell('notifications/tools/list_changed')
    // What was asked for before the change is answered after it was told, and looked at once more.
    await host.reached('tools/list', lists + 2)
    release()
    await caller.next(isChange, 0)
    expect(namesIn(await pagesOf(caller))).toEqual(['new'])
  },
)

const isChange = ({ method }: JsonObject) => method === 'notifications/tools/list_changed'

/** Listens to changes of lists, as the caller's era and transport have it. */
async function listening(caller: Caller, { revision }: Way): Promise<void> {
  if (revision !== '2026-07-28') return caller.listen()
  const from = caller.heard.length
  caller.send('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } })
  await caller.next(({ method }) => method === 'notifications/subscriptions/acknowledged', from)
}

test.each(ERAS.flatMap((era) => WAYS.map((way) => ({ era, ...way }))))(
  'case C32: a $era server that cries wolf is looked at seldom, and a $revision client over $by hears of true changes only',
  async ({ era, ...way }) => {
    const CHANGED = 'notifications/tools/list_changed'
    let tools = [tool('old')]
    const capabilities = { tools: { listChanged: true } }
    await using host = await openHost({ era, capabilities, answer: toolsOf(() => tools) })
    await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
    await using caller = await openOn(daemon, way)
    if (way.revision === '2025-11-25') await caller.listen()
    else {
      caller.send('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } })
      await caller.next(({ method }) => method === 'notifications/subscriptions/acknowledged', 0)
    }
    const stream = await host.stream(1)
    await caller.ask('first', 'tools/list')
    // What the server brought when it started has been told by now, or is told before what follows.
    const from = caller.heard.length
    const looks = host.times('tools/list')
    for (let time = 0; time < 100; time++) stream.tell(CHANGED)
    await host.reached('tools/list', looks + 1)
    tools = [tool('new')]
    stream.tell(CHANGED)
    await caller.next(({ method }) => method === CHANGED, from)
    expect(host.times('tools/list') - looks).toBeLessThanOrEqual(3)
    const { result } = await caller.ask('second', 'tools/list')
    expect((result as { tools: JsonObject[] }).tools.map(({ name }) => name)).toEqual(['new'])
    expect(caller.heard.slice(from).filter(({ method }) => method === CHANGED)).toHaveLength(1)
  },
)
