// What mcpx costs: one echo call direct, through a proxy that does nothing, and through mcpx.
// Ratios first: they carry over to other machines, times do not.
//   npm run bench [-- --quick] [--json]
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cpuOf, endAll, memoryOf, start } from './children.mjs'
import { measure } from './load.mjs'

/** @typedef {'modern' | 'legacy'} Era */
/**
 * `proxy` is the process in the middle, `floor` the path through a bare one that this path is compared with.
 * @typedef {{ name: string, url: string, era: Era, proxy?: number, floor?: string }} Path
 */
/** @typedef {import('./load.mjs').Sample & { cpu: number | null }} Measured */

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
})
const plan = options.quick
  ? { rounds: 3, milliseconds: 300, warmUp: { calls: 10_000, milliseconds: 1500 } }
  : { rounds: 7, milliseconds: 2000, warmUp: { calls: 30_000, milliseconds: 30_000 } }
const CONCURRENCIES = [1, 32]
const MCPX = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'mcpx-bench-'))

try {
  const paths = await open()
  const idle = memory(paths)
  const samples = await measureAll(paths)
  const report = {
    paths: paths.flatMap((path) => CONCURRENCIES.map((concurrency) => summary(path, concurrency, samples))),
    ratios: ratiosOf(paths, samples),
    memory: { idle, after: memory(paths) },
  }
  if (options.json) console.log(JSON.stringify(report, undefined, 2))
  else print(report)
} finally {
  await endAll()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Starts everything. No proxy serves two paths, so that all can be equally warm. @returns {Promise<Path[]>} */
async function open() {
  const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))
  const modern = await start([here('echo-modern.mjs')])
  const legacy = await start([here('echo-legacy.mjs')])
  const bareModern = await start([here('bare-proxy.mjs'), '--url', modern.line])
  const bareLegacy = await start([here('bare-proxy.mjs'), '--url', legacy.line])
  const relay = await start([here('bare-relay.mjs'), '--program', here('echo-stdio.mjs')])
  /** @type {Path[]} */
  const paths = [
    { name: 'direct, modern', url: modern.line, era: 'modern' },
    { name: 'direct, legacy', url: legacy.line, era: 'legacy' },
    { name: 'bare proxy, modern', url: bareModern.line, era: 'modern', proxy: bareModern.pid },
    { name: 'bare proxy, legacy', url: bareLegacy.line, era: 'legacy', proxy: bareLegacy.pid },
    { name: 'bare relay, stdio', url: relay.line, era: 'modern', proxy: relay.pid },
  ]
  if (!existsSync(MCPX)) {
    console.error('mcpx is not built (npm run build): only what it is compared with is measured')
    return paths
  }

  const stdio = { command: process.execPath, args: [here('echo-stdio.mjs')] }
  const stdioLegacy = { ...stdio, args: [...stdio.args, '--legacy'] }
  /** @type {[Era, string, object, string][]} */
  const cells = [
    ['modern', 'modern', { url: modern.line }, 'bare proxy, modern'],
    ['modern', 'legacy', { url: legacy.line }, 'bare proxy, legacy'],
    ['legacy', 'modern', { url: modern.line }, 'bare proxy, modern'],
    ['legacy', 'legacy', { url: legacy.line }, 'bare proxy, legacy'],
    ['modern', 'stdio', stdio, 'bare relay, stdio'],
    ['modern', 'stdio-legacy', stdioLegacy, 'bare relay, stdio'],
  ]
  const measured = cells.map(async ([era, server, definition, floor]) => {
    const daemon = await startDaemon(join(folder, `${era}-${server}`), definition)
    const name = `mcpx, ${era} to ${server}`
    return { name, url: `${daemon.url}/echo`, era, proxy: daemon.pid, floor }
  })
  return [...paths, ...(await Promise.all(measured))]
}

/** @param {string} state @param {object} definition */
async function startDaemon(state, definition) {
  const config = `${state}.json`
  await writeFile(config, JSON.stringify({ mcpServers: { echo: definition } }))
  const args = [MCPX, 'daemon', '--config', config, '--port', '0', '--json']
  const { line, pid } = await start(args, { MCPX_STATE_DIR: state, MCPX_AUTH_LOCAL: 'open' })
  return { url: JSON.parse(line).mcp, pid }
}

/** Every path once a round, so that what else the machine does falls on all. @param {Path[]} paths */
async function measureAll(paths) {
  /** @type {Map<string, Measured[]>} */
  const samples = new Map()
  let fewest = Infinity
  for (const path of paths) fewest = Math.min(fewest, (await measure(path, 32, plan.warmUp)).calls)
  if (fewest < plan.warmUp.calls)
    console.error(
      `Cold: some path had ${fewest} calls to warm up and not ${plan.warmUp.calls}. Run without --quick.`,
    )
  for (let round = 0; round < plan.rounds; round++) {
    for (const concurrency of CONCURRENCIES) {
      for (const path of paths) {
        const before = path.proxy === undefined ? null : cpuOf(path.proxy)
        const sample = await measure(path, concurrency, { milliseconds: plan.milliseconds })
        const after = path.proxy === undefined ? null : cpuOf(path.proxy)
        const cpu = before === null || after === null ? null : (after - before) / sample.calls
        const key = keyOf(path.name, concurrency)
        samples.set(key, [...(samples.get(key) ?? []), { ...sample, cpu }])
      }
    }
  }
  return samples
}

/** @param {Path} path @param {number} concurrency @param {Map<string, Measured[]>} samples */
function summary(path, concurrency, samples) {
  const rounds = samples.get(keyOf(path.name, concurrency)) ?? []
  const all = rounds.map(({ rps }) => rps)
  const cpu = rounds.flatMap((round) => (round.cpu === null ? [] : [round.cpu]))
  return {
    name: path.name,
    concurrency,
    rps: Math.round(median(all)),
    spread: [Math.round(Math.min(...all)), Math.round(Math.max(...all))],
    p50: rounded(median(rounds.map(({ p50 }) => p50))),
    p99: rounded(median(rounds.map(({ p99 }) => p99))),
    cpuUsPerCall: cpu.length === 0 ? null : Math.round(median(cpu)),
  }
}

/**
 * Each path against its floor: the median over the rounds of the ratio within a round.
 * @param {Path[]} paths @param {Map<string, Measured[]>} samples
 */
function ratiosOf(paths, samples) {
  /** @type {Record<string, number>} */
  const ratios = {}
  for (const { name, floor } of paths) {
    if (floor === undefined) continue
    for (const concurrency of CONCURRENCIES) {
      const own = samples.get(keyOf(name, concurrency)) ?? []
      const bare = samples.get(keyOf(floor, concurrency)) ?? []
      /** @param {'rps' | 'cpu'} figure */
      const ratio = (figure) =>
        rounded(median(own.map((round, i) => Number(round[figure]) / Number(bare[i]?.[figure]))))
      ratios[`${name} / ${floor}, x${concurrency}, requests/s`] = ratio('rps')
      if (own[0]?.cpu !== null) ratios[`${name} / ${floor}, x${concurrency}, CPU a call`] = ratio('cpu')
    }
  }
  return ratios
}

/** @param {Path[]} paths @returns {Memory} */
function memory(paths) {
  const proxies = paths.flatMap(({ name, proxy }) => (proxy === undefined ? [] : [{ name, proxy }]))
  return Object.fromEntries(proxies.map(({ name, proxy }) => [name, memoryOf(proxy)]))
}

/** @typedef {Record<string, ReturnType<typeof memoryOf>>} Memory */
/** @param {{ paths: ReturnType<typeof summary>[], ratios: Record<string, number>, memory: Record<string, Memory> }} report */
function print(report) {
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores, ${plan.rounds} rounds of ${plan.milliseconds} ms\n`,
  )
  for (const [name, ratio] of Object.entries(report.ratios))
    console.log(`${ratio.toFixed(2).padStart(6)}  ${name}`)
  const heads = ['path', 'at once', 'requests/s', '(spread)', 'p50 ms', 'p99 ms', 'CPU us']
  const rows = report.paths.map((path) => [
    path.name,
    path.concurrency,
    path.rps,
    path.spread.join('-'),
    path.p50,
    path.p99,
    path.cpuUsPerCall ?? '-',
  ])
  console.log()
  for (const row of [heads, ...rows])
    console.log(
      row.map((cell, i) => (i === 0 ? String(cell).padEnd(26) : String(cell).padStart(13))).join(''),
    )
  console.log()
  for (const [when, processes] of Object.entries(report.memory))
    for (const [name, mib] of Object.entries(processes))
      if (mib) console.log(`memory ${when}, ${name}: ${mib.rss} MiB, peak ${mib.peak} MiB`)
}

/** @param {string} name @param {number} concurrency */
function keyOf(name, concurrency) {
  return `${name} x${concurrency}`
}

/** @param {number[]} numbers */
function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

/** Two digits behind the point. @param {number} number */
function rounded(number) {
  return Math.round(number * 100) / 100
}
