import { expect, test } from 'vitest'
import { settled } from './clock.ts'
import { createPeer, LEGACY, MODERN } from './peers.ts'
import type { Line } from './peers.ts'
import { lease, setup, who } from './setup.ts'

const HTTP = { transport: 'streamable-http', max: 8 } as const
const STDIO = { transport: 'stdio', max: 8 } as const
const FORMS = { elicitation: { form: {} } }
const SAMPLING = { sampling: {} }

const turns = async (): Promise<void> => {
  for (let i = 0; i < 8; i++) await settled()
}

/** The capabilities that each opened channel was told. */
const told = (lines: readonly Line[]): unknown[] =>
  lines.map(({ received }) => {
    const initialize = received.find(({ message }) => 'method' in message && message.method === 'initialize')
    return initialize && 'params' in initialize.message
      ? initialize.message.params?.['capabilities']
      : undefined
  })

test('what one credential opened never serves another', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer, { spec: { ...HTTP, credentialOf: (principal) => `token of ${principal}` } })
  const [ann, bob, annToo] = [await files.lease(who('ann')), await files.lease(who('bob')), lease(files)]
  await turns()
  expect(ann.connection).not.toBe(bob.connection)
  expect(annToo.lease?.connection).toBe(ann.connection)
  expect(files.sharing(who('ann'))).not.toBe(files.sharing(who('bob')))
})

test('over HTTP a legacy server is told exactly what its caller can be asked, in a session for each set', async () => {
  const peer = createPeer(LEGACY)
  const { files } = setup(peer, { preference: 'force-initialize', spec: HTTP })
  const forms = await files.lease(who('ann', { answers: FORMS }))
  const sampling = await files.lease(who('ann', { answers: SAMPLING }))
  const more = await files.lease(who('bob', { answers: { elicitation: { form: {} } } }))
  expect(told(peer.lines)).toEqual([FORMS, SAMPLING])
  expect(more.connection).toBe(forms.connection)
  expect(sampling.connection).not.toBe(forms.connection)
  expect(files.sharing(who('ann', { answers: FORMS }))).not.toBe(files.sharing(who('ann')))
})

test('callers of different capabilities who wait for the first start part as soon as the server proves legacy', async () => {
  const peer = createPeer(LEGACY)
  const { files } = setup(peer, { preference: 'force-initialize', spec: HTTP })
  const callers = [
    lease(files, who('ann', { answers: FORMS })),
    lease(files, who('ann', { answers: SAMPLING })),
    lease(files, who('bob', { answers: FORMS })),
  ]
  await turns()
  const [forms, sampling, formsToo] = callers.map((caller) => caller.lease?.connection)
  expect([forms === formsToo, forms === sampling, told(peer.lines)]).toEqual([true, false, [FORMS, SAMPLING]])
})

test('a modern server is told with each request, so that its callers share one connection', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer, { spec: HTTP })
  const forms = await files.lease(who('ann', { answers: FORMS }))
  const sampling = await files.lease(who('bob', { answers: SAMPLING }))
  expect([peer.opened, forms.connection === sampling.connection]).toEqual([1, true])
})

test('a process is told everything, and serves every caller', async () => {
  const peer = createPeer(LEGACY)
  const { files } = setup(peer, { preference: 'force-initialize', spec: STDIO })
  const forms = await files.lease(who('ann', { answers: FORMS }))
  const none = await files.lease(who('bob'))
  expect(forms.connection).toBe(none.connection)
  expect(told(peer.lines)).toEqual([
    { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} } },
  ])
})

test('roots are told to whom an instance belongs, and to all only where they are configured', async () => {
  const answers = { roots: {} }
  for (const [spec, roots] of [
    [{ ...HTTP, scope: 'global' }, undefined],
    [{ ...HTTP, scope: 'global', roots: true }, {}],
    [{ ...HTTP, scope: 'principal' }, { listChanged: true }],
    [{ ...STDIO, scope: 'global' }, undefined],
    [{ ...STDIO, scope: 'principal' }, { listChanged: true }],
  ] as const) {
    const peer = createPeer(LEGACY)
    const { files } = setup(peer, { preference: 'force-initialize', spec })
    await files.lease(who('ann', { answers }))
    expect(told(peer.lines)).toEqual([expect.objectContaining(roots === undefined ? {} : { roots })])
    expect(JSON.stringify(told(peer.lines)).includes('roots')).toBe(roots !== undefined)
  }
})

test('while a call that asks is open, a legacy process takes calls of its principal alone', async () => {
  const peer = createPeer(LEGACY)
  const { files } = setup(peer, { preference: 'force-initialize', spec: STDIO })
  const asking = await files.lease(who('ann'), undefined, true)
  const [ann, bob] = [await files.lease(who('ann')), await files.lease(who('bob'))]
  expect([ann.connection === asking.connection, bob.connection === asking.connection]).toEqual([true, false])
  const bobAsks = await files.lease(who('bob'), undefined, true)
  expect([bobAsks.connection === bob.connection, peer.opened]).toEqual([true, 2])
  asking.release()
  // Whoever asks goes where others are not.
  const cid = await files.lease(who('cid'), undefined, true)
  expect([cid.connection === bob.connection, peer.opened]).toEqual([false, 3])
})

test('whoever wants to be alone gets his turn against steady traffic of others, and they get theirs', async () => {
  const peer = createPeer(LEGACY)
  const { files } = setup(peer, { preference: 'force-initialize', spec: { ...STDIO, max: 1 } })
  const first = await files.lease(who('ann'))
  const bob = { principal: 'bob', session: undefined, revision: undefined }
  let got: Awaited<ReturnType<typeof files.lease>> | undefined
  void files.lease(bob, undefined, true).then((held) => {
    got = held
  })
  await turns()
  const later = lease(files, who('ann'))
  await turns()
  expect([got, later.lease]).toEqual([undefined, undefined])
  first.release()
  await turns()
  expect([got !== undefined, later.lease]).toEqual([true, undefined])
  got?.release()
  await turns()
  expect([later.lease !== undefined, peer.opened]).toEqual([true, 1])
})

test('steady traffic of one principal cannot keep another out of a full lane', async () => {
  const peer = createPeer(MODERN)
  const { files } = setup(peer, { spec: { scope: 'principal', max: 1 } })
  let held = await files.lease(who('ann'))
  const bob = lease(files, who('bob'))
  await turns()
  const next = lease(files, who('ann'))
  await turns()
  held.release()
  await turns()
  expect([bob.lease !== undefined, next.lease]).toEqual([true, undefined])
  held = await (bob.lease === undefined ? Promise.reject(new Error('bob waits')) : Promise.resolve(bob.lease))
  held.release()
  await turns()
  expect(next.lease).toBeDefined()
})

test('waiting for a place has an end that says what to do', async () => {
  const peer = createPeer(MODERN)
  const { files, clock } = setup(peer, { spec: { scope: 'principal', max: 1 } })
  await files.lease(who('ann'))
  const bob = lease(files, who('bob'))
  await turns()
  await clock.turn(files.spec.tuning().callTimeout)
  await turns()
  expect(bob.code).toBe('UPSTREAM_BUSY')
})
