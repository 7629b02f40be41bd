// A listen stream that a proxy cuts again and again: it is opened anew, and what changed meanwhile is told once.
import { expect, test } from 'vitest'
import { openCaller, overChild, overHttp, overPipe } from '../bridge/caller.ts'
import type { JsonObject } from '../peers/peer.ts'
import { startChild, startDaemon } from '../peers/processes.ts'
import { openHost, tool, toolsOf } from './host.ts'

const CALLERS = (['2025-11-25', '2026-07-28'] as const).flatMap((revision) =>
  (['http', 'stdio'] as const).map((by) => ({ revision, by })),
)
const CHANGED = 'notifications/tools/list_changed'
const UPDATED = 'notifications/resources/updated'
const URI = 'file:///watched'

test.each(CALLERS)(
  'case C43: what a $revision client over $by hears of a server behind it',
  async ({ revision, by }) => {
    let tools = [tool('old')]
    const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } }
    await using host = await openHost({ era: 'modern', capabilities, answer: toolsOf(() => tools) })
    await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
    await using caller = await openCaller(
      revision,
      by === 'http' ? overHttp(daemon.url) : overPipe(daemon.serve()),
    )
    if (revision === '2026-07-28') {
      const notifications = { toolsListChanged: true, resourceSubscriptions: [URI] }
      caller.send('listen', 'subscriptions/listen', { notifications })
      await caller.next(({ method }) => method === 'notifications/subscriptions/acknowledged', 0)
    } else {
      await caller.listen()
      await caller.ask('subscribe', 'resources/subscribe', { uri: URI })
    }
    await caller.ask('list', 'tools/list')
    const heard = (name: string) => caller.heard.filter(({ method }) => method === name).length
    const open = () => host.streams.filter(({ isOpen }) => isOpen)
    const filters = () => host.streams.map(({ asked }) => asked.params['notifications'])
    // The stream of lists alone, and the one that took its place.
    await host.stream(2)
    const [, wanted] = filters()
    expect(wanted).toEqual({ toolsListChanged: true, resourceSubscriptions: [URI] })

    // Cut without a change, twice, and with one.
    for (const cut of [1, 2, 3]) {
      const nth = host.streams.length
      if (cut === 3) tools = [tool('new')]
      host.streams.at(-1)?.cut()
      const stream = await host.stream(nth + 1)
      const from = caller.heard.length
      stream.tell(UPDATED, { uri: URI })
      await caller.next(({ method }) => method === UPDATED, from)
      expect(open()).toEqual([stream])
      expect(heard(UPDATED)).toBe(cut)
    }
    await caller.next(({ method }) => method === CHANGED, 0)
    const { result } = await caller.ask('again', 'tools/list')
    expect((result as { tools: JsonObject[] }).tools.map(({ name }) => name)).toEqual(['new'])
    // One more, told by the server itself, is the second that there is.
    tools = [tool('newer')]
    const from = caller.heard.length
    host.streams.at(-1)?.tell(CHANGED)
    await caller.next(({ method }) => method === CHANGED, from)
    expect(heard(CHANGED)).toBe(2)
    expect(
      new Set(
        filters()
          .slice(1)
          .map((filter) => JSON.stringify(filter)),
      ),
    ).toEqual(new Set([JSON.stringify(wanted)]))
  },
)

test.each(['http', 'stdio', 'stdio, by a signal'] as const)(
  'a subscription that mcpx ends itself is told so, and then has its result: over %s',
  async (by) => {
    const capabilities = { tools: { listChanged: true } }
    await using host = await openHost({ era: 'modern', capabilities, answer: toolsOf(() => [tool('one')]) })
    await using daemon = await startDaemon({ mcpServers: { one: { url: host.url } } })
    const child = startChild(daemon.serve('--standalone'))
    await using caller = await openCaller(
      '2026-07-28',
      by === 'http' ? overHttp(daemon.url) : overChild(child),
    )
    caller.send('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } })
    await caller.next(({ method }) => method === 'notifications/subscriptions/acknowledged', 0)
    const from = caller.heard.length
    if (by === 'http') await daemon.stop()
    else await child.stop(by === 'stdio' ? undefined : 'SIGTERM')
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 'listen' }
    const last = await caller.answer('listen')
    expect(caller.heard.slice(from)).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 'listen', reason: expect.any(String), _meta },
      },
      last,
    ])
    expect(last['result']).toMatchObject({ resultType: 'complete', _meta })
    await child.stop()
  },
)
