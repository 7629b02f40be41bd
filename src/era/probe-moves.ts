// The moves of the verdict machine: each takes a state and gives the next one, with the effects that take it there.
import type { McpxError } from '../base/index.ts'
import { newest } from '../spec/index.ts'
import type { Era, RevisionId } from '../spec/index.ts'
import { UNSENT } from './probe-state.ts'
import type { ProbeState, Progress, Step } from './probe-state.ts'
import type { ProbeEffect, ProbeTimer, Question, Verdict, VerdictSource } from './verdict.ts'

export function ask(state: ProbeState, question: Question): Step {
  return question === 'discover' ? sendDiscover(state, newest('modern')) : sendInitialize(state)
}

export function sendDiscover(state: ProbeState, version: RevisionId): Step {
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

export function resend(state: ProbeState, question: Question): Step {
  const version = question === 'discover' ? newest('modern') : newest('legacy')
  return { state, effects: [{ kind: 'send', question, version }] }
}

export function open(state: ProbeState, before: readonly ProbeEffect[]): Step {
  const opening: ProbeState = {
    ...state,
    phase: 'opening',
    opened: state.opened + 1,
    progress: UNSENT,
    sends: {},
  }
  return { state: opening, effects: [...before, { kind: 'open', transport: state.transport }] }
}

export function reopen(state: ProbeState): Step {
  return open({ ...state, found: undefined }, [])
}

/** A server that refuses `initialize` the way an HTTP+SSE server refuses a POST gets the old transport's GET. */
export function trySse(state: ProbeState): Step | undefined {
  const refusal = state.refusals.initialize
  if (state.may === 'discover-only') return undefined
  if (state.transport !== 'streamable-http' || refusal?.bare !== true) return undefined
  return open({ ...state, transport: 'http+sse', may: 'initialize-only', first: 'initialize' }, [])
}

export function settle(
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

export function fail(state: ProbeState, error: McpxError): Step {
  return { state: { ...state, phase: 'failed' }, effects: [{ kind: 'fail', error }] }
}

/** A refusal of the question that fits the remembered era contradicts the memory. */
export function doubting(state: ProbeState, question: Question): ProbeState {
  const contradicted = state.believed === (question === 'discover' ? 'modern' : 'legacy')
  return contradicted ? { ...state, believed: undefined, stale: true } : state
}

export function progressed(state: ProbeState, question: Question, progress: Progress): ProbeState {
  return { ...state, progress: { ...state.progress, [question]: progress } }
}

export function startTimer(timer: ProbeTimer, ms: number): ProbeEffect {
  return { kind: 'start-timer', timer, ms }
}

export function stay(state: ProbeState): Step {
  return { state, effects: [] }
}
