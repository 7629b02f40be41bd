// Public names: safe for every client, stable, and each calls the tool that it stands for.
import { expect, test } from 'vitest'
import { openRaw } from '../peers/clients.ts'
import type { JsonObject, Peer } from '../peers/peer.ts'
import { startDaemon } from '../peers/processes.ts'
import { fixture } from '../peers/workspace.ts'

const SAFE = /^[A-Za-z0-9_-]{1,64}$/
const LONG = 'server-with-a-name-of-sixty-characters-0123456789-0123456789ab'
const config = {
  mcpServers: {
    odd: fixture('odd-names'),
    [LONG]: fixture('odd-names'),
    'dotted.name': fixture('legacy-stdio'),
    a: fixture('legacy-stdio'),
    a__b: fixture('legacy-stdio'),
    bare: { ...fixture('legacy-stdio'), prefix: '' },
    renamed: { ...fixture('legacy-stdio'), prefix: 'other' },
  },
}

const namesOf = async (client: Peer) => (await client.listTools()).map(({ name }) => String(name))
const said = (result: JsonObject) => (result['content'] as { text: string }[])[0]?.text

test('case C30: listed names are safe and stable, and call the right tool', async () => {
  let before: string[] | undefined
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    await using daemon = await startDaemon(config)
    await using client = await openRaw({ url: daemon.url }, revision)
    await using own = await openRaw({ url: `${daemon.url}/odd` }, revision)
    const names = await namesOf(client)
    for (const name of names) expect(name).toMatch(SAFE)
    expect(new Set(names).size).toBe(names.length)
    before ??= names
    expect(names).toEqual(before)

    // The tools of one fixture come together, in one order on both of its servers.
    const native = await namesOf(own)
    const heard = []
    for (const name of names.slice(0, native.length * 2)) heard.push(said(await client.callTool(name, {})))
    expect(heard).toEqual([...native, ...native])
  }
})

test('case C30: a name that was listed before the daemon started anew calls its tool at once', async () => {
  const listed = await (async () => {
    await using daemon = await startDaemon(config)
    await using client = await openRaw({ url: daemon.url }, '2025-11-25')
    return await namesOf(client)
  })()
  await using daemon = await startDaemon(config)
  await using client = await openRaw({ url: daemon.url }, '2025-11-25')
  const dotted = listed.find((name) => name.startsWith('odd__a_b_'))
  expect(['a.b', 'a/b', 'a b']).toContain(said(await client.callTool(String(dotted), {})))
})

test('a prefix of another name, or none, leads the names', async () => {
  await using daemon = await startDaemon(config)
  await using client = await openRaw({ url: daemon.url }, '2025-11-25')
  const names = await namesOf(client)
  const echoes = names.filter((name) => /echo(_[0-9a-z]{11})?$/.test(name))
  expect(echoes).toEqual([
    expect.stringMatching(/^dotted_name__echo_/),
    'a__echo',
    'a__b__echo',
    'echo',
    'other__echo',
  ])
  for (const name of echoes) expect(said(await client.callTool(name, { message: name }))).toBe(name)
  await expect(client.callTool('renamed__echo', {})).rejects.toMatchObject({ code: -32602 })
  await expect(client.callTool('oter__echo', {})).rejects.toMatchObject({ code: -32602 })
})

test('without prefixes, names stand as they are', async () => {
  await using daemon = await startDaemon({ mcpServers: { a: fixture('legacy-stdio') }, naming: 'none' })
  await using client = await openRaw({ url: daemon.url }, '2025-11-25')
  expect(await namesOf(client)).toEqual(['echo', 'fail', 'hold'])
})

test('a tool that nobody has is refused with the name that was meant', async () => {
  const servers = { one: fixture('legacy-stdio'), two: fixture('legacy-stdio') }
  await using daemon = await startDaemon({ mcpServers: servers })
  await using client = await openRaw({ url: daemon.url }, '2025-11-25')
  await expect(client.callTool('onne__echo', {})).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('Did you mean one__echo?'),
  })
})
