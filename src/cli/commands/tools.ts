import type { Command } from 'commander'
import { asMcpxError, isObject } from '../../base/index.ts'
import { LOCAL_CALLER } from '../../endpoint/index.ts'
import type { Member } from '../../gateway/index.ts'
import { unknownServer } from '../../http/index.ts'
import { print, printJson, styled, table } from '../output.ts'
import type { Runtime } from '../runtime.ts'
import { withRuntime, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

interface ServerTools {
  readonly server: string
  readonly tools: readonly Record<string, unknown>[]
  readonly error: { readonly code: string; readonly message: string } | null
}

/** `mcpx tools`: what each server offers. */
export function addTools(program: Command): void {
  withSettings(program.command('tools'))
    .description('list the tools of all servers, or of one')
    .argument('[server]', 'only this one')
    .option('--json', 'print JSON')
    .action(async (server: string | undefined, options: CommonOptions) => {
      const listed = await withRuntime(options, (runtime) => listTools(runtime, server))
      if (options.json === true) printJson({ servers: listed })
      else printTools(listed)
      if (listed.some(({ error }) => error !== null)) process.exitCode = 1
    })
}

async function listTools({ gateway }: Runtime, only: string | undefined): Promise<ServerTools[]> {
  const members = gateway.members.filter((member) => only === undefined || member.name === only)
  if (only !== undefined && members.length === 0) throw unknownServer(only, gateway.names)
  return Promise.all(members.map(toolsOf))
}

async function toolsOf(member: Member): Promise<ServerTools> {
  try {
    const { items } = await member.lists(LOCAL_CALLER).get('tools')
    const tools = items.filter((tool) => member.allows(String(tool['name'])))
    return { server: member.name, tools, error: null }
  } catch (error) {
    const { code, message } = asMcpxError(error)
    return { server: member.name, tools: [], error: { code, message } }
  }
}

function printTools(listed: readonly ServerTools[]): void {
  const rows = listed.flatMap(({ server, tools }) =>
    tools.map((tool) => [`${server}.${String(tool['name'])}`, argumentsOf(tool), summaryOf(tool)]),
  )
  if (rows.length > 0) print(table([['TOOL', 'ARGUMENTS', 'DESCRIPTION'], ...rows]))
  for (const { error } of listed)
    if (error !== null) process.stderr.write(`${styled('red', error.message)}\n`)
}

/** Required arguments as they are, the others in brackets. */
function argumentsOf(tool: Record<string, unknown>): string {
  const schema = isObject(tool['inputSchema']) ? tool['inputSchema'] : {}
  const properties = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  return properties.map((name) => (required.includes(name) ? name : `[${name}]`)).join(' ')
}

function summaryOf(tool: Record<string, unknown>): string {
  const text = typeof tool['description'] === 'string' ? tool['description'] : ''
  const line = text.split('\n', 1)[0] ?? ''
  return line.length > 70 ? `${line.slice(0, 69)}…` : line
}
