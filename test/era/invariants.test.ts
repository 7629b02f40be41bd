// The seven invariants of a start, over every order of events. A situation is the machine's state together with what is out;
// there are finitely many, so walking from each to all that may follow covers every order of any length.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { advance, createProbe } from '../../src/era/index.ts'
import type { ProbeEffect, Verdict } from '../../src/era/index.ts'
import { recordOf } from '../../src/pool/plan.ts'
import { DISCOVER, INITIALIZE } from './answers.ts'
import { allPlans, NOW, planOf } from './plans.ts'
import type { NamedPlan } from './plans.ts'
import { begin, happen, possible } from './world.ts'
import type { Happening, Moment, World } from './world.ts'

const PLANS = allPlans()

test.each(PLANS)('$name: every order of events keeps the invariants', (named) => {
  const seen = new Set<string>()
  const walk: { moment: Moment; path: readonly string[] }[] = [{ moment: begin(named.plan), path: [] }]
  const outcomes = new Set<string>()
  for (let next = walk.pop(); next !== undefined; next = walk.pop()) {
    const { world } = next.moment
    const key = JSON.stringify({ ...world, state: { ...world.state, plan: undefined } })
    if (seen.has(key)) continue
    seen.add(key)
    outcomes.add(world.outcome)
    for (const happening of possible(world)) {
      const path = [...next.path, happening.name]
      const moment = happen(world, happening)
      check(named, { before: world, happening, moment, path })
      walk.push({ moment, path })
    }
  }
  expect(outcomes).toEqual(new Set(['none', 'settled', 'failed']))
})

test('long random runs keep the invariants and end', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...PLANS),
      fc.array(fc.nat(1000), { minLength: 1, maxLength: 60 }),
      (named, choices) => {
        let { world } = begin(named.plan)
        const path: string[] = []
        for (const choice of choices) {
          const next = possible(world)
          const happening = next[choice % Math.max(1, next.length)]
          if (happening === undefined) break
          path.push(happening.name)
          const moment = happen(world, happening)
          check(named, { before: world, happening, moment, path })
          world = moment.world
        }
      },
    ),
    { numRuns: 3000 },
  )
})

/** What a broken driver or a mad server might bring about: events that nothing asked for. */
test('no event at all, expected or not, gives a second outcome', () => {
  const anyEvent = fc.constantFrom(...everyHappening())
  fc.assert(
    fc.property(fc.constantFrom(...PLANS), fc.array(anyEvent, { maxLength: 30 }), (named, happenings) => {
      let state = createProbe(named.plan)
      const effects: ProbeEffect[] = []
      const begun = { kind: 'begin' } as const
      for (const event of [begun, ...happenings.map((happening) => happening.event)]) {
        const step = advance(state, event)
        state = step.state
        effects.push(...step.effects)
      }
      expect(ends(effects)).toBeLessThanOrEqual(1)
    }),
    { numRuns: 3000 },
  )
})

interface Check {
  readonly before: World
  readonly happening: Happening
  readonly moment: Moment
  readonly path: readonly string[]
}

function check(named: NamedPlan, { before, happening, moment, path }: Check): void {
  const { world, effects } = moment
  const run = `${named.name}: ${path.join(' → ')}`
  const asserted = (holds: boolean, what: string): void => {
    if (!holds) expect.unreachable(`${what}\n${run}`)
  }
  // 1. Exactly one outcome, and a start that has none yet is bounded by its timer.
  asserted(ends(effects) + (before.outcome === 'none' ? 0 : 1) <= 1, 'a second outcome')
  if (world.outcome === 'none') {
    asserted(world.timers.includes('start'), 'a start without a bound')
    asserted(world.channel !== 'gone', 'nothing is open and nothing is being opened')
    const waits = world.channel === 'opening' || world.out.length > 0 || world.timers.length > 1
    asserted(waits, 'nothing is waited for but the end of startTimeout')
  }
  if (happening.name === 'timer start')
    asserted(world.outcome === 'failed', 'startTimeout did not end the start')
  for (const effect of effects) {
    if (effect.kind === 'settle') {
      asserted(
        settlesRightly(world, effect.verdict),
        `driven ${effect.verdict.era} after initialize was ${world.initialize}`,
      )
      asserted(happening.evidence, 'a verdict without evidence')
      again(named, effect.verdict, run)
    }
    if (effect.kind === 'correct')
      asserted(before.outcome === 'settled' && happening.evidence, 'corrected too early')
    if (effect.kind !== 'send') continue
    // 3. A recognised modern error rules `initialize` out.
    const afterModern = effect.question === 'initialize' && world.modernError
    asserted(!afterModern, 'initialize after a modern error')
    // 4. A forced question is the only one.
    asserted(
      named.plan.scope === 'both' || effect.question === named.plan.first,
      'the other question of a forced one',
    )
  }
  // 6. Bounds on what one process is asked, and on processes.
  asserted(world.opened <= 3, 'a fourth channel')
  if (world.state.transport !== 'stdio') return
  asserted((world.sends['initialize'] ?? 0) <= 1, 'initialize twice in one process')
  asserted(
    Object.values(world.sends).every((count) => count <= 2),
    'discover three times at one version',
  )
}

/** 2. No process is driven modern unless it refused, or never got, `initialize`. */
function settlesRightly(world: World, verdict: Verdict): boolean {
  if (verdict.era === 'legacy') return world.initialize === 'accepted' || verdict.transport !== 'stdio'
  return verdict.transport !== 'stdio' || world.initialize === 'unsent' || world.initialize === 'refused'
}

/** 7. What was learned saves the other question at the next start of the same server. */
function again({ spec }: NamedPlan, verdict: Verdict, run: string): void {
  const record = recordOf(spec, verdict, {
    now: NOW,
    previous: undefined,
    server: { name: 'a', version: '1' },
  })
  if (verdict.source === 'forced') return expect(record, run).toBeUndefined()
  const opened = happen(begin(planOf(spec, record)).world, {
    ...{ name: 'opened', event: { kind: 'opened' }, modernError: false, evidence: true },
  })
  const question = verdict.era === 'legacy' ? 'initialize' : 'discover'
  const sent = opened.effects.flatMap((effect) => (effect.kind === 'send' ? [effect.question] : []))
  const answer = verdict.era === 'legacy' ? INITIALIZE.ok : DISCOVER.modern
  const { effects } = advance(opened.world.state, { kind: 'answered', question, answer })
  expect({ sent, effects: effects.map(({ kind }) => kind) }, run).toEqual({
    sent: [question],
    effects: ['settle'],
  })
}

function ends(effects: readonly ProbeEffect[]): number {
  return effects.filter(({ kind }) => kind === 'settle' || kind === 'fail').length
}

function everyHappening(): Happening[] {
  const found = new Map<string, Happening>()
  for (const { plan } of PLANS) {
    let { world } = begin(plan)
    for (let i = 0; i < 4; i++) {
      const next = possible(world)
      for (const happening of next) found.set(happening.name, happening)
      const [first] = next.filter(({ name }) => name === 'opened' || name === 'timer silence')
      if (first !== undefined) ({ world } = happen(world, first))
    }
  }
  return [...found.values()]
}
