// The verdict machine: which era an upstream speaks. Pure: events in, effects out, no clock and no I/O of its own.
// A driver carries the effects out and reports what happened; the rules and their reasons are in docs/eras.md.
import type { McpxError } from '../base/index.ts'
import { isRevisionId } from '../spec/index.ts'
import type { Answer, CloseReason, Id, SendFailure } from '../wire/index.ts'
import * as errors from './probe-errors.ts'
import {
  ask,
  doubting,
  fail,
  open,
  progressed,
  reopen,
  resend,
  sendDiscover,
  settle,
  startTimer,
  stay,
  trySse,
} from './probe-moves.ts'
import { UNSENT } from './probe-state.ts'
import type { ProbeState, Refusal, Step } from './probe-state.ts'
import { readDiscover } from './read-discover.ts'
import type { DiscoverReading } from './read-discover.ts'
import { describeAnswer, readFailure } from './read-failure.ts'
import type { ProbePlan, ProbeTimer, Question } from './verdict.ts'

export type ProbeEvent =
  | { readonly kind: 'begin' }
  | { readonly kind: 'opened' }
  | { readonly kind: 'open-failed'; readonly error: McpxError }
  | { readonly kind: 'answered'; readonly question: Question; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly question: Question; readonly id: Id; readonly failure: SendFailure }
  | { readonly kind: 'timer'; readonly timer: ProbeTimer }
  | { readonly kind: 'closed'; readonly reason: CloseReason }
  | { readonly kind: 'given-up'; readonly reason: string }

const MAX_CHANNELS = 3
const MAX_SENDS = 2
/** The least to wait after 408, 425 or 429, in ms: a Retry-After of 0 would be asked again as fast as the network goes. */
const RETRY_LATER = 1000

export function createProbe(plan: ProbePlan): ProbeState {
  const both = plan.scope === 'both'
  // Only the legacy era has HTTP+SSE; a forced question is asked all the same, and refused.
  const overSse = both && plan.transport === 'http+sse'
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
        return fail(state, errors.refusedAsModern(state, reading.error))
      }
      return sendDiscover(knownModern(progressed(state, 'discover', 'answered')), reading.revision)
    case 'no-mutual-version':
      return fail(state, errors.noMutualVersion(state, reading.theirs))
    case 'modern-error':
      return fail(state, errors.refusedAsModern(state, reading.error))
    case 'legacy':
      return onRefused(state, 'discover', {
        why: reading.why,
        answer: describeAnswer(answer),
        bare: false,
        unclear: false,
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
  if (state.transport === 'stdio' && state.progress.initialize === 'answered') return reopenModern(state)
  return settle(state, 'modern', found)
}

function onInitialize(state: ProbeState, answer: Answer): Step {
  if (state.progress.initialize !== 'pending') return stay(state)
  if (state.phase === 'confirming') {
    // Whatever it says, it has been read; only a refusal leaves the process as it was.
    if ('error' in answer && state.found !== undefined) {
      return settle(progressed(state, 'initialize', 'refused'), 'modern', state.found)
    }
    return reopenModern(state)
  }
  if ('error' in answer) {
    const why = `refused with ${answer.error.code}`
    return onRefused(state, 'initialize', {
      why,
      answer: describeAnswer(answer),
      bare: false,
      unclear: false,
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
function onRefused(state: ProbeState, question: Question, refusal: Refusal): Step {
  const other: Question = question === 'discover' ? 'initialize' : 'discover'
  const refused = doubting(
    {
      ...progressed(state, question, refusal.unclear ? 'answered' : 'refused'),
      refusals: { ...state.refusals, [question]: refusal },
    },
    question,
  )
  if (refused.progress[other] === 'pending') return stay(refused)
  const allowed = refused.may === 'both' || refused.may === `${other}-only`
  if (allowed && refused.progress[other] === 'unsent') return ask(refused, other)
  return trySse(refused) ?? fail(refused, errors.refused(refused))
}

function onFailed(state: ProbeState, event: ProbeEvent & { kind: 'failed' }): Step {
  const { question } = event
  if (state.progress[question] !== 'pending') return stay(state)
  const reading = readFailure(event.failure, event.id)
  // The process has read `initialize` and whether it refused cannot be told.
  if (state.phase === 'confirming' && reading.kind !== 'answer') return reopenModern(state)
  switch (reading.kind) {
    case 'answer':
      return question === 'discover' ? onDiscover(state, reading.answer) : onInitialize(state, reading.answer)
    case 'refused':
      return onRefused(state, question, {
        why: reading.why,
        answer: reading.why,
        bare: reading.bare,
        unclear: false,
      })
    case 'not-mcp':
      return onRefused(state, question, {
        why: reading.why,
        answer: reading.why,
        bare: false,
        unclear: true,
      })
    case 'auth':
      return fail(state, reading.refusal ?? errors.authRequired(state, reading.status))
    case 'later':
      return { state, effects: [startTimer(`retry-${question}`, Math.max(reading.ms ?? 0, RETRY_LATER))] }
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
      return state.phase === 'confirming' ? reopenModern(state) : stay(state)
    case 'retry-discover':
      return state.progress.discover === 'pending' ? resend(state, 'discover') : stay(state)
    case 'retry-initialize':
      return state.progress.initialize === 'pending' ? resend(state, 'initialize') : stay(state)
  }
}

function onClosed(state: ProbeState, reason: CloseReason): Step {
  if (state.phase === 'confirming') return reopenModern(state)
  // A server that refuses `initialize` and then exits is asked the other question, even where it is known to be modern.
  const refusedInitialize = state.progress.initialize === 'refused'
  const may = state.may === 'both' || refusedInitialize
  if (!may || state.transport !== 'stdio' || state.opened >= MAX_CHANNELS) {
    return fail(state, errors.closedDuringProbe(state, reason))
  }
  const believedLegacy = state.believed === 'legacy' && state.first === 'initialize'
  if (believedLegacy) {
    return reopen({ ...state, believed: undefined, stale: true, may: 'both', first: preferred(state) })
  }
  const refusedDiscover = state.progress.discover === 'refused'
  const doubted =
    refusedInitialize || (state.first === 'initialize' && !refusedDiscover) ? 'initialize' : 'discover'
  const next = doubted === 'discover' ? 'initialize' : 'discover'
  return reopen({ ...doubting(state, doubted), may: `${next}-only`, first: next, detour: 'closed' })
}

/** Replaces a process that has read `initialize` by a fresh one that never will. */
function reopenModern(state: ProbeState): Step {
  return reopen({ ...state, may: 'discover-only', first: 'discover' })
}

/** A recognised modern error has come: `initialize` is not sent after it. */
function knownModern(state: ProbeState): ProbeState {
  return state.may === 'both' ? { ...state, may: 'discover-only' } : state
}

/** The question that the preference asks first where nothing is remembered. */
function preferred(state: ProbeState): Question {
  return state.plan.remembered?.first ?? state.plan.first
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
        first: preferred(state),
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
  const modern = reading.kind === 'modern' || reading.kind === 'ask-again'
  // Where `initialize` is preferred, a server that also answers discover is driven as it should be.
  if (!modern || preferred(state) !== 'discover') return stay(late)
  return { state: late, effects: [{ kind: 'correct', era: 'modern', revision: reading.revision }] }
}
