// Everything that may happen to a start, given what the machine has asked for so far: an answer comes only to a question that
// was sent on the channel that is open, a timer fires only where one was started. It also keeps the count that the
// invariants are about.
import { McpxError } from '../../src/base/index.ts'
import { advance, createProbe } from '../../src/era/index.ts'
import type {
  ProbeEffect,
  ProbeEvent,
  ProbePlan,
  ProbeState,
  ProbeTimer,
  Question,
} from '../../src/era/index.ts'
import type { SendFailure } from '../../src/wire/index.ts'
import { DISCOVER, error, INITIALIZE, network, notJson, status, tooLarge } from './answers.ts'

/** One event with a name, so that a run can be read. `era` says whether it may be evidence of one. */
export interface Happening {
  readonly name: string
  readonly event: ProbeEvent
  readonly modernError: boolean
  readonly evidence: boolean
}

export interface World {
  readonly state: ProbeState
  readonly channel: 'opening' | 'open' | 'gone'
  readonly timers: readonly ProbeTimer[]
  /** Questions that were sent on this channel and have no answer yet. */
  readonly out: readonly Question[]
  readonly opened: number
  /** Sends on this channel, `initialize` and each version of discover. */
  readonly sends: Readonly<Record<string, number>>
  readonly initialize: 'unsent' | 'pending' | 'refused' | 'accepted'
  readonly modernError: boolean
  readonly outcome: 'none' | 'settled' | 'failed'
}

export interface Moment {
  readonly world: World
  readonly effects: readonly ProbeEffect[]
}

const CRASH = { kind: 'exited', code: 1, signal: null, stderr: [] } as const

export function begin(plan: ProbePlan): Moment {
  const world: World = {
    state: createProbe(plan),
    channel: 'gone',
    timers: [],
    out: [],
    opened: 0,
    sends: {},
    initialize: 'unsent',
    modernError: false,
    outcome: 'none',
  }
  return happen(world, plain('begin', { kind: 'begin' }))
}

/** Every event that may come next. After a failure nothing comes; after a verdict only the late answer matters. */
export function possible(world: World): Happening[] {
  if (world.outcome === 'failed') return []
  const list = world.out.flatMap((question) => answersTo(question, world.state.transport !== 'stdio'))
  for (const timer of world.timers) list.push(plain(`timer ${timer}`, { kind: 'timer', timer }))
  if (world.outcome === 'settled') return list
  list.push(noEvidence('given up', { kind: 'given-up', reason: 'the caller left' }))
  if (world.channel === 'opening') {
    list.push(plain('opened', { kind: 'opened' }))
    const cause = new McpxError('UPSTREAM_START_FAILED', 'spawn ENOENT')
    list.push(noEvidence('open failed', { kind: 'open-failed', error: cause }))
  }
  if (world.channel !== 'gone' && world.state.transport !== 'streamable-http') {
    list.push(noEvidence('closed', { kind: 'closed', reason: CRASH }))
  }
  return list
}

/** What follows from one event. */
export function happen(world: World, happening: Happening): Moment {
  const { event } = happening
  const { state, effects } = advance(world.state, event)
  let next: World = { ...world, ...leftOf(world, event), state }
  if (happening.modernError) next = { ...next, modernError: true }
  for (const effect of effects) next = carryOut(next, effect)
  return { world: next, effects }
}

function leftOf(world: World, event: ProbeEvent): Partial<World> {
  switch (event.kind) {
    case 'opened':
      return { channel: 'open' }
    case 'open-failed':
    case 'closed':
      return { channel: 'gone', out: [] }
    case 'timer':
      return { timers: world.timers.filter((timer) => timer !== event.timer) }
    case 'answered':
    case 'failed': {
      const out = world.out.filter((question) => question !== event.question)
      if (event.question === 'discover' || event.kind === 'failed') return { out }
      return { out, initialize: 'error' in event.answer ? 'refused' : 'accepted' }
    }
    case 'begin':
    case 'given-up':
      return {}
  }
}

function carryOut(world: World, effect: ProbeEffect): World {
  switch (effect.kind) {
    case 'open': {
      const timers = world.timers.filter((timer) => timer !== 'silence' && timer !== 'confirm')
      const fresh = { out: [], sends: {}, initialize: 'unsent' } as const
      return { ...world, ...fresh, timers, channel: 'opening', opened: world.opened + 1 }
    }
    case 'send': {
      const name = effect.question === 'initialize' ? 'initialize' : effect.version
      // Counted to three, which is too many already: over HTTP a 429 may repeat for ever.
      const sends = { ...world.sends, [name]: Math.min(3, (world.sends[name] ?? 0) + 1) }
      const sent: World = { ...world, sends, out: [...world.out, effect.question].sort() }
      return effect.question === 'initialize' ? { ...sent, initialize: 'pending' } : sent
    }
    case 'start-timer':
      return { ...world, timers: [...new Set([...world.timers, effect.timer])].sort() }
    case 'settle':
      return { ...world, outcome: 'settled', timers: [] }
    case 'fail':
      return { ...world, outcome: 'failed', timers: [], out: [] }
    case 'correct':
      return world
  }
}

function answersTo(question: Question, http: boolean): Happening[] {
  const answers = Object.entries(question === 'discover' ? DISCOVER : INITIALIZE)
  const failures: [string, SendFailure][] = http
    ? [
        ['400 bare', status(400)],
        ['400 with a modern error and no id', status(400, { answer: error(-32021), id: null })],
        ['401', status(401)],
        ['429', status(429)],
        ['500', status(500)],
        ['network', network],
        ['not JSON', notJson()],
      ]
    : [
        ['no response', notJson(0, '')],
        ['too large', tooLarge],
      ]
  return [
    ...answers.map(([name, answer]) => ({
      name: `${question}: ${name}`,
      event: { kind: 'answered', question, answer } as const,
      modernError: ['retry', 'missing capability', 'modern error'].includes(name),
      evidence: true,
    })),
    ...failures.map(([name, failure]) => ({
      name: `${question}: ${name}`,
      event: { kind: 'failed', question, id: 1, failure } as const,
      modernError: name.includes('modern'),
      evidence: name.startsWith('400') || name.startsWith('no'),
    })),
  ]
}

function plain(name: string, event: ProbeEvent): Happening {
  return { name, event, modernError: false, evidence: true }
}

function noEvidence(name: string, event: ProbeEvent): Happening {
  return { ...plain(name, event), evidence: false }
}
