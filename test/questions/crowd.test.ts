// Many callers of many principals at once: everybody gets their own answer, and nobody sees another principal's question.
import { describe, expect, test } from 'vitest'
import { metricsOf } from '../http/observed.ts'
import { openGate } from '../peers/gate.ts'
import { answering, textOf, word } from './modern-caller.ts'
import type { Caller, Reply } from './modern-caller.ts'
import { openHere, OVER } from './setup.ts'
import type { Here } from './setup.ts'

const CALLS = 200
const PRINCIPALS = Array.from({ length: 10 }, (_, i) => `p${i}`)
const LEFT = 'left alone'

/** What a caller does with its question, by its number. */
const HABITS = [
  'once',
  'once',
  'twice',
  'twice at once',
  'once',
  'stolen first',
  LEFT,
  'other first',
  'once',
  'once',
]

interface Member {
  readonly token: string
  readonly principal: string
  readonly habit: string
  readonly call: Caller
}

/** As many questions as can be open, and then as long as it takes to leave some unanswered. */
const settings = { questions: { ttl: '25s' } }
const server = { asks: ['ask'], max: 16 }

describe.each(OVER)('a server over %s', (over) => {
  test('200 callers of 10 principals each get their own answer, or a clear refusal', async () => {
    await using here = await openHere(over, { principals: PRINCIPALS, server, settings })
    const crowd: Member[] = Array.from({ length: CALLS }, (_, i) => {
      const principal = PRINCIPALS[i % 10] ?? ''
      const habit = HABITS[Math.floor(i / 10) % 10] ?? ''
      return { token: `t${i}`, principal, habit, call: here.caller(principal) }
    })
    const rounds = await Promise.all(crowd.map(({ call, token }) => call('ask', { token })))
    for (const [i, { token }] of crowd.entries()) expect(messagesOf(rounds[i])).toEqual([`Who is ${token}?`])
    expect(await here.ledger.until({ kind: 'asked' }, CALLS)).toHaveLength(CALLS)
    expect(await parked(here)).toBe(CALLS)
    // Each principal's calls are in a process, or a session, of their own.
    expect(owners(here)).toEqual(new Map(PRINCIPALS.map((name) => [name, 1])))

    const plain = await Promise.all(
      [undefined, ...PRINCIPALS].map((name) => here.caller(name)('plain', { token: `plain ${name}` })),
    )
    expect(plain.map(textOf)).toEqual([undefined, ...PRINCIPALS].map((name) => `plain ${name}`))
    expect(here.ledger.like({ kind: 'answered' })).toEqual([])

    const members = crowd.map((member, i) => ({ ...member, i, round: rounds[i] as Reply }))
    const told = await Promise.all(
      shuffled(members, 5).map((member) => act(member, (i) => rounds[(i + CALLS) % CALLS] as Reply)),
    )
    expect(told.flat()).toEqual([])

    // Those that nobody answered are given up in time.
    await here.ledger.until({ kind: 'ended' }, CALLS + plain.length)
    const answers = here.ledger.like({ kind: 'answered' })
    expect(answers).toHaveLength(CALLS)
    expect(answers.filter(({ result }) => (result as { action: string }).action === 'cancel')).toHaveLength(
      20,
    )
    await nothingLeft(here)
  }, 120_000)
})

/** Does what the member is for. Returns what went wrong. */
async function act(
  { i, token, principal, habit, call, round }: Member & { i: number; round: Reply },
  roundOf: (i: number) => Reply,
): Promise<string[]> {
  const wrong: string[] = []
  const answer = word(`word of ${token}`)
  const retry = answering(round, answer)
  const give = async () => {
    const said = textOf(await call('ask', { token }, retry))
    if (said !== `${token}: word of ${token}`) wrong.push(`${habit}: ${token} of ${principal} got ${said}`)
  }
  const steal = async (whose: number, why: RegExp) => {
    const { error, result } = await call('ask', { token }, answering(roundOf(whose), answer))
    if (error?.code !== -32602 || !why.test(error.message))
      wrong.push(`${habit}: ${token} of ${principal} got ${JSON.stringify(error ?? result)}`)
  }
  if (habit === LEFT) return wrong
  if (habit === 'stolen first') await steal(i + 1, /another principal/)
  if (habit === 'other first') await steal(i + 10, /another request/)
  await Promise.all(habit === 'twice at once' ? [give(), give()] : [give()])
  if (habit === 'twice') await give()
  return wrong
}

function messagesOf(reply: Reply | undefined): unknown[] {
  return Object.values(reply?.result?.inputRequests ?? {}).map(({ params }) => params['message'])
}

/** The processes or sessions in which calls of each principal were. */
function owners({ ledger }: Here): Map<string, number> {
  const places = new Map<string, Set<string>>(PRINCIPALS.map((name) => [name, new Set()]))
  for (const { pid, peer, args } of ledger.like({ kind: 'called', tool: 'ask' })) {
    const principal = PRINCIPALS[Number((args as { token: string }).token.slice(1)) % 10] ?? ''
    places.get(principal)?.add(`${pid} ${peer}`)
  }
  return new Map([...places].map(([name, seen]) => [name, seen.size]))
}

async function parked({ v1 }: Here): Promise<number | undefined> {
  return (await metricsOf(v1)).find(({ name }) => name === 'mcpx_parked_calls')?.value
}

/** Waits until nothing is parked, held or in flight. */
async function nothingLeft(here: Here): Promise<void> {
  for (;;) {
    const report = (await (await fetch(`${here.v1}/servers`)).json()) as {
      servers: { instances: { leases: number; inFlight: number }[] }[]
    }
    const busy = report.servers.flatMap(({ instances }) =>
      instances.filter((one) => one.leases + one.inFlight > 0),
    )
    if (busy.length === 0 && (await parked(here)) === 0) return
  }
}

/** The same order for the same seed. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const order = [...items]
  let state = seed
  for (let i = order.length - 1; i > 0; i--) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    const j = state % (i + 1)
    ;[order[i], order[j]] = [order[j] as T, order[i] as T]
  }
  return order
}

describe('a pipe on which nothing was learned', () => {
  const BOTH = ['ann', 'bob'] as const

  test('what is asked in parallel from two principals is refused, and exact from the next call on', async () => {
    await using gate = await openGate()
    await using here = await openHere('stdio', { principals: BOTH })
    const [ann, bob] = [here.caller('ann'), here.caller('bob')]
    const late = (token: string) => ({ token, gate: gate.url(token) })
    const calls = [ann('ask_late', late('ann')), bob('ask_late', late('bob'))] as const
    await Promise.all(BOTH.map((name) => gate.reached(name)))
    gate.open('ann')
    const refused = await calls[0]
    expect(textOf(refused)).toBe('ann: refused (-32601)')
    // Now only one is left that could ask.
    gate.open('bob')
    const asked = await calls[1]
    expect(messagesOf(asked)).toEqual(['Who is bob?'])
    expect(textOf(await bob('ask_late', late('bob'), answering(asked, word('Bob'))))).toBe('bob: Bob')

    const again = await Promise.all([ann('ask_late', late('ann')), bob('ask_late', late('bob'))])
    expect(again.map(messagesOf)).toEqual([['Who is ann?'], ['Who is bob?']])
    const said = await Promise.all([
      ann('ask_late', late('ann'), answering(again[0], word('Ann'))),
      bob('ask_late', late('bob'), answering(again[1], word('Bob'))),
    ])
    expect(said.map(textOf)).toEqual(['ann: Ann', 'bob: Bob'])
  })

  test('what is asked in parallel from two principals goes to the inbox of whoever runs mcpx, where it is open', async () => {
    await using gate = await openGate()
    await using here = await openHere('stdio', {
      principals: BOTH,
      settings: { questions: { inbox: 'always' } },
    })
    const [ann, bob] = [here.caller('ann'), here.caller('bob')]
    const late = (token: string) => ({ token, gate: gate.url(token) })
    const calls = [ann('ask_late', late('ann')), bob('ask_late', late('bob'))] as const
    await Promise.all(BOTH.map((name) => gate.reached(name)))
    gate.open('ann')
    await here.ledger.until({ kind: 'asked' })
    const [entry] = await inbox(here)
    expect(entry).toMatchObject({
      server: 'raw',
      params: { message: expect.stringContaining('Who is ann?') },
    })
    const posted = await fetch(`${here.v1}/questions/${entry?.id}`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify(word('from the inbox')),
    })
    expect(posted.status).toBe(204)
    expect(textOf(await calls[0])).toBe('ann: from the inbox')
    gate.open('bob')
    const asked = await calls[1]
    expect(messagesOf(asked)).toEqual(['Who is bob?'])
    expect(textOf(await bob('ask_late', late('bob'), answering(asked, word('Bob'))))).toBe('bob: Bob')
  })

  test('several calls of one principal: each is answered with what was said to its own question', async () => {
    await using gate = await openGate()
    await using here = await openHere('stdio', { principals: BOTH })
    const ann = here.caller('ann')
    const tokens = ['one', 'two', 'three']
    const late = (token: string) => ({ token, gate: gate.url('all') })
    const calls = tokens.map((token) => ann('ask_late', late(token)))
    await gate.reached('all', tokens.length)
    gate.open('all')
    // One of the calls carries the questions of all; the answers go where they belong all the same.
    const settled = await Promise.all(
      calls.map(async (call, i) => {
        let reply = await call
        while (reply.result?.resultType === 'input_required') {
          const given = Object.entries(reply.result.inputRequests ?? {}).map(([key, { params }]) => [
            key,
            word(`for ${String(params['message'])}`),
          ])
          const { requestState } = reply.result
          const retry = { inputResponses: Object.fromEntries(given), requestState }
          reply = await ann('ask_late', late(tokens[i] ?? ''), retry)
        }
        return textOf(reply)
      }),
    )
    expect(settled).toEqual(tokens.map((token) => `${token}: for Who is ${token}?`))
  })

  test('several calls of one principal that ask one after the other: none waits for another', async () => {
    await using gate = await openGate()
    await using here = await openHere('stdio', { principals: BOTH })
    const ann = here.caller('ann')
    const late = (token: string) => ({ token, gate: gate.url(token) })
    const tokens = ['one', 'two', 'three']
    const calls = []
    for (const token of tokens) {
      calls.push(ann('ask_late', late(token)))
      await gate.reached(token)
    }
    // The latest call carries the first question, and so on.
    const rounds: Reply[] = []
    for (const [i, token] of tokens.entries()) {
      gate.open(token)
      const round = await (calls.at(-1 - i) as Promise<Reply>)
      expect(messagesOf(round)).toEqual([`Who is ${token}?`])
      rounds.unshift(round)
    }
    // The first call ends while it carries what the last one asked, which is asked again by a call that is left.
    const said = await Promise.all(
      tokens.map(async (token, i) => {
        let reply = rounds[i] as Reply
        while (reply.result?.resultType === 'input_required') {
          reply = await ann('ask_late', late(token), answering(reply, word(String(messagesOf(reply)[0]))))
        }
        return textOf(reply)
      }),
    )
    expect(said).toEqual(tokens.map((token) => `${token}: Who is ${token}?`))
  })

  test('a call that was given up may still ask: nobody else is asked in its place', async () => {
    await using gate = await openGate()
    await using here = await openHere('stdio', { principals: BOTH })
    const [ann, bob] = [here.caller('ann'), here.caller('bob')]
    const late = (token: string) => ({ token, gate: gate.url(token) })
    const leaving = new AbortController()
    const given = ann('ask_late', late('ann'), { signal: leaving.signal })
    const held = bob('hold', late('bob'))
    await Promise.all(BOTH.map((name) => gate.reached(name)))
    leaving.abort()
    await expect(given).rejects.toThrow()
    await here.ledger.until({ kind: 'cancelled' })
    gate.open('ann')
    const [answered] = await here.ledger.until({ kind: 'answered' })
    expect(answered?.['error']).toMatchObject({ code: -32601 })
    gate.open('bob')
    expect(textOf(await held)).toBe('bob')
    // It is known by now that the tool asks, so the next one asks where nobody else does.
    const asked = await bob('ask_late', late('bob'))
    expect(messagesOf(asked)).toEqual(['Who is bob?'])
  })

  test('a question whose carrier ends first is asked by the call that is left', async () => {
    await using gate = await openGate()
    await using here = await openHere('stdio', { principals: BOTH })
    const ann = here.caller('ann')
    const late = (token: string) => ({ token, gate: gate.url(token) })
    const asking = ann('ask_late', late('asks'))
    await gate.reached('asks')
    const carrying = ann('hold', late('holds'))
    await gate.reached('holds')
    gate.open('asks')
    const carried = await carrying
    expect(messagesOf(carried)).toEqual(['Who is asks?'])
    gate.open('holds')
    const asked = await asking
    expect(messagesOf(asked)).toEqual(['Who is asks?'])
    expect(textOf(await ann('ask_late', late('asks'), answering(asked, word('Ann'))))).toBe('asks: Ann')
    expect(textOf(await ann('hold', late('holds'), answering(carried, word('Late'))))).toBe('holds')
  })
})

async function inbox(here: Here): Promise<{ id: string; server: string; params: object }[]> {
  for (;;) {
    const { questions } = (await (await fetch(`${here.v1}/questions`)).json()) as {
      questions: { id: string; server: string; params: object }[]
    }
    if (questions.length > 0) return questions
  }
}
