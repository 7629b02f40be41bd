// The verdict machine: which era an upstream speaks. Pure: events in, effects out, no clock and no I/O of its own.
// A driver carries the effects out and reports what happened; the rules and their reasons are in docs/eras.md.
import type { McpxError } from '../base/index.ts'
import { isRevisionId, newest } from '../spec/index.ts'
import type { Era, RevisionId } from '../spec/index.ts'
import type { Answer, CloseReason, Id, SendFailure, TransportKind } from '../wire/index.ts'
import * as errors from './probe-errors.ts'
import { readDiscover } from './read-discover.ts'
import type { DiscoverReading } from './read-discover.ts'
import { describeAnswer, readFailure } from './read-failure.ts'
import type { ProbeEffect, ProbePlan, ProbeTimer, Question, Verdict, VerdictSource } from './verdict.ts'

export type ProbeEvent =
  | { readonly kind: 'begin' }
  | { readonly kind: 'opened' }
  | { readonly kind: 'open-failed'; readonly error: McpxError }
  | { readonly kind: 'answered'; readonly question: Question; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly question: Question; readonly id: Id; readonly failure: SendFailure }
  | { readonly kind: 'timer'; readonly timer: ProbeTimer }
  | { readonly kind: 'closed'; readonly reason: CloseReason }
  | { readonly kind: 'given-up'; readonly reason: string }

type Progress = 'unsent' | 'pending' | 'answered' | 'refused'

export interface ProbeState {
  readonly plan: ProbePlan
  readonly phase: 'opening' | 'asking' | 'confirming' | 'settled' | 'failed'
  readonly transport: TransportKind
  /** What may be sent on the channel that is open now. */
  readonly may: 'both' | 'discover-only' | 'initialize-only'
  readonly first: Question
  /** Channels opened so far; a start may open three. */
  readonly opened: number
  readonly progress: Readonly<Record<Question, Progress>>
  /** Sends of each version of discover on this channel. */
  readonly sends: Readonly<Partial<Record<RevisionId, number>>>
  /** What discover said while initialize was still out. */
  readonly found: { readonly revision: RevisionId; readonly result: Record<string, unknown> } | undefined
  /** Why each question was refused, for the error that ends a start. */
  readonly refusals: Readonly<Partial<Record<Question, errors.Refusal>>>
  /** The era that is remembered and not yet contradicted. */
  readonly believed: Era | undefined
  readonly stale: boolean
  /** Set by a detour; a settled start that took none is a plain `probe`. */
  readonly detour: 'raced' | 'closed' | undefined
}

export interface Step {
  readonly state: ProbeState
  readonly effects: readonly ProbeEffect[]
}

const MAX_CHANNELS = 3
const MAX_SENDS = 2
/** How long to wait after 408, 425 or 429 without a usable Retry-After, in ms. */
const RETRY_LATER = 1000

const UNSENT = { discover: 'unsent', initialize: 'unsent' } as const

export function createProbe(plan: ProbePlan): ProbeState {
  const both = plan.scope === 'both'
  const overSse = plan.transport === 'http+sse'
  const first = overSse ? 'initialize' : plan.first
  return {
    plan,
    phase: 'opening',
    transport: plan.transport,
    may: both && !overSse ? 'both' : first === 'discover' ? 'discover-only' : 'initialize-only',
    first,
    opened: 0,
    progress: UNSENT,
    sends: {},
    found: undefined,
    refusals: {},
    believed: plan.remembered?.era,
    stale: false,
    detour: undefined,
  }
}

/** Takes one event. After `settle` or `fail` the machine is over, except for a late answer to discover that `correct`s. */
export function advance(state: ProbeState, event: ProbeEvent): Step {
  if (state.phase === 'failed') return stay(state)
  if (state.phase === 'settled') return onLate(state, event)
  switch (event.kind) {
    case 'begin':
      return open({ ...state, phase: 'opening' }, [startTimer('start', state.plan.startTimeout)])
    case 'opened':
      return ask({ ...state, phase: 'asking' }, state.first)
    case 'open-failed':
      return onOpenFailed(state, event.error)
    case 'answered':
      return event.question === 'discover'
        ? onDiscover(state, event.answer)
        : onInitialize(state, event.answer)
    case 'failed':
      return onFailed(state, event)
    case 'timer':
      return onTimer(state, event.timer)
    case 'closed':
      return onClosed(state, event.reason)
    case 'given-up':
      return fail(state, errors.givenUp(state, event.reason))
  }
}

// --- answers -----------------------------------------------------------------------------------------------------

function onDiscover(state: ProbeState, answer: Answer): Step {
  if (state.progress.discover !== 'pending' || state.phase !== 'asking') return stay(state)
  const reading = readDiscover(answer)
  switch (reading.kind) {
    case 'modern':
      return onModern(progressed(state, 'discover', 'answered'), reading)
    case 'ask-again':
      if ((state.sends[reading.revision] ?? 0) >= MAX_SENDS) {
        return fail(state, errors.noMutualVersion(state, [reading.revision]))
      }
      return sendDiscover(progressed(state, 'discover', 'answered'), reading.revision)
    case 'no-mutual-version':
      return fail(state, errors.noMutualVersion(state, reading.theirs))
    case 'modern-error':
      return fail(state, errors.refusedAsModern(state, reading.error))
    case 'legacy':
      return onRefused(state, 'discover', {
        why: reading.why,
        answer: describeAnswer(answer),
        status: undefined,
        bare: false,
      })
  }
}

function onModern(state: ProbeState, reading: DiscoverReading & { kind: 'modern' }): Step {
  const found = { revision: reading.revision, result: reading.result }
  // A process that has read `initialize` is legacy for good, so its answer must be known before it is driven as modern.
  if (state.transport === 'stdio' && state.progress.initialize === 'pending') {
    const waiting: ProbeState = { ...state, phase: 'confirming', found }
    return { state: waiting, effects: [startTimer('confirm', state.plan.probeTimeout)] }
  }
  return settle(state, 'modern', found)
}

function onInitialize(state: ProbeState, answer: Answer): Step {
  if (state.progress.initialize !== 'pending') return stay(state)
  if (state.phase === 'confirming') {
    // Whatever it says, it has been read; only a refusal leaves the process as it was.
    if ('error' in answer && state.found !== undefined) {
      return settle(progressed(state, 'initialize', 'refused'), 'modern', state.found)
    }
    return reopen({ ...state, may: 'discover-only', first: 'discover' })
  }
  if ('error' in answer) {
    const why = `refused with ${answer.error.code}`
    return onRefused(state, 'initialize', {
      why,
      answer: describeAnswer(answer),
      status: undefined,
      bare: false,
    })
  }
  const version = answer.result['protocolVersion']
  if (typeof version !== 'string' || !isRevisionId(version)) {
    return fail(
      state,
      errors.noMutualVersion(state, [typeof version === 'string' ? version : 'no version at all']),
    )
  }
  const raced = state.progress.discover === 'pending' ? ({ ...state, detour: 'raced' } as const) : state
  return settle(progressed(raced, 'initialize', 'answered'), 'legacy', {
    revision: version,
    result: answer.result,
  })
}

/** One question was refused: ask the other one, wait for it, or give up. */
function onRefused(state: ProbeState, question: Question, refusal: errors.Refusal): Step {
  const other: Question = question === 'discover' ? 'initialize' : 'discover'
  const refused = doubting(
    { ...progressed(state, question, 'refused'), refusals: { ...state.refusals, [question]: refusal } },
    question,
  )
  if (refused.may !== 'both') return trySse(refused) ?? fail(refused, errors.refused(refused))
  if (refused.progress[other] === 'unsent') return ask(refused, other)
  if (refused.progress[other] === 'pending') return stay(refused)
  return trySse(refused) ?? fail(refused, errors.refused(refused))
}

function onFailed(state: ProbeState, event: ProbeEvent & { kind: 'failed' }): Step {
  const { question } = event
  if (state.progress[question] !== 'pending') return stay(state)
  const reading = readFailure(event.failure, event.id)
  switch (reading.kind) {
    case 'answer':
      return question === 'discover' ? onDiscover(state, reading.answer) : onInitialize(state, reading.answer)
    case 'refused':
      return onRefused(state, question, {
        why: reading.why,
        answer: reading.why,
        status: statusOf(event.failure),
        bare: reading.bare,
      })
    case 'not-mcp':
      return onRefused(state, question, {
        why: reading.why,
        answer: reading.why,
        status: undefined,
        bare: false,
      })
    case 'auth':
      return fail(state, errors.authRequired(state, reading.status, reading.challenge))
    case 'later':
      return { state, effects: [startTimer(`retry-${question}`, reading.ms ?? RETRY_LATER)] }
    case 'broken':
      return fail(state, errors.broken(state, reading))
  }
}

// --- time, breakage ----------------------------------------------------------------------------------------------

function onTimer(state: ProbeState, timer: ProbeTimer): Step {
  switch (timer) {
    case 'start':
      return fail(state, errors.startTimeout(state))
    case 'silence': {
      const other = state.progress.discover === 'pending' ? 'initialize' : 'discover'
      const silent = state.phase === 'asking' && state.may === 'both' && state.progress[other] === 'unsent'
      return silent ? ask(state, other) : stay(state)
    }
    case 'confirm':
      return state.phase === 'confirming'
        ? reopen({ ...state, may: 'discover-only', first: 'discover' })
        : stay(state)
    case 'retry-discover':
      return state.progress.discover === 'pending' ? resend(state, 'discover') : stay(state)
    case 'retry-initialize':
      return state.progress.initialize === 'pending' ? resend(state, 'initialize') : stay(state)
  }
}

function onClosed(state: ProbeState, reason: CloseReason): Step {
  if (state.phase === 'confirming') return reopen({ ...state, may: 'discover-only', first: 'discover' })
  if (state.may !== 'both' || state.transport !== 'stdio' || state.opened >= MAX_CHANNELS) {
    return fail(state, errors.closedDuringProbe(state, reason))
  }
  const believedLegacy = state.believed === 'legacy' && state.first === 'initialize'
  if (believedLegacy) {
    return reopen({ ...state, believed: undefined, stale: true, may: 'both', first: 'discover' })
  }
  const next = state.first === 'discover' ? 'initialize' : 'discover'
  return reopen({ ...doubting(state, state.first), may: `${next}-only`, first: next, detour: 'closed' })
}

function onOpenFailed(state: ProbeState, error: McpxError): Step {
  const remembered = state.plan.remembered
  if (state.transport === 'http+sse' && remembered?.transport === 'http+sse' && state.opened === 1) {
    // The server moved on from the old transport: look at it as if nothing were known.
    return open(
      {
        ...state,
        transport: 'streamable-http',
        may: 'both',
        first: 'discover',
        believed: undefined,
        stale: true,
      },
      [],
    )
  }
  if (state.transport === 'http+sse' && state.refusals.initialize !== undefined) {
    return fail(state, errors.legacyHttpRefused(state, error))
  }
  return fail(state, error)
}

/** After the verdict only one thing matters: that a discover which lost the race was a modern server's after all. */
function onLate(state: ProbeState, event: ProbeEvent): Step {
  if (event.kind !== 'answered' || event.question !== 'discover' || state.progress.discover !== 'pending')
    return stay(state)
  const reading = readDiscover(event.answer)
  const late = progressed(state, 'discover', 'answered')
  if (reading.kind !== 'modern' || (state.plan.first !== 'discover' && state.plan.remembered === undefined))
    return stay(late)
  return { state: late, effects: [{ kind: 'correct', era: 'modern', revision: reading.revision }] }
}

// --- moves -------------------------------------------------------------------------------------------------------

function ask(state: ProbeState, question: Question): Step {
  return question === 'discover' ? sendDiscover(state, newest('modern')) : sendInitialize(state)
}

function sendDiscover(state: ProbeState, version: RevisionId): Step {
  const sends = { ...state.sends, [version]: (state.sends[version] ?? 0) + 1 }
  return sent(
    { ...progressed(state, 'discover', 'pending'), sends },
    { kind: 'send', question: 'discover', version },
  )
}

function sendInitialize(state: ProbeState): Step {
  const effect = { kind: 'send', question: 'initialize', version: newest('legacy') } as const
  return sent(progressed(state, 'initialize', 'pending'), effect)
}

/** On a pipe silence is an answer of sorts; over HTTP a slow server is only slow. */
function sent(state: ProbeState, effect: ProbeEffect & { kind: 'send' }): Step {
  const other = effect.question === 'discover' ? 'initialize' : 'discover'
  const race = state.transport === 'stdio' && state.may === 'both' && state.progress[other] === 'unsent'
  if (!race) return { state, effects: [effect] }
  const patience =
    state.believed === 'modern' && effect.question === 'discover'
      ? state.plan.startTimeout / 2
      : state.plan.probeTimeout
  return { state, effects: [effect, startTimer('silence', patience)] }
}

function resend(state: ProbeState, question: Question): Step {
  const version = question === 'discover' ? newest('modern') : newest('legacy')
  return { state, effects: [{ kind: 'send', question, version }] }
}

function open(state: ProbeState, before: readonly ProbeEffect[]): Step {
  const opening: ProbeState = {
    ...state,
    phase: 'opening',
    opened: state.opened + 1,
    progress: UNSENT,
    sends: {},
  }
  return { state: opening, effects: [...before, { kind: 'open', transport: state.transport }] }
}

function reopen(state: ProbeState): Step {
  return open({ ...state, found: undefined }, [])
}

/** A server that refuses `initialize` the way an HTTP+SSE server refuses a POST gets the old transport's GET. */
function trySse(state: ProbeState): Step | undefined {
  const refusal = state.refusals.initialize
  if (state.transport !== 'streamable-http' || refusal?.bare !== true) return undefined
  return open({ ...state, transport: 'http+sse', may: 'initialize-only', first: 'initialize' }, [])
}

function settle(
  state: ProbeState,
  era: Era,
  opening: { revision: RevisionId; result: Record<string, unknown> },
): Step {
  const stale = state.stale || (state.plan.remembered !== undefined && state.plan.remembered.era !== era)
  const verdict: Verdict = {
    era,
    revision: opening.revision,
    transport: state.transport,
    source: sourceOf(state, stale),
    stale,
    opening: opening.result,
  }
  return { state: { ...state, phase: 'settled' }, effects: [{ kind: 'settle', verdict }] }
}

function sourceOf(state: ProbeState, stale: boolean): VerdictSource {
  if (state.plan.scope === 'first-only') return 'forced'
  if (state.detour !== undefined) return state.detour
  return state.plan.remembered !== undefined && !stale ? 'cache' : 'probe'
}

function fail(state: ProbeState, error: McpxError): Step {
  return { state: { ...state, phase: 'failed' }, effects: [{ kind: 'fail', error }] }
}

/** A refusal of the question that fits the remembered era contradicts the memory. */
function doubting(state: ProbeState, question: Question): ProbeState {
  const contradicted = state.believed === (question === 'discover' ? 'modern' : 'legacy')
  return contradicted ? { ...state, believed: undefined, stale: true } : state
}

function progressed(state: ProbeState, question: Question, progress: Progress): ProbeState {
  return { ...state, progress: { ...state.progress, [question]: progress } }
}

function statusOf(failure: SendFailure): number | undefined {
  return failure.kind === 'status' ? failure.status : undefined
}

function startTimer(timer: ProbeTimer, ms: number): ProbeEffect {
  return { kind: 'start-timer', timer, ms }
}

function stay(state: ProbeState): Step {
  return { state, effects: [] }
}
