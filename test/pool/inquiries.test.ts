import { expect, test } from 'vitest'
import { AskMemory } from '../../src/pool/ask-memory.ts'
import type { Asker, Inquiry } from '../../src/pool/asker.ts'
import { Inquiries } from '../../src/pool/inquiries.ts'
import type { Answer, Id } from '../../src/wire/index.ts'
import { createFakeClock, settled } from './clock.ts'
import type { FakeClock } from './clock.ts'

interface Setup {
  readonly inquiries: Inquiries
  readonly clock: FakeClock
  readonly memory: AskMemory
  /** What was sent to the server: ids of its questions. */
  readonly replies: { readonly id: Id; readonly answer: Answer }[]
  readonly paused: Set<Id>
  readonly strays: string[][]
}

interface Watched extends Asker {
  readonly asked: Inquiry[]
  parkings: number
  reply(index: number, text: string): void
}

const answer = (text: string): Answer => ({ result: { text } })

function setup({ byStream = false } = {}): Setup {
  const clock = createFakeClock()
  const replies: Setup['replies'] = []
  const paused = new Set<Id>()
  const strays: string[][] = []
  let kept: readonly string[] = []
  const memory = new AskMemory([], {
    recall: () => kept,
    remember: (subjects) => {
      kept = subjects
    },
  })
  const inquiries = new Inquiries({
    ...{ clock, byStream, revision: '2025-11-25', asksAside: () => memory.aside },
    reply: (id, given) => replies.push({ id, answer: given }),
    pause: (id) => paused.add(id),
    resume: (id) => paused.delete(id),
    onStray: async ({ among }) => {
      strays.push([...among])
      return { error: { code: -32601, message: 'nobody' } }
    },
    onSighting: (sighting, where) => memory.learn(sighting, where),
  })
  return { inquiries, clock, memory, replies, paused, strays }
}

function asker(principal: string, subject: string): Watched {
  const settles: ((given: Answer) => void)[] = []
  return {
    ...{ principal, subject, asked: [], parkings: 0 },
    ask(inquiry) {
      this.asked.push(inquiry)
      return new Promise((resolve) => settles.push(resolve))
    },
    parked() {
      this.parkings++
    },
    reply: (index, text) => settles[index]?.(answer(text)),
  }
}

const elicit = (id: Id): Inquiry['request'] => ({
  ...{ jsonrpc: '2.0', id, method: 'elicitation/create' },
  params: { message: 'Who?' },
})

test('a question over the stream of its call is that of the call, however many are open', async () => {
  const { inquiries, replies, memory } = setup({ byStream: true })
  const [ann, bob] = [asker('ann', 'a'), asker('bob', 'b')]
  inquiries.begin(1, ann, undefined)
  inquiries.begin(2, bob, undefined)
  inquiries.onRequest(elicit('x'), 1)
  expect([ann.asked.length, bob.asked.length, memory.has('a'), memory.has('b')]).toEqual([1, 0, true, false])
  ann.reply(0, 'ann')
  await settled()
  expect(replies).toEqual([{ id: 'x', answer: answer('ann') }])
})

test('the patience of a call stands still while it waits for an answer', async () => {
  const { inquiries, paused } = setup()
  const ann = asker('ann', 'a')
  inquiries.begin(1, ann, undefined)
  inquiries.onRequest(elicit(7), undefined)
  inquiries.onRequest(elicit('7'), undefined)
  expect([...paused]).toEqual([1])
  ann.reply(0, 'one')
  await settled()
  expect([...paused]).toEqual([1])
  ann.reply(1, 'two')
  await settled()
  expect([...paused]).toEqual([])
})

test('on a pipe, one of several principals that asks is nobody in particular, and all are asked alone from then on', async () => {
  const { inquiries, strays, memory, replies } = setup()
  const [ann, bob] = [asker('ann', 'a'), asker('bob', 'b')]
  inquiries.begin(1, ann, undefined)
  inquiries.begin(2, bob, undefined)
  inquiries.onRequest(elicit(1), undefined)
  await settled()
  expect([strays, ann.asked, bob.asked]).toEqual([[['ann', 'bob']], [], []])
  expect(replies).toEqual([{ id: 1, answer: { error: { code: -32601, message: 'nobody' } } }])
  expect([memory.has('a'), memory.has('b')]).toEqual([true, true])
  inquiries.end(1, 'answered')
  inquiries.onRequest(elicit(2), undefined)
  // The one that is certain clears the other.
  expect([bob.asked.length, memory.has('a'), memory.has('b')]).toEqual([1, false, true])
})

test('on a pipe, of several calls of one principal the latest carries the question', () => {
  const { inquiries } = setup()
  const [first, second] = [asker('ann', 'a'), asker('ann', 'b')]
  inquiries.begin(1, first, undefined)
  inquiries.begin(2, second, undefined)
  inquiries.onRequest(elicit(1), undefined)
  expect([first.asked.length, second.asked.length]).toEqual([0, 1])
})

test('whoever holds the running slot asks, gives it up while it waits, and takes it again before its answer is sent', async () => {
  const { inquiries, clock, replies } = setup()
  const [first, second, third] = [asker('ann', 'a'), asker('ann', 'a'), asker('ann', 'a')]
  const never = { onCancel: () => () => {} }
  inquiries.begin(1, first, await inquiries.enter(never as never))
  let entered = 0
  const enter = (): Promise<() => void> =>
    inquiries.enter(never as never).then((leave) => {
      entered++
      return leave
    })
  const next = enter()
  inquiries.onRequest(elicit('q1'), undefined)
  await settled()
  expect([entered, first.parkings]).toEqual([0, 0])
  await clock.turn(30)
  expect([entered, first.parkings]).toEqual([1, 1])
  inquiries.begin(2, second, await next)
  const last = enter()
  first.reply(0, 'one')
  await settled()
  // The second call runs, so the first one's answer waits; and it goes before the third call.
  expect([replies, entered]).toEqual([[], 1])
  inquiries.onRequest(elicit('q2'), undefined)
  expect([first.asked.length, second.asked.length]).toEqual([1, 1])
  await clock.turn(30)
  expect([replies.map(({ id }) => id), entered]).toEqual([['q1'], 1])
  inquiries.end(1, 'answered')
  inquiries.begin(3, third, await last)
  expect(entered).toBe(2)
})

test('questions that come together are one round, and a call asks again only when all of it is answered', async () => {
  const { inquiries, clock } = setup()
  const ann = asker('ann', 'a')
  inquiries.begin(1, ann, undefined)
  inquiries.onRequest(elicit(1), undefined)
  await clock.turn(29)
  inquiries.onRequest(elicit(2), undefined)
  await clock.turn(29)
  expect(ann.parkings).toBe(0)
  await clock.turn(1)
  expect(ann.parkings).toBe(1)
  ann.reply(0, 'one')
  await clock.turn(29)
  expect(ann.parkings).toBe(1)
  await clock.turn(1)
  expect(ann.parkings).toBe(2)
})

test('a question ends with its call, with its connection, and when the server gives it up; no late answer is sent', async () => {
  const { inquiries, replies, paused, strays } = setup()
  const ann = asker('ann', 'a')
  inquiries.begin(1, ann, undefined)
  inquiries.onRequest(elicit('a'), undefined)
  inquiries.onCancelled('a')
  expect([ann.asked[0]?.cancellation.reason, [...paused]]).toEqual(['the server gave the question up', []])
  inquiries.onRequest(elicit('b'), undefined)
  inquiries.end(1, 'answered')
  expect(ann.asked[1]?.cancellation.reason).toBe('the server ended the call')
  await settled()
  inquiries.begin(2, ann, undefined)
  inquiries.onRequest(elicit('c'), undefined)
  inquiries.close()
  expect(ann.asked[2]?.cancellation.reason).toBe('the connection closed')
  for (const index of [0, 1, 2]) ann.reply(index, 'late')
  await settled()
  // Nothing on a shared pipe says that the call which ended is the one that asked, so the server hears something.
  const nobody = { id: 'b', answer: { error: { code: -32601, message: 'nobody' } } }
  expect([replies, strays, inquiries.open]).toEqual([[nobody], [['ann']], 0])
})

test('on a pipe, what a call carried that ended goes to another one of its principal, and to nobody else', async () => {
  const { inquiries, strays, replies } = setup()
  const [first, second, bob] = [asker('ann', 'a'), asker('ann', 'b'), asker('bob', 'c')]
  inquiries.begin(1, first, undefined)
  inquiries.begin(2, second, undefined)
  inquiries.onRequest(elicit(1), undefined)
  inquiries.begin(3, bob, undefined)
  inquiries.end(2, 'answered')
  expect([first.asked.length, second.asked.length, bob.asked.length]).toEqual([1, 1, 0])
  second.reply(0, 'late')
  first.reply(0, 'in time')
  await settled()
  expect(replies).toEqual([{ id: 1, answer: answer('in time') }])
  inquiries.onRequest(elicit(2), undefined)
  expect(strays).toEqual([['ann', 'bob']])
})

test('on a pipe, a call that was given up may still ask: nobody else is asked in its place', async () => {
  const { inquiries, clock, strays } = setup()
  const [ann, bob] = [asker('ann', 'a'), asker('bob', 'b')]
  const give = (id: number): void => {
    inquiries.begin(id, ann, undefined)
    inquiries.end(id, 'given up')
  }
  give(1)
  inquiries.begin(2, bob, undefined)
  inquiries.onRequest(elicit(1), undefined)
  expect([strays, bob.asked.length]).toEqual([[['bob', 'ann']], 0])
  inquiries.ghosts.forget(1)
  inquiries.onRequest(elicit(2), undefined)
  expect(bob.asked.length).toBe(1)
  give(3)
  expect([inquiries.ghosts.haunts('bob'), inquiries.ghosts.haunts('ann')]).toEqual([true, false])
  await clock.turn(60_000)
  expect(inquiries.ghosts.haunts('bob')).toBe(false)
})

test('a server that repeats an open id is refused, and the first question stays', () => {
  const { inquiries, replies } = setup()
  const ann = asker('ann', 'a')
  inquiries.begin(1, ann, undefined)
  inquiries.onRequest(elicit('a'), undefined)
  inquiries.onRequest(elicit('a'), undefined)
  expect([replies.length, ann.asked.length, inquiries.open]).toEqual([1, 1, 1])
})

test('a server that asks for roots says nothing of what is being called', () => {
  const { inquiries, memory } = setup()
  inquiries.begin(1, asker('ann', 'a'), undefined)
  inquiries.onRequest({ jsonrpc: '2.0', id: 1, method: 'roots/list' }, undefined)
  expect(memory.has('a')).toBe(false)
})

test('a question whose call was guessed stays when that call ends: another one may wait for its answer', async () => {
  const { inquiries, replies } = setup()
  const [first, second] = [asker('ann', 'a'), asker('ann', 'b')]
  inquiries.begin(1, first, undefined)
  inquiries.begin(2, second, undefined)
  inquiries.onRequest(elicit('q'), undefined)
  expect(second.asked).toHaveLength(1)
  inquiries.end(2)
  expect([first.asked.length, second.asked[0]?.cancellation.reason]).toEqual([1, 'the server ended the call'])
  first.reply(0, 'one')
  await settled()
  expect(replies).toEqual([{ id: 'q', answer: answer('one') }])
})

test('on a pipe, calls that are not known to ask never wait for each other with their answers', async () => {
  const { inquiries, clock, replies } = setup()
  const [first, second] = [asker('ann', 'a'), asker('ann', 'a')]
  inquiries.begin(1, first, undefined)
  inquiries.begin(2, second, undefined)
  // Each call carries what the other one asked.
  inquiries.onRequest(elicit('of the first'), undefined)
  await clock.turn(30)
  inquiries.onRequest(elicit('of the second'), undefined)
  await clock.turn(30)
  expect([first.parkings, second.parkings]).toEqual([1, 1])
  second.reply(0, 'one')
  await settled()
  first.reply(0, 'two')
  await settled()
  expect(replies.map(({ id }) => id)).toEqual(['of the first', 'of the second'])
})

test('on a pipe, a call that may have been given the question of another one still counts as running', async () => {
  const { inquiries, clock, strays } = setup()
  const [first, second, bob] = [asker('ann', 'a'), asker('ann', 'b'), asker('bob', 'c')]
  inquiries.begin(1, first, undefined)
  inquiries.begin(2, second, undefined)
  inquiries.onRequest(elicit(1), undefined)
  await clock.turn(30)
  inquiries.end(1)
  inquiries.begin(3, bob, undefined)
  inquiries.onRequest(elicit(2), undefined)
  expect([bob.asked.length, strays]).toEqual([0, [['ann', 'bob']]])
})
