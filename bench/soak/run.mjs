// The soak: sixty servers with 10,000 tools behind one daemon, and 500 clients of both eras that call, give up, change lists and
// crash servers for as long as it is told to. Prints what it found; exits with 1 when an answer was lost or crossed, or anything
// was kept that should have gone.
//   npm run soak                      ten minutes
//   npm run soak -- --minutes 1       a quick look; --clients, --tools and --workers scale it
// A worker sends its next call when its last one was answered, so the load follows the machine.
import { randomUUID } from 'node:crypto'
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as rest } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endAll, start } from '../children.mjs'
import { legacyClient, modernClient, pipeClient } from './clients.mjs'
import { attach } from './inspect.mjs'

const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    clients: { type: 'string', default: '500' },
    tools: { type: 'string', default: '10000' },
    workers: { type: 'string', default: '24' },
  },
})
const MINUTES = Number(given.minutes)
const CLIENTS = Number(given.clients)
const TOOLS = Number(given.tools)
const SERVERS = 60
const ON_PIPES = 20
const SERVES = Math.min(12, CLIENTS)
/** A request that has no answer for so long is lost, in ms. */
const LOST = 120_000
const HEAP_GROWTH = 0.05

const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))
const MCPX = here('../../dist/cli/main.js')

/** @type {string[]} */
const faults = []
const counts = { answered: 0, givenUp: 0, refused: 0, lists: 0, changes: 0, crashes: 0, told: 0 }
const pick = (/** @type {any[]} */ from) => from[Math.floor(Math.random() * from.length)]

const servers = Array.from({ length: SERVERS }, (_, at) => ({
  name: `s${at}`,
  era: at % 2 === 0 ? 'legacy' : 'modern',
  onPipe: at < ON_PIPES,
  tools: Math.floor(TOOLS / SERVERS) + (at < TOOLS % SERVERS ? 1 : 0),
}))

const folder = await mkdtemp(join(tmpdir(), 'mcpx-soak-'))
try {
  await soak()
} finally {
  await endAll()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
for (const fault of faults) console.log(`FAILED ${fault}`)
console.log(
  faults.length === 0
    ? 'ok     nothing lost, nothing crossed, nothing kept'
    : `${faults.length} checks failed`,
)
process.exit(faults.length === 0 ? 0 : 1)

async function soak() {
  const daemon = await startDaemon()
  const clients = createClients(daemon)
  // Everything once, so that what is made on first use is there before anything is counted.
  await round(clients, 'open')
  await work(clients, Date.now() + 10_000)
  await round(clients, 'close')
  const before = await figures(daemon)
  console.log(`start  ${JSON.stringify(before)}`)

  await round(clients, 'open')
  const end = Date.now() + MINUTES * 60_000
  // At two minutes, or a third of a shorter soak, everything has found its size.
  const settled = Date.now() + Math.min(120_000, (MINUTES * 60_000) / 3)
  await work(clients, settled)
  const early = await daemon.inspector.held()
  await work(clients, end)
  const late = await daemon.inspector.held()
  for (const client of clients) counts.told += client.told
  console.log(`heap   ${early.heap.toFixed(1)} MiB, then ${late.heap.toFixed(1)} MiB with all clients there`)
  if (late.heap > early.heap * (1 + HEAP_GROWTH)) {
    faults.push(`the heap grew from ${early.heap.toFixed(1)} to ${late.heap.toFixed(1)} MiB`)
  }

  await round(clients, 'close')
  const after = await figures(daemon)
  console.log(`end    ${JSON.stringify(after)}`)
  console.log(`calls  ${JSON.stringify(counts)}`)
  compare(before, after)
  daemon.inspector.close()
}

async function startDaemon() {
  const hosted = servers
    .filter(({ onPipe }) => !onPipe)
    .map(({ name, tools, era }) => `${name}:${tools}:${era}`)
  const { line: origin } = await start([here('http-servers.mjs'), ...hosted])
  const mcpServers = Object.fromEntries(
    servers.map(({ name, onPipe, tools, era }) => [
      name,
      onPipe
        ? { command: process.execPath, args: [here('pipe-server.mjs'), name, String(tools), era] }
        : { url: `${origin}/${name}` },
    ]),
  )
  const config = join(folder, 'mcpx.json')
  await writeFile(config, JSON.stringify({ mcpServers }))
  const settings = { MCPX_POOL_IDLE_TIMEOUT: '1h', MCPX_LOG_LEVEL: 'silent', MCPX_AUTH_LOCAL: 'open' }
  const env = { ...process.env, ...settings, MCPX_STATE_DIR: join(folder, 'state') }
  const args = [
    '--expose-gc',
    '--inspect=127.0.0.1:0',
    MCPX,
    'daemon',
    '--config',
    config,
    '--port',
    '0',
    '--json',
  ]
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  process.on('exit', () => child.kill('SIGKILL'))
  const first = (/** @type {import('node:stream').Readable} */ stream, /** @type {RegExp} */ pattern) =>
    new Promise((resolve, reject) => {
      const lines = createInterface({ input: stream })
      lines.on('line', (line) => pattern.test(line) && resolve(pattern.exec(line)?.[0]))
      lines.once('close', () => reject(new Error('the daemon ended')))
    })
  const [inspector, said] = await Promise.all([first(child.stderr, /ws:\S+/), first(child.stdout, /^\{.*/)])
  const { mcp, v1, pid } = JSON.parse(said)
  return { mcp, v1, pid, config, env, inspector: await attach(inspector) }
}

/** @typedef {Awaited<ReturnType<typeof startDaemon>>} Daemon */

/** @param {Daemon} daemon */
function createClients({ mcp, config, env }) {
  process.env['MCPX_STATE_DIR'] = env.MCPX_STATE_DIR
  return Array.from({ length: CLIENTS }, (_, at) => {
    const name = `client-${at}`
    if (at < SERVES)
      return pipeClient(name, [MCPX, 'serve', '--config', config], at % 2 ? 'legacy' : 'modern')
    return at % 2 ? legacyClient(name, mcp) : modernClient(name, mcp)
  })
}

/** @typedef {import('./clients.mjs').Client} Client */

/** All clients come, or go, some at a time. @param {Client[]} clients @param {'open' | 'close'} what */
async function round(clients, what) {
  const left = [...clients]
  const some = Array.from({ length: 16 }, async () => {
    for (let client = left.pop(); client; client = left.pop())
      await bounded(client[what](), `${what} of ${client.name}`)
  })
  await Promise.all(some)
}

/** @param {Client[]} clients @param {number} until ms since the epoch */
async function work(clients, until) {
  const workers = Array.from({ length: Number(given.workers) }, async () => {
    while (Date.now() < until) {
      const client = pick(clients)
      await act(client).catch((error) => faults.push(`${client.name}: ${error.message}`))
    }
  })
  await Promise.all(workers)
}

/** One thing that a client does. @param {Client} client */
async function act(client) {
  const server = pick(servers)
  const chance = Math.random()
  if (chance < 0.002) {
    counts.lists++
    const answer = await bounded(client.ask('tools/list', {}), 'tools/list')
    if (!answer?.result?.tools?.length) faults.push(`${client.name}: a list without tools`)
    return
  }
  const kind =
    chance < 0.004
      ? 'crash'
      : chance < 0.01
        ? 'change'
        : `echo_${Math.floor(Math.random() * (server.tools - 2))}`
  if (kind === 'crash') counts.crashes++
  if (kind === 'change') counts.changes++
  const nonce = randomUUID()
  const gives = kind.startsWith('echo') && Math.random() < 0.05
  const ms = Math.random() < 0.1 ? Math.floor(Math.random() * 300) : 0
  const params = { name: `${server.name}__${kind}`, arguments: { nonce, ms: gives ? 500 : ms } }
  const giveUp = gives ? AbortSignal.timeout(Math.floor(Math.random() * 100)) : undefined
  const answer = await bounded(client.ask('tools/call', params, giveUp), params.name)
  if (answer === undefined) return void counts.givenUp++
  // A call whose server crashed is told so.
  if (answer.error) return void counts.refused++
  const text = answer.result?.content?.[0]?.text
  if (answer.result?.isError) counts.refused++
  else if (text !== nonce) faults.push(`crossed: ${client.name} sent ${nonce} and got ${text}`)
  else counts.answered++
}

/** @template T @param {Promise<T>} promise @param {string} what @returns {Promise<T>} */
async function bounded(promise, what) {
  const timer = new AbortController()
  const late = rest(LOST, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`lost: ${what} has no answer`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    timer.abort()
  }
}

/** What the daemon holds with no client there and every server up, once it has come to rest. @param {Daemon} daemon */
async function figures(daemon) {
  for (const { name } of servers) await wake(daemon, name)
  let last = ''
  for (let look = 0; ; look++) {
    const now = { ...(await reported(daemon)), ...(await daemon.inspector.held()) }
    const { heap, ...rests } = now
    const text = JSON.stringify(rests)
    if ((text === last && now.sessions === 0) || look === 20) {
      return { ...now, heap: Math.round(heap * 10) / 10 }
    }
    last = text
    await rest(1500)
  }
}

/** Has a server that crashed last started again. @param {Daemon} daemon @param {string} server */
async function wake({ v1 }, server) {
  const body = JSON.stringify({ server, tool: 'echo_0', args: { nonce: 'awake' }, capabilities: {} })
  const headers = { 'content-type': 'application/json' }
  for (let status = 0; status !== 200;) {
    const response = await bounded(fetch(`${v1}/call`, { method: 'POST', headers, body }), `waking ${server}`)
    status = response.status
    await response.text()
  }
}

/** @param {Daemon} daemon */
async function reported({ mcp, v1, pid }) {
  const text = await (await fetch(new URL('/metrics', mcp))).text()
  const metric = (/** @type {string} */ name) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
  const { servers: all } = /** @type {any} */ (await (await fetch(`${v1}/servers`)).json())
  const instances = all.flatMap((/** @type {any} */ one) => one.instances)
  const sum = (/** @type {string} */ name) =>
    instances.reduce((/** @type {number} */ total, /** @type {any} */ one) => total + one[name], 0)
  const { clients } = /** @type {any} */ (await (await fetch(`${v1}/clients`)).json())
  return {
    ...{ sessions: metric('mcpx_sessions'), parked: metric('mcpx_parked_calls') },
    ...{ instances: instances.length, inFlight: sum('inFlight'), leases: sum('leases') },
    ...{ clients: clients.length, children: await childrenOf(pid) },
  }
}

/** @param {number} pid */
async function childrenOf(pid) {
  if (process.platform !== 'linux') return 0
  const stats = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const parents = stats.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''))
  return (await Promise.all(parents)).filter(
    (stat) => stat.slice(stat.lastIndexOf(')')).split(' ')[2] === String(pid),
  ).length
}

/** @typedef {Awaited<ReturnType<typeof figures>>} Figures */

/** @param {Figures} before @param {Figures} after */
function compare(before, after) {
  for (const name of /** @type {const} */ ([
    'sessions',
    'parked',
    'inFlight',
    'leases',
    'clients',
    'children',
  ])) {
    if (after[name] > before[name]) faults.push(`${name}: ${before[name]} before, ${after[name]} after`)
  }
  if (after.instances > before.instances)
    faults.push(`instances: ${before.instances} before, ${after.instances} after`)
  // Maps of the runtime itself breathe a little.
  if (after.entries > before.entries * 1.02 + 200) {
    faults.push(`entries of maps and sets: ${before.entries} before, ${after.entries} after`)
  }
  for (const [kind, count] of Object.entries(after.resources)) {
    const had = before.resources[kind] ?? 0
    // Idle connections to servers over HTTP are kept for a while.
    if (count > had + (/TCP/.test(kind) ? 64 : 4)) faults.push(`${kind}: ${had} before, ${count} after`)
  }
}
