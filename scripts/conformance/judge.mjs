// Compares what mcpx got with what the fixture got without it, check by check.
import { isDeepStrictEqual } from 'node:util'
import { nameOf } from './cells.mjs'
import { EXCEPTIONS } from './exceptions.mjs'
import { groupBy } from './group-by.mjs'

/** @typedef {import('./cells.mjs').Cell} Cell */
/** @typedef {import('./referee.mjs').Check} Check */
/** @typedef {import('./exceptions.mjs').Exception} Exception */
/** @typedef {{ scenario: string, id: string, why: string }} Failure */
/**
 * `stale` are the exceptions of this cell whose checks pass: each is an error.
 * @typedef {{ cell: Cell, passed: number, failures: Failure[], excepted: Failure[], stale: Exception[] }} Verdict
 */

/** @param {Cell} cell @param {Check[]} checks @param {Check[]} control @returns {Verdict} */
export function judge(cell, checks, control) {
  const exceptions = EXCEPTIONS.filter(({ cells }) =>
    cells.some((named) => `${nameOf(cell)}/`.startsWith(`${named}/`)),
  )
  const had = grouped(checks)
  const wanted = grouped(control)
  /** @type {Failure[]} */
  const failures = []
  /** @type {Failure[]} */
  const excepted = []
  let passed = 0
  for (const key of new Set([...wanted.keys(), ...had.keys()])) {
    const found = compare(had.get(key) ?? [], wanted.get(key) ?? [], cell)
    passed += found.passed
    const excuse = exceptions.find(({ check }) => found.failures.some(({ id }) => id === check))
    ;(excuse === undefined ? failures : excepted).push(...found.failures)
  }
  const stale = exceptions.filter(
    ({ check }) => control.some(({ id }) => id === check) && !excepted.some(({ id }) => id === check),
  )
  return { cell, passed, failures, excepted, stale }
}

/**
 * The checks of one scenario and id. One that passes must pass as often as the control's and show the same answer:
 * several pass on anything that looks like one.
 * @param {Check[]} had @param {Check[]} wanted @param {Cell} cell @returns {{ passed: number, failures: Failure[] }}
 */
function compare(had, wanted, cell) {
  /** @type {Failure[]} */
  const failures = []
  for (const check of had) {
    if (check.status === 'FAILURE' || check.status === 'WARNING')
      failures.push(
        failure(check, `${check.status === 'WARNING' ? 'warning: ' : ''}${check.errorMessage ?? 'failed'}`),
      )
  }
  const passes = had.filter(({ status }) => status === 'SUCCESS')
  const passesWanted = wanted.filter(({ status }) => status === 'SUCCESS')
  const lost = passesWanted.length - passes.length - failures.length
  for (const check of passesWanted.slice(0, Math.max(0, lost)))
    failures.push(failure(check, had.length === 0 ? 'did not run' : `ended as ${had[0]?.status}`))
  let passed = 0
  for (const [i, check] of passes.entries()) {
    const control = passesWanted[i]
    if (control === undefined || isDeepStrictEqual(answerOf(check, cell), answerOf(control, cell))) passed++
    else failures.push(failure(check, `passes, but answers otherwise: ${difference(check, control)}`))
  }
  return { passed, failures }
}

/** @param {Check} check @param {string} why @returns {Failure} */
const failure = ({ scenario, id }, why) => ({ scenario, id, why: why.replaceAll(/\s+/g, ' ').slice(0, 300) })

/** What a check shows of the server's answers. The rest of its details are addresses, ids and figures of the run. */
const ANSWERS = [
  'result',
  'messages',
  'content',
  'tools',
  'prompts',
  'resources',
  'progressNotifications',
  'logs',
]
/** How a server names itself and what it offers, and whether it refuses what is malformed or asks again, is the business of each. */
const OF_EACH = new Set(['sep-2575-server-implements-discover', 'sep-2322-error-on-protocol-error'])
/** Members that each hop sets for itself. */
const OF_HOP = new Set(['_meta', 'requestState', 'ttlMs', 'cacheScope'])

/** @param {Check} check @param {Cell} cell */
function answerOf({ id, details }, cell) {
  if (details === undefined || OF_EACH.has(id)) return undefined
  const answers = ANSWERS.map((name) => withoutHop(details[name]))
  return cell.era === 'legacy' ? answers.map(withoutKeys) : answers
}

/** Lists of names lose their order, which is each hop's own. @param {unknown} value @returns {unknown} */
function withoutHop(value) {
  if (Array.isArray(value))
    return value.every((item) => typeof item === 'string') ? value.toSorted() : value.map(withoutHop)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => !OF_HOP.has(name))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutHop(member)]))
}

/** A question that a legacy server pushed has no key, so that whoever carries it makes one. @param {unknown} value */
function withoutKeys(value) {
  if (typeof value !== 'object' || value === null || !('inputRequests' in value)) return value
  const questions = Object.values(value.inputRequests ?? {}).map((question) => JSON.stringify(question))
  return { ...value, inputRequests: questions.toSorted() }
}

/** @param {Check} check @param {Check} control */
function difference(check, control) {
  const name = ANSWERS.find(
    (key) => !isDeepStrictEqual(withoutHop(check.details?.[key]), withoutHop(control.details?.[key])),
  )
  const shown = (/** @type {Check} */ { details }) => JSON.stringify(withoutHop(details?.[name ?? '']))
  return `${shown(check)} for ${shown(control)}`
}

/** @param {Check[]} checks */
const grouped = (checks) => groupBy(checks, ({ scenario, id }) => `${scenario} ${id}`)
