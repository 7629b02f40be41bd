// A machine that is told what happens, one event a call, and remembers what it asked for.
import { McpxError } from '../../src/base/index.ts'
import { advance, createProbe } from '../../src/era/index.ts'
import type {
  ProbeEffect,
  ProbeEvent,
  ProbePlan,
  ProbeTimer,
  Question,
  Verdict,
} from '../../src/era/index.ts'
import type { Answer, SendFailure, TransportKind } from '../../src/wire/index.ts'

export interface Run {
  readonly effects: readonly ProbeEffect[]
  /** What was sent so far: question and revision. */
  readonly sent: string[]
  /** Timers of the channel that is open, in ms. */
  readonly timers: Partial<Record<ProbeTimer, number>>
  readonly channels: number
  readonly transport: TransportKind | undefined
  readonly verdict: Verdict | undefined
  readonly error: McpxError | undefined
  readonly corrections: string[]
  readonly over: boolean
  opened(): Run
  openFailed(): Run
  discover(answer: Answer): Run
  initialize(answer: Answer): Run
  failed(question: Question, failure: SendFailure): Run
  timer(timer: ProbeTimer): Run
  closed(): Run
  givenUp(): Run
}

export function startRun(plan: ProbePlan): Run {
  const effects: ProbeEffect[] = []
  let state = createProbe(plan)
  const take = (event: ProbeEvent): Run => {
    const step = advance(state, event)
    state = step.state
    effects.push(...step.effects)
    return run
  }
  const all = <K extends ProbeEffect['kind']>(kind: K): Extract<ProbeEffect, { kind: K }>[] =>
    effects.filter((effect): effect is Extract<ProbeEffect, { kind: K }> => effect.kind === kind)
  const run: Run = {
    effects,
    get sent() {
      return all('send').map(({ question, version }) => `${question} ${version}`)
    },
    get timers() {
      const timers: Partial<Record<ProbeTimer, number>> = {}
      for (const effect of effects) {
        if (effect.kind === 'start-timer') timers[effect.timer] = effect.ms
        if (effect.kind !== 'open') continue
        delete timers.silence
        delete timers.confirm
      }
      return timers
    },
    get channels() {
      return all('open').length
    },
    get transport() {
      return all('open').at(-1)?.transport
    },
    get verdict() {
      return all('settle')[0]?.verdict
    },
    get error() {
      return all('fail')[0]?.error
    },
    get corrections() {
      return all('correct').map(({ revision }) => revision)
    },
    get over() {
      return all('settle').length + all('fail').length > 0
    },
    opened: () => take({ kind: 'opened' }),
    openFailed: () =>
      take({ kind: 'open-failed', error: new McpxError('UPSTREAM_UNREACHABLE', 'no endpoint event') }),
    discover: (answer) => take({ kind: 'answered', question: 'discover', answer }),
    initialize: (answer) => take({ kind: 'answered', question: 'initialize', answer }),
    failed: (question, failure) => take({ kind: 'failed', question, id: 1, failure }),
    timer: (timer) => take({ kind: 'timer', timer }),
    closed: () =>
      take({ kind: 'closed', reason: { kind: 'exited', code: 1, signal: null, stderr: ['last words'] } }),
    givenUp: () => take({ kind: 'given-up', reason: 'the caller left' }),
  }
  return take({ kind: 'begin' })
}
