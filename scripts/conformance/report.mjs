import { nameOf } from './cells.mjs'
import { groupBy } from './group-by.mjs'

/** @typedef {import('./judge.mjs').Verdict} Verdict */

/** A row a client and a column an upstream: passed/failed/excepted. Then what differs, each once. @param {Verdict[]} verdicts */
export function printReport(verdicts) {
  const upstreamOf = (/** @type {Verdict} */ { cell }) => `${cell.era} over ${cell.transport}`
  const columns = [...new Set(verdicts.map(upstreamOf))]
  const rows = [...groupBy(verdicts, ({ cell }) => cell.client)].map(([client, row]) => [
    client,
    ...columns.map((column) => figures(row.find((verdict) => upstreamOf(verdict) === column))),
  ])
  const width = (/** @type {number} */ i) =>
    Math.max(...[['', ...columns], ...rows].map((row) => (row[i] ?? '').length))
  console.log('Passed/failed/excepted, by client and upstream:\n')
  for (const row of [['client', ...columns], ...rows])
    console.log(
      row
        .map((text, i) => text.padEnd(width(i) + 3))
        .join('')
        .trimEnd(),
    )

  list('Failed', verdicts, ({ failures }) =>
    failures.map(({ scenario, id, why }) => [`${scenario}: ${id}`, why]),
  )
  list('Excepted', verdicts, ({ excepted }) => excepted.map(({ scenario, id }) => [`${scenario}: ${id}`, '']))
  list('Excepted, and yet passed', verdicts, ({ stale }) => stale.map(({ check }) => [check, '']))
}

/** @param {Verdict | undefined} verdict */
function figures(verdict) {
  return verdict ? `${verdict.passed}/${verdict.failures.length}/${verdict.excepted.length}` : '-'
}

/**
 * Every check with the cells that it concerns; what was said in the first of them.
 * @param {string} title @param {Verdict[]} verdicts @param {(verdict: Verdict) => string[][]} pick
 */
function list(title, verdicts, pick) {
  /** @type {Map<string, { why: string, cells: Set<string> }>} */
  const checks = new Map()
  for (const verdict of verdicts) {
    for (const [check = '', why = ''] of pick(verdict)) {
      const entry = checks.get(check) ?? { why, cells: new Set() }
      entry.cells.add(nameOf(verdict.cell))
      checks.set(check, entry)
    }
  }
  if (checks.size === 0) return
  console.log(`\n${title}:`)
  for (const [check, { why, cells }] of [...checks].sort(([a], [b]) => a.localeCompare(b))) {
    console.log(`  ${check}`)
    console.log(`    ${cells.size === verdicts.length ? 'every cell' : [...cells].join(' ')}`)
    if (why !== '') console.log(`    ${why}`)
  }
}
