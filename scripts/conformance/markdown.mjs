// The report of a whole run, for docs/conformance.md, and its figures beside it.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import * as prettier from 'prettier'
import { CLIENT_EXCEPTIONS } from './client-exceptions.mjs'
import { EXCEPTIONS } from './exceptions.mjs'
import { groupBy } from './group-by.mjs'
import { SUITE } from './referee.mjs'

/** @typedef {import('./judge.mjs').Verdict} Verdict */
/** @typedef {import('./client-leg.mjs').LegVerdict} LegVerdict */

const pathOf = (/** @type {string} */ file) => fileURLToPath(new URL(`../../${file}`, import.meta.url))
const COLUMNS = ['legacy/http', 'legacy/stdio', 'modern/http', 'modern/stdio']

/** @param {Verdict[]} verdicts @param {LegVerdict[]} clientLeg @param {object} figures what `--json` prints */
export async function writeReport(verdicts, clientLeg, figures) {
  const { version } = JSON.parse(await readFile(pathOf('package.json'), 'utf8'))
  const text = `# The official conformance suite

\`npm run conformance\` wrote this on ${new Date().toISOString().slice(0, 10)}: mcpx ${version}, ${SUITE}, mcpx on Node ${process.versions.node}.

## mcpx as a server

The suite is the client, mcpx stands before a server of one era. Figures are passed/failed/excepted, check by check: a check counts if
it passes as it does for that server without mcpx between, and a warning is a failure.

${table(
  ['client', ...COLUMNS.map((column) => column.replace('/', ', '))],
  [...groupBy(verdicts, ({ cell }) => cell.client)].map(([client, row]) => [
    client,
    ...COLUMNS.map((column) => {
      const found = row.find(({ cell }) => `${cell.era}/${cell.transport}` === column)
      return found === undefined ? '-' : figuresOf(found)
    }),
  ]),
)}

- \`2025-06-18\`, \`2025-11-25\`, \`2026-07-28\`: all scenarios of that revision. For 2025-06-18 the suite sends the frames of 2025-11-25; clients that
  really speak 2024-11-05, 2025-03-26 and 2025-06-18 are in \`test/matrix\`.
- \`required-*\`: the frozen set that a revision requires.
- \`stdio-*\`: the same scenarios over \`mcpx serve\`, through a front that carries messages only. Scenarios and checks about HTTP itself are left out.
- \`tasks\`, \`skills\`: those of the extensions.

Excepted, because the two revisions leave no other way; a check that is excepted and passes fails the run:

${table(
  ['check', 'cells', 'why'],
  EXCEPTIONS.map(({ check, cells, reason }) => [check, cells.join(' '), reason]),
)}

## mcpx as a client

The suite is the server, authorization included, and mcpx its client.

${table(
  ['revision', 'passed/failed/excepted'],
  clientLeg.map((leg) => [leg.revision, figuresOf(leg)]),
)}
${CLIENT_EXCEPTIONS.map(({ scenario, check, reason }) => `\n- ${scenario}, ${check}: ${reason}`).join('')}
`
  const config = await prettier.resolveConfig(pathOf('docs/conformance.md'))
  await writeFile(
    pathOf('docs/conformance.md'),
    await prettier.format(text, { ...config, parser: 'markdown' }),
  )
  const json = await prettier.format(JSON.stringify(figures), { ...config, parser: 'json' })
  await writeFile(pathOf('docs/conformance.json'), json)
}

/** @param {{ passed: number, failures: unknown[], excepted: unknown[] }} verdict */
const figuresOf = ({ passed, failures, excepted }) => `${passed}/${failures.length}/${excepted.length}`

/** @param {string[]} head @param {string[][]} rows */
function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}
