// Finds the suite and a Node that can run it, and runs it.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import spawn from 'cross-spawn'
import { concerns, selectionOf } from './cells.mjs'

/**
 * One verdict of the suite. FAILURE and WARNING are failures here, and INFO is an observation.
 * @typedef {{ scenario: string, id: string, status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO',
 *   errorMessage?: string, details?: Record<string, unknown> }} Check
 */
/**
 * `run` judges a server. `exec` runs the suite with any arguments, in a folder of its own for results, and resolves with what it said.
 * @typedef {{ run(url: string, client: string, scenario?: string): Promise<Check[]>,
 *   exec(args: string[]): Promise<{ said: string, output: string }> }} Referee
 */

/** Pinned: which checks there are, and what they ask for, changes between versions. */
export const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const NODE = 'node@22'
const LOCATE = fileURLToPath(new URL('locate.mjs', import.meta.url))
/** Only a hang reaches it. In milliseconds. */
const PATIENCE = 300_000

/** @param {string} folder @param {(line: string) => void} say @returns {Promise<Referee>} */
export async function findReferee(folder, say) {
  const own = ownNode()
  say(`The suite is ${SUITE} and runs on ${own ?? `the npm package ${NODE}`}; npx fetches what is missing.`)
  const located = await locate(own === undefined ? [SUITE, NODE] : [SUITE])
  const node = own ?? located.node
  const baseline = join(folder, 'baseline.yml')
  // A baseline that excuses nothing makes a warning count as a failure.
  await writeFile(baseline, 'server: []\nclient: []\n')
  return {
    async exec(args) {
      const output = await mkdtemp(join(folder, 'run-'))
      const results = args[0] === 'client' ? ['-o', output] : []
      return { said: await finished(node, [located.suite, ...args, ...results]), output }
    },
    async run(url, client, scenario) {
      const output = await mkdtemp(join(folder, 'run-'))
      const selection = selectionOf(client)
      let said = ''
      for (const which of runsFor(selection, scenario)) {
        const args = ['server', '--url', url, ...which, '--expected-failures', baseline, '-o', output]
        said = await finished(node, [located.suite, ...args])
      }
      const checks = await readChecks(output)
      if (checks.length === 0 && scenario === undefined)
        throw new Error(`The suite left no result: ${said.slice(-2000)}`)
      if (!('requirements' in selection)) return checks.filter((check) => concerns(client, check))
      const required = await requiredBy(located.suite, selection.requirements)
      return checks.filter((check) => required.has(check.scenario))
    },
  }
}

/**
 * The arguments that select the scenarios, one run each. No revision may be named with those of extensions.
 * @param {import('./cells.mjs').Selection} selection @param {string | undefined} scenario @returns {string[][]}
 */
function runsFor(selection, scenario) {
  if ('scenarios' in selection)
    return selection.scenarios
      .filter((name) => scenario === undefined || name === scenario)
      .map((name) => ['--scenario', name])
  if ('requirements' in selection)
    return scenario === undefined ? [['--requirements', selection.requirements]] : []
  const which = scenario === undefined ? ['--suite', 'all'] : ['--scenario', scenario]
  return [[...which, '--spec-version', selection.revision]]
}

/**
 * The server scenarios that a frozen set requires. The suite runs others with them, which it does not score.
 * @param {string} suite the path of its program @param {string} revision
 */
async function requiredBy(suite, revision) {
  const path = join(dirname(suite), '..', 'requirements', `${revision}.yaml`)
  const section = /^server:\n((?: {2}.*\n|\s*#.*\n|\n)*)/m.exec(await readFile(path, 'utf8'))?.[1] ?? ''
  const names = new Set([...section.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name))
  if (names.size === 0) throw new Error(`The suite has no requirements for ${revision}`)
  return names
}

/** A Node of 22 or later that is there already: the suite imports what older ones do not have. */
function ownNode() {
  if (process.env['MCPX_NODE22']) return process.env['MCPX_NODE22']
  return Number(process.versions.node.split('.')[0]) >= 22 ? process.execPath : undefined
}

/**
 * Where npx has put the packages.
 * @param {string[]} packages @returns {Promise<{ node: string, suite: string }>}
 */
async function locate(packages) {
  const args = ['--yes', '--loglevel=error', ...packages.flatMap((name) => ['--package', name]), '--']
  const child = spawn('npx', [...args, 'node', LOCATE], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => (said += text))
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (said === '') throw new Error(`npx cannot provide ${packages.join(' and ')}`)
  return JSON.parse(said)
}

/**
 * What the suite said at its end. Its exit code says no more than its files do.
 * @param {string} node @param {string[]} args @returns {Promise<string>}
 */
function finished(node, args) {
  return new Promise((resolve, reject) => {
    execFile(node, args, { timeout: PATIENCE, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const said = `${stdout}${stderr}`
      if (error?.killed)
        reject(new Error(`The suite has not ended in ${PATIENCE / 1000} s: ${said.slice(-2000)}`))
      // A number is the suite's own exit code; a word says why it did not start.
      else if (typeof error?.code === 'string') reject(error)
      else resolve(said)
    })
  })
}

/** A folder a scenario, called server-<scenario>-<time>. @param {string} output @returns {Promise<Check[]>} */
async function readChecks(output) {
  /** @type {Check[]} */
  const all = []
  for (const name of (await readdir(output)).toSorted()) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1]
    if (scenario === undefined) throw new Error(`The suite names its results otherwise: ${name}`)
    /** @type {Check[]} */
    const checks = JSON.parse(await readFile(join(output, name, 'checks.json'), 'utf8'))
    all.push(...checks.map((check) => ({ ...check, scenario })))
  }
  return all
}
