// The client leg: mcpx as the client of the suite's own servers, one scenario after the other, since one of them measures time.
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CLIENT_EXCEPTIONS } from './client-exceptions.mjs'

/** @typedef {import('./referee.mjs').Check} Check */
/** @typedef {import('./referee.mjs').Referee} Referee */
/** @typedef {import('./client-exceptions.mjs').ClientException} ClientException */
/** @typedef {{ scenario: string, id: string, why: string }} Failure */
/**
 * `stale` are the exceptions whose checks pass: each is an error.
 * @typedef {{ revision: string, passed: number, failures: Failure[], excepted: Failure[], stale: ClientException[] }} LegVerdict
 */

const REVISIONS = ['2025-11-25', '2026-07-28']
/** Scenarios of extensions belong to no revision, and are run in each. Those of extensions that mcpx does not have are left out. */
const EXTENSIONS = ['auth/client-credentials-jwt', 'auth/client-credentials-basic']
const COMMAND = [process.execPath, fileURLToPath(new URL('via-mcpx.mjs', import.meta.url))]
/** For one scenario, in milliseconds. Only a hang reaches it. */
const PATIENCE = 60_000

/** @param {Referee} referee @param {{ scenario?: string | undefined }} options @param {(line: string) => void} say @returns {Promise<LegVerdict[]>} */
export async function runClientLeg(referee, { scenario: wanted }, say) {
  /** @type {LegVerdict[]} */
  const verdicts = []
  for (const revision of REVISIONS) {
    /** @type {Check[]} */
    const checks = []
    for (const scenario of await scenariosOf(referee, revision)) {
      if (wanted !== undefined && scenario !== wanted) continue
      say(`client ${revision} ${scenario} ...`)
      checks.push(...(await checksOf(referee, revision, scenario)))
    }
    verdicts.push(judgeLeg(revision, checks))
  }
  return verdicts
}

/** @param {string} revision @param {Check[]} checks @param {readonly ClientException[]} [known] @returns {LegVerdict} */
export function judgeLeg(revision, checks, known = CLIENT_EXCEPTIONS) {
  const exceptions = known.filter(({ revisions }) => revisions.includes(revision))
  const failing = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
  // A scenario in which nothing passes has seen nothing.
  const empty = [...new Set(checks.map(({ scenario }) => scenario))].filter(
    (scenario) => !checks.some((check) => check.scenario === scenario && check.status === 'SUCCESS'),
  )
  const failed = [
    ...failing.map(({ scenario, id, status, errorMessage }) => ({
      ...{ scenario, id },
      why: `${status === 'WARNING' ? 'warning: ' : ''}${errorMessage ?? 'failed'}`.slice(0, 300),
    })),
    ...empty.map((scenario) => ({ scenario, id: 'any', why: 'no check passed' })),
  ]
  const excuseOf = (/** @type {Failure} */ failure) =>
    exceptions.find(({ scenario, check }) => scenario === failure.scenario && check === failure.id)
  const excepted = failed.filter((failure) => excuseOf(failure) !== undefined)
  const ran = new Set(checks.map(({ scenario }) => scenario))
  return {
    revision,
    passed: checks.filter(({ status }) => status === 'SUCCESS').length,
    failures: failed.filter((failure) => excuseOf(failure) === undefined),
    excepted,
    stale: exceptions.filter(
      (exception) =>
        ran.has(exception.scenario) && !excepted.some((failure) => excuseOf(failure) === exception),
    ),
  }
}

/** @param {LegVerdict[]} verdicts */
export function printClientLeg(verdicts) {
  if (verdicts.length === 0) return
  console.log('\nClient leg, passed/failed/excepted:\n')
  for (const { revision, passed, failures, excepted, stale } of verdicts) {
    console.log(`${revision}   ${passed}/${failures.length}/${excepted.length}`)
    for (const { scenario, id, why } of failures) console.log(`  failed ${scenario}: ${id}\n    ${why}`)
    for (const { scenario, check } of stale) console.log(`  excepted, and yet passed ${scenario}: ${check}`)
  }
}

/** @param {Referee} referee @param {string} revision @returns {Promise<string[]>} */
async function scenariosOf(referee, revision) {
  const { said } = await referee.exec(['list', '--client', '--spec-version', revision])
  const names = [...said.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name = '']) => name)
  if (names.length === 0) throw new Error(`The suite lists no client scenarios: ${said.slice(-2000)}`)
  return [...names, ...EXTENSIONS]
}

/** @param {Referee} referee @param {string} revision @param {string} scenario @returns {Promise<Check[]>} */
async function checksOf(referee, revision, scenario) {
  // The suite splits the command at spaces and hands it to a shell, which puts quoted parts together again.
  const command = COMMAND.map((part) => (part.includes(' ') ? `"${part}"` : part)).join(' ')
  const which = ['--scenario', scenario, '--spec-version', revision, '--force', '--timeout', String(PATIENCE)]
  const folder = await referee.exec(['client', '--command', command, ...which])
  const files = await readdir(folder.output, { recursive: true })
  const found = files.find((path) => basename(path) === 'checks.json')
  if (found === undefined)
    throw new Error(`The suite left no result of ${scenario}: ${folder.said.slice(-2000)}`)
  /** @type {Check[]} */
  const checks = JSON.parse(await readFile(join(folder.output, found), 'utf8'))
  return checks.map((check) => ({ ...check, scenario }))
}
