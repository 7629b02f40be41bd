// The official conformance suite against mcpx: clients of each revision in front of upstreams of each era and transport.
// A check counts if it passes as it does for the fixture without mcpx between.
//   npm run conformance [-- --cell 2026-07-28/modern/http] [--leg server|client] [--scenario NAME] [--json]
// A cell may be named by its first parts only: `2026-07-28` is four cells, `2026-07-28/modern` two. Cells are of the server leg; in
// the client leg mcpx is the client of the suite's own servers. A whole run writes docs/conformance.md and docs/conformance.json.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { endAll } from '../../bench/children.mjs'
import { CELLS, CLIENTS, fixtureOf, isPipe, nameOf } from './cells.mjs'
import { printClientLeg, runClientLeg } from './client-leg.mjs'
import { groupBy } from './group-by.mjs'
import { judge } from './judge.mjs'
import { findReferee } from './referee.mjs'
import { writeReport } from './markdown.mjs'
import { printReport } from './report.mjs'
import { startFixture, startMcpx } from './targets.mjs'

/** @typedef {import('./cells.mjs').Cell} Cell */
/** @typedef {import('./referee.mjs').Check} Check */

const { values: options } = parseArgs({
  options: {
    cell: { type: 'string', default: '' },
    leg: { type: 'string' },
    scenario: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const cells = CELLS.filter((cell) => `${nameOf(cell)}/`.startsWith(options.cell && `${options.cell}/`))
if (cells.length === 0)
  throw new Error(`No such cell: ${options.cell}. There are ${CELLS.map(nameOf).join(' ')}`)
const folder = await mkdtemp(join(tmpdir(), 'mcpx-conformance-'))
/** @param {string} line */
const say = (line) => console.error(line)

try {
  const referee = await findReferee(folder, say)
  const clientLeg =
    options.cell === '' && options.leg !== 'server' ? await runClientLeg(referee, options, say) : []
  const controls = options.leg === 'client' ? new Map() : await runControls()
  /** @type {import('./judge.mjs').Verdict[]} */
  const verdicts = []
  for (const [upstream, ofUpstream] of groupBy(options.leg === 'client' ? [] : cells, upstreamOf)) {
    const target = await startMcpx(
      ofUpstream[0] ?? raise(upstream),
      join(folder, upstream.replaceAll('/', '-')),
    )
    for (const cell of ofUpstream) {
      say(`${nameOf(cell)} ...`)
      const play = async () => {
        const front = isPipe(cell.client) ? await target.pipe() : undefined
        const checks = await referee.run(front?.url ?? target.url, cell.client, options.scenario)
        front?.stop()
        return judge(cell, checks, controls.get(cell.client) ?? [])
      }
      let verdict = await play()
      if (verdict.failures.length > 0) {
        // Some checks wait for a fixed time, which a busy machine may exceed. What is wrong fails again.
        say(`${nameOf(cell)} again: ${verdict.failures.map(({ id }) => id).join(' ')}`)
        verdict = await play()
      }
      verdicts.push(verdict)
    }
  }
  const legs = clientLeg.map(({ revision, passed, failures, excepted }) => ({
    ...{ revision, passed, failed: failures.length, excepted: excepted.length },
  }))
  const report = { cells: verdicts.map(figures), clientLeg: legs }
  const isWhole = options.cell === '' && options.leg === undefined && options.scenario === undefined
  if (isWhole) await writeReport(verdicts, clientLeg, report)
  if (options.json) {
    console.log(JSON.stringify(report, undefined, 2))
  } else {
    if (verdicts.length > 0) printReport(verdicts)
    printClientLeg(clientLeg)
  }
  if ([...verdicts, ...clientLeg].some(({ failures, stale }) => failures.length + stale.length > 0))
    process.exitCode = 1

  /** What the fixture itself gets: without a single failure, or there is nothing to compare with. */
  async function runControls() {
    /** @type {Map<string, Check[]>} */
    const found = new Map()
    for (const client of Object.keys(CLIENTS).filter((name) => cells.some((cell) => cell.client === name))) {
      const checks = await referee.run(await startFixture(client), client, options.scenario)
      const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      const passed = checks.filter(({ status }) => status === 'SUCCESS')
      say(`control ${client}: ${passed.length} passed, ${failed.length} failed`)
      if (failed.length > 0)
        throw new Error(
          `The fixture fails ${failed.map(({ scenario, id }) => `${scenario}: ${id}`).join(', ')}`,
        )
      found.set(client, checks)
    }
    if ([...found.values()].every((checks) => checks.length === 0))
      throw new Error(`No check ran: is there a scenario ${options.scenario} for these revisions?`)
    return found
  }
} finally {
  await endAll()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** @param {import('./judge.mjs').Verdict} verdict */
function figures({ cell, passed, failures, excepted }) {
  const { client, era, transport } = cell
  return { client, upstream: era, transport, passed, failed: failures.length, excepted: excepted.length }
}

/** What mcpx stands in front of; one is enough for all clients that want the same. @param {Cell} cell */
function upstreamOf({ client, era, transport }) {
  return `${fixtureOf(client)}/${era}/${transport}`
}

/** @param {string} upstream @returns {never} */
function raise(upstream) {
  throw new Error(`No cell for ${upstream}`)
}
