// Rounds of a modern caller, frame by frame: what a state is good for, and what becomes of a call that waits.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../peers/peer.ts'
import { startProgram } from '../peers/processes.ts'
import { openWorkspace } from '../peers/workspace.ts'
import { openLedger } from './ledger.ts'
import { answering, modernCaller, textOf, word } from './modern-caller.ts'
import type { Caller, Reply } from './modern-caller.ts'
import { openHere, OVER, pathOf } from './setup.ts'
import type { Here } from './setup.ts'

const PRINCIPALS = ['ann', 'bob']
const ANN = { token: 'ann' }
const questionsOf = ({ result }: Reply) => Object.entries(result?.inputRequests ?? {})
const refusal = ({ error }: Reply) => [error?.code, error?.message]

describe.each(OVER)('a server over %s', (over) => {
  let here: Here
  let call: Caller
  beforeEach(async () => {
    here = await openHere(over, { principals: PRINCIPALS })
    call = here.caller()
  })
  afterEach(() => here[Symbol.asyncDispose]())

  test("case C25: a question crosses, and its answer has the server's own id", async () => {
    const round = await call('ask', ANN)
    expect(round.result).toMatchObject({ resultType: 'input_required' })
    expect(questionsOf(round)).toMatchObject([
      [expect.any(String), { method: 'elicitation/create', params: { message: 'Who is ann?' } }],
    ])
    expect(textOf(await call('ask', ANN, answering(round, word('Ann'))))).toBe('ann: Ann')
    const [asked] = here.ledger.like({ kind: 'asked' })
    expect(here.ledger.like({ kind: 'answered' })).toMatchObject([
      { id: asked?.['id'], idType: 'string', result: word('Ann') },
    ])
  })

  test('a state that was changed, or never was one, is refused, and the question can still be answered', async () => {
    const round = await call('ask', ANN)
    const retry = answering(round, word('Ann'))
    const state = retry.requestState ?? ''
    const swapped = state.at(-2) === 'A' ? 'B' : 'A'
    const changed = [
      `${state.slice(0, -2)}${swapped}${state.at(-1)}`,
      state.slice(0, -1),
      `${state}A`,
      state.toUpperCase(),
      '',
      'nonsense',
      Buffer.from('{"kind":"parked"}').toString('base64url'),
    ]
    for (const requestState of changed) {
      const [code, message] = refusal(await call('ask', ANN, { ...retry, requestState }))
      expect([code, message]).toEqual([-32602, expect.stringMatching(/changed on the way/)])
    }
    const odd = { ...retry, requestState: 7 as unknown as string }
    expect(refusal(await call('ask', ANN, odd))[0]).toBe(-32602)
    expect(here.ledger.like({ kind: 'answered' })).toEqual([])
    expect(textOf(await call('ask', ANN, retry))).toBe('ann: Ann')
  })

  test('a state is good for its own request only', async () => {
    const retry = answering(await call('ask', ANN), word('Ann'))
    for (const [tool, args] of [
      ['ask', { token: 'bob' }],
      ['ask', { token: 'ann', rounds: 1 }],
      ['two', ANN],
      ['plain', ANN],
    ] as const) {
      expect(refusal(await call(tool, args, retry))).toEqual([
        -32602,
        expect.stringMatching(/belongs to another request/),
      ])
    }
    expect(here.ledger.like({ kind: 'called' })).toHaveLength(1)
    expect(textOf(await call('ask', ANN, retry))).toBe('ann: Ann')
  })

  test('a state is good for its own principal only', async () => {
    const [asAnn, asBob] = [here.caller('ann'), here.caller('bob')]
    const retry = answering(await asAnn('ask', ANN), word('Ann'))
    for (const other of [asBob, call]) {
      expect(refusal(await other('ask', ANN, retry))).toEqual([
        -32602,
        expect.stringMatching(/belongs to another principal/),
      ])
    }
    expect(here.ledger.like({ kind: 'answered' })).toEqual([])
    expect(textOf(await asAnn('ask', ANN, retry))).toBe('ann: Ann')
  })

  test('a retry that is repeated has the same outcome, and one with other answers is refused', async () => {
    const round = await call('ask', ANN)
    const retry = answering(round, word('Ann'))
    const first = await call('ask', ANN, retry)
    expect(textOf(first)).toBe('ann: Ann')
    const again = await call('ask', ANN, retry)
    expect(again.result).toEqual(first.result)
    expect(refusal(await call('ask', ANN, answering(round, word('Bob'))))).toEqual([
      -32602,
      expect.stringMatching(/answered already/),
    ])
    expect(here.ledger.like({ kind: 'called' })).toHaveLength(1)
    expect(here.ledger.like({ kind: 'answered' })).toHaveLength(1)
  })

  test('equal retries at once are one, and of different ones the first counts', async () => {
    const round = await call('ask', ANN)
    const retry = answering(round, word('Ann'))
    const all = await Promise.all(Array.from({ length: 8 }, () => call('ask', ANN, retry)))
    expect(all.map(textOf)).toEqual(all.map(() => 'ann: Ann'))
    const other = await call('ask', { token: 'bob' })
    const both = await Promise.all(
      ['Bob', 'Rob'].map((name) => call('ask', { token: 'bob' }, answering(other, word(name)))),
    )
    const [answer] = here.ledger.like({ kind: 'answered' }).slice(1)
    const { content } = (answer?.['result'] ?? {}) as { content?: { word: string } }
    expect(both.map(textOf).filter(Boolean)).toEqual([`bob: ${content?.word}`])
    expect(both.map(({ error }) => error?.code).filter(Boolean)).toEqual([-32602])
    expect(here.ledger.like({ kind: 'answered' })).toHaveLength(2)
  })

  test('an answer that is missing is asked for again under the same key', async () => {
    const round = await call('two', ANN)
    const [[first], [second]] = questionsOf(round) as unknown as [[string], [string]]
    const partly = await call('two', ANN, {
      inputResponses: { [second]: word('second') },
      requestState: round.result?.requestState,
    })
    expect(questionsOf(partly).map(([key]) => key)).toEqual([first])
    const nothing = await call('two', ANN, { requestState: partly.result?.requestState })
    expect(questionsOf(nothing).map(([key]) => key)).toEqual([first])
    expect(textOf(await call('two', ANN, answering(nothing, word('first'))))).toBe('ann: first second')
  })

  test('an answer that does not fit is asked for again with the reasons', async () => {
    let round = await call('ask', ANN)
    const [[key]] = questionsOf(round) as unknown as [[string]]
    const wrong: readonly [JsonObject, RegExp][] = [
      [word('x'), /word must have at least 2 characters/],
      [{ action: 'accept', content: {} }, /word is missing/],
      [{ action: 'accept' }, /word is missing/],
      [{ action: 'perhaps' }, /action must be accept, decline or cancel/],
      [{ action: 'accept', content: { word: 7 } }, /word must be text/],
    ]
    for (const [answer, why] of wrong) {
      round = await call('ask', ANN, answering(round, answer))
      const [[again, question]] = questionsOf(round) as unknown as [[string, { params: JsonObject }]]
      expect([again, question.params['message']]).toEqual([key, expect.stringMatching(why)])
    }
    expect(here.ledger.like({ kind: 'answered' })).toEqual([])
    expect(textOf(await call('ask', ANN, answering(round, { action: 'decline' })))).toBe('ann: decline')
  })

  test('rounds follow each other, and only the present one can be answered', async () => {
    const args = { token: 'ann', rounds: 3 }
    const one = await call('ask', args)
    const two = await call('ask', args, answering(one, word('one')))
    expect(questionsOf(two)).toMatchObject([[expect.any(String), { params: { message: 'Who is ann? 2' } }]])
    expect((await call('ask', args, answering(one, word('one')))).result).toEqual(two.result)
    const three = await call('ask', args, answering(two, word('two')))
    expect(refusal(await call('ask', args, answering(two, word('other'))))[0]).toBe(-32602)
    expect(textOf(await call('ask', args, answering(three, word('three'))))).toBe('ann: one two three')
    expect((await call('ask', args, answering(one, word('one')))).result).toEqual(two.result)
  })

  test('answers that come before the question are kept for it', async () => {
    const round = await call('ask', ANN)
    const [[key]] = questionsOf(round) as unknown as [[string]]
    const early = await call('ask', ANN, { inputResponses: { [key]: word('Early'), other: word('Other') } })
    expect(textOf(early)).toBe('ann: Early')
  })

  test('a caller that closes its stream after it has answered ends the call on the server', async () => {
    const leaving = new AbortController()
    const round = await call('ask_and_hang', ANN)
    const gone = call('ask_and_hang', ANN, {
      ...answering(round, word('Ann')),
      signal: leaving.signal,
    })
    await here.ledger.until({ kind: 'answered' })
    leaving.abort()
    await expect(gone).rejects.toThrow()
    const [{ id }] = (await here.ledger.until({ kind: 'called' })) as unknown as [{ id: unknown }]
    expect(await here.ledger.until({ kind: 'cancelled' })).toMatchObject([{ call: id }])
    expect(refusal(await call('ask_and_hang', ANN, answering(round, word('Bob'))))[0]).toBe(-32602)
  })

  test('a caller that closes its stream before anything was asked ends the call on the server', async () => {
    const leaving = new AbortController()
    const gone = call('ask_late', { token: 'ann', gate: `${here.v1}/events` }, { signal: leaving.signal })
    const [{ id }] = (await here.ledger.until({ kind: 'called' })) as unknown as [{ id: unknown }]
    leaving.abort()
    await expect(gone).rejects.toThrow()
    expect(await here.ledger.until({ kind: 'cancelled' })).toMatchObject([{ call: id }])
  })

  test('while calls wait, one that does not ask is answered', async () => {
    // Until it is known that the tool asks, one of several calls carries the questions of all.
    await call('ask', ANN, answering(await call('ask', ANN), word('Ann')))
    const rounds = await Promise.all(['a', 'b', 'c'].map((token) => call('ask', { token })))
    const answered = here.ledger.like({ kind: 'answered' })
    expect(textOf(await call('plain', { token: 'quick' }))).toBe('quick')
    expect(here.ledger.like({ kind: 'answered' })).toEqual(answered)
    for (const [i, token] of ['a', 'b', 'c'].entries()) {
      const round = rounds[i] as Reply
      expect(questionsOf(round)).toMatchObject([
        [expect.any(String), { params: { message: `Who is ${token}?` } }],
      ])
      expect(textOf(await call('ask', { token }, answering(round, word(`w${token}`))))).toBe(
        `${token}: w${token}`,
      )
    }
  })
})

describe.each(OVER)('bounds, with a server over %s', (over) => {
  test('questions.stateTtl: a state that has expired is refused', async () => {
    await using here = await openHere(over, { settings: { questions: { stateTtl: '1ms' } } })
    const call = here.caller()
    const round = await call('ask', ANN)
    expect(refusal(await call('ask', ANN, answering(round, word('Ann'))))).toEqual([
      -32602,
      expect.stringMatching(/expired/),
    ])
  })

  test('questions.ttl: what nobody answers is cancelled, and the caller is told so', async () => {
    await using here = await openHere(over, { settings: { questions: { ttl: '50ms' } } })
    const call = here.caller()
    const round = await call('ask', ANN)
    expect(await here.ledger.until({ kind: 'answered' })).toMatchObject([{ result: { action: 'cancel' } }])
    await here.ledger.until({ kind: 'ended' })
    expect(refusal(await call('ask', ANN, answering(round, word('Ann'))))).toEqual([
      -32602,
      expect.stringMatching(/not answered in time/),
    ])
  })

  test('questions.rounds: a server that asks for more has no answer any more', async () => {
    await using here = await openHere(over, { settings: { questions: { rounds: 2 } } })
    const call = here.caller()
    const args = { token: 'ann', rounds: 4 }
    let reply = await call('ask', args)
    for (let round = 1; round <= 2; round++) {
      expect(reply.result?.resultType).toBe('input_required')
      reply = await call('ask', args, answering(reply, word(`w${round}`)))
    }
    expect(textOf(reply)).toBe('ann: w1 w2 cancel cancel')
  })

  test('questions.maxParked: of one principal, and of all', async () => {
    await using here = await openHere(over, {
      principals: PRINCIPALS,
      settings: { questions: { maxParked: 2, maxParkedAll: 3 } },
    })
    const [asAnn, asBob] = [here.caller('ann'), here.caller('bob')]
    const first = await asAnn('ask', { token: 'a1' })
    await asAnn('ask', { token: 'a2' })
    const [code, message] = refusal(await asAnn('ask', { token: 'a3' }))
    expect([code, message]).toEqual([expect.any(Number), expect.stringMatching(/questions\.maxParked\b/)])
    await asBob('ask', { token: 'b1' })
    expect(refusal(await asBob('ask', { token: 'b2' }))[1]).toMatch(/questions\.maxParkedAll/)
    // What was refused is ended on the server too.
    await here.ledger.until({ kind: 'cancelled' }, 2)
    expect(textOf(await asAnn('ask', { token: 'a1' }, answering(first, word('one'))))).toBe('a1: one')
    expect((await asBob('ask', { token: 'b3' })).result?.resultType).toBe('input_required')
  })

  test('a server that dies while its question is out: the caller is told', async () => {
    await using here = await openHere(over)
    const call = here.caller()
    const round = await call('ask', ANN)
    const [{ pid }] = (await here.ledger.until({ kind: 'asked' })) as unknown as [{ pid: number }]
    process.kill(pid, 'SIGKILL')
    const reply = await call('ask', ANN, answering(round, word('Ann')))
    expect(reply.error?.code).toBeLessThan(0)
    expect(reply.error?.message).toMatch(/raw|over|exited|gone|closed/)
  })
})

test('mcpx killed between question and answer: a clear error, and a relayed state works after the restart', async () => {
  await using ledger = await openLedger()
  const modern = await startProgram([pathOf('everything/server'), '--era', 'modern', '--port', '0'])
  const raw = {
    command: process.execPath,
    args: [pathOf('questions/asking-raw')],
    env: { LEDGER: ledger.url },
  }
  await using workspace = await openWorkspace({ mcpServers: { raw, modern: { url: modern.line } } })
  const start = async () => {
    const daemon = await workspace.start('daemon', '--port', '0', '--json')
    const { mcp } = JSON.parse(await daemon.printed(/\n/)) as { mcp: string }
    return { daemon, call: modernCaller(mcp) }
  }
  const tool = 'modern__test_input_required_result_request_state'
  const before = await start()
  const parked = await before.call('raw__ask', ANN)
  const relayed = await before.call(tool, {})
  expect(questionsOf(relayed)).toHaveLength(1)
  expect(await before.daemon.end('SIGKILL')).toBe('SIGKILL')

  const after = await start()
  await using _ = after.daemon
  expect(refusal(await after.call('raw__ask', ANN, answering(parked, word('Ann'))))).toEqual([
    -32602,
    expect.stringMatching(/mcpx was restarted/),
  ])
  const answer = { action: 'accept', content: { ok: true } }
  expect(textOf(await after.call(tool, {}, answering(relayed, answer)))).toBe('state-ok')
  await modern.stop('SIGTERM')
})
