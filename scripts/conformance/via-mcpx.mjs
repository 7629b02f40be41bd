// Run by the suite as the client under test: mcpx in front of the suite's server, and behind mcpx a client that does what the scenario
// asks for. What the suite sees is mcpx.   node via-mcpx.mjs URL
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { endAll, start } from '../../bench/children.mjs'

const MCPX = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
/** Where the suite's authorization servers believe that a client's document is. */
const CLIENT_METADATA = 'https://conformance-test.local/client-metadata.json'
const LOGINS = 4

const url = process.argv.at(-1) ?? ''
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const revision = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2025-11-25'
/** @type {Record<string, any>} */
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}')
let logins = 0

const folder = await mkdtemp(join(tmpdir(), 'mcpx-client-'))
try {
  const { mcp } = await startMcpx()
  const client = await connected(`${mcp}/mock`)
  await (SCENARIOS()[scenario] ?? listAndCall)(client)
  await client.close()
} finally {
  await endAll()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** @returns {Promise<{ mcp: string }>} */
async function startMcpx() {
  const config = join(folder, 'mcpx.json')
  const server = { url, scope: 'principal', ...(scenario.startsWith('auth/') && { auth: auth() }) }
  // A server of one era is addressed in it: what the suite counts is the messages of one revision.
  const protocol = revision === '2026-07-28' ? 'prefer-discover' : 'prefer-initialize'
  await writeFile(config, JSON.stringify({ mcpServers: { mock: { ...server, protocol } } }))
  const { line } = await start([MCPX, 'daemon', '--config', config, '--port', '0', '--json'], {
    MCPX_STATE_DIR: join(folder, 'state'),
    MCPX_AUTH_LOCAL: 'open',
  })
  return JSON.parse(line)
}

function auth() {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: privateKey } = context
  const client =
    clientId === undefined ? { clientMetadataUrl: CLIENT_METADATA } : { clientId, clientSecret, privateKey }
  return scenario.startsWith('auth/client-credentials') ? { ...client, grant: 'client_credentials' } : client
}

/** A client of the suite's revision that is connected, once whoever it stands for has logged in. @param {string} endpoint */
function connected(endpoint) {
  return loggedIn(async () => {
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } }
    const negotiation = revision === '2026-07-28' ? { versionNegotiation: { mode: { pin: revision } } } : {}
    const client = new Client({ name: 'conformance', version: '1.0.0' }, { capabilities, ...negotiation })
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      if (params.mode === 'url') await visit(params.url)
      return {
        action: 'accept',
        ...(params.mode !== 'url' && { content: defaultsOf(params.requestedSchema) }),
      }
    })
    client.setRequestHandler('roots/list', async () => ({ roots: [] }))
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint)))
    return client
  })
}

/** What a form's fields are when nobody changes them. @param {any} schema */
function defaultsOf(schema) {
  const fields = Object.entries(/** @type {Record<string, any>} */ (schema?.properties ?? {}))
  return Object.fromEntries(
    fields.map(([name, field]) => [name, field.default ?? (field.type === 'boolean' ? true : '')]),
  )
}

/**
 * Does something, and logs in where it says that a login is needed, as a person would. @template T @param {() => Promise<T>} act @returns {Promise<T>}
 */
async function loggedIn(act) {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      const address =
        /** @type {any} */ (error)?.data?.elicitations?.[0]?.url ?? /https?:\/\/\S+$/.exec(String(error))?.[0]
      if (address === undefined) throw error
      await visit(address)
    }
  }
}

/** What a browser does whose user agrees to everything. @param {string} address */
async function visit(address) {
  if (++logins > LOGINS) throw new Error(`mcpx asks for a login again and again: ${address}`)
  const asked = await fetch(address, { redirect: 'manual' })
  const back = asked.headers.get('location')
  if (back === null)
    throw new Error(`The authorization server answered ${asked.status} ${await asked.text()}`)
  const arrived = await fetch(back)
  if (!arrived.ok) throw new Error(`The login failed: ${await arrived.text()}`)
}

/** @typedef {(client: Client) => Promise<void>} Act */

/** @type {Act} */
async function listAndCall(client) {
  const { tools } = await loggedIn(() => client.listTools())
  for (const { name } of tools) await call(client, name, name === 'add_numbers' ? { a: 5, b: 3 } : {})
}

/** @param {Client} client @param {string} name @param {Record<string, unknown>} args */
function call(client, name, args) {
  return loggedIn(() => client.callTool({ name, arguments: args }))
}

/** @returns {Record<string, Act>} */
function SCENARIOS() {
  return {
    async initialize(client) {
      await client.listTools()
    },
    async 'http-custom-headers'(client) {
      await client.listTools()
      for (const { name, arguments: args } of context['toolCalls']) await call(client, name, args)
    },
    async 'http-invalid-tool-headers'(client) {
      const { tools } = await client.listTools()
      for (const { name } of tools) await call(client, name, { region: 'us-west1' })
    },
    async 'http-standard-headers'(client) {
      await listAndCall(client)
      const { resources } = await client.listResources()
      for (const { uri } of resources) await client.readResource({ uri })
      const { prompts } = await client.listPrompts()
      for (const { name } of prompts) await client.getPrompt({ name, arguments: {} })
    },
    async 'json-schema-2020-12-preservation'(client) {
      const { tools } = await client.listTools()
      const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
      await call(client, 'json_schema_echo', { schema })
    },
    async 'json-schema-ref-no-deref'(client) {
      await client.listTools()
    },
    async 'request-metadata'(client) {
      // Its server answers no list; that mcpx asked is what counts.
      await client.listTools().catch(() => {})
    },
    async 'sep-2322-client-request-state'(client) {
      const names = ['echo_state', 'no_state', 'unrelated', 'no_result_type']
      // The client refuses the result without a type, which is what mcpx passed on.
      for (const name of names) await call(client, `test_mrtr_${name}`, {}).catch(() => {})
    },
  }
}
