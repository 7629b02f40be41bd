import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { Gateway, View } from '../../gateway/index.ts'
import { unknownServer } from '../../http/index.ts'
import { METHOD } from '../../spec/index.ts'
import type { Answer } from '../../wire/index.ts'
import { print, printJson } from '../output.ts'
import { localCall } from './local-call.ts'
import { withRuntime, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

/** `mcpx call <server>.<tool> [json]`: one tool call, its text on stdout. */
export function addCall(program: Command): void {
  withSettings(program.command('call'))
    .description('call a tool: its text goes to stdout; the exit code is 1 when the tool reports an error')
    .argument('<server.tool>', 'the server of the configuration and its tool, with a dot between')
    .argument('[json]', 'the arguments as a JSON object; - reads them from stdin')
    .option('--json', 'print the whole result as JSON')
    .addHelpText('after', '\nExample:\n  mcpx call files.read_text_file \'{"path": "README.md"}\'')
    .action(async (target: string, json: string | undefined, options: CommonOptions) => {
      const args = parseArguments(json === '-' ? await readAll(process.stdin) : json)
      await withRuntime(options, async ({ gateway }) => {
        const { server, view, tool } = findTool(gateway, target)
        const answer = await view.handle(localCall(METHOD.toolsCall, { name: tool, arguments: args }))
        show(answer, server, options.json === true)
      })
    })
}

/** Splits at the dot after the longest server name that fits: both names may hold dots themselves. */
function findTool(gateway: Gateway, target: string): { server: string; view: View; tool: string } {
  const fits = gateway.members
    .map((member) => member.name)
    .filter((name) => target.startsWith(`${name}.`))
    .sort((a, b) => b.length - a.length)
  const [server] = fits
  const view = server === undefined ? undefined : gateway.only(server)
  if (!target.includes('.') || target === `${server}.`) {
    throw new McpxError('USAGE', `"${target}" names no tool: write <server>.<tool>, as mcpx tools does.`)
  }
  if (server === undefined || view === undefined) {
    throw unknownServer(target.slice(0, target.indexOf('.')), gateway)
  }
  return { server, view, tool: target.slice(server.length + 1) }
}

function parseArguments(json: string | undefined): JsonObject {
  if (json === undefined || json.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new McpxError(
      'INPUT_NOT_JSON',
      `The arguments are not JSON: ${why}. Write an object like '{"path": "README.md"}'.`,
    )
  }
  if (isObject(value)) return value
  throw new McpxError('INPUT_NOT_JSON', 'The arguments must be a JSON object like \'{"path": "README.md"}\'.')
}

function show(answer: Answer, server: string, json: boolean): void {
  if (json) printJson('result' in answer ? answer.result : { error: answer.error })
  if ('error' in answer) {
    const { code, message } = answer.error
    if (!json) process.stderr.write(`Server "${server}" answered with error ${code}: ${message}\n`)
    process.exitCode = 1
    return
  }
  const { content, isError } = answer.result
  if (!json) for (const block of Array.isArray(content) ? content : []) print(blockText(block))
  if (isError === true) process.exitCode = 1
}

function blockText(block: unknown): string {
  if (!isObject(block)) return ''
  if (typeof block['text'] === 'string') return block['text']
  const resource = block['resource']
  if (isObject(resource) && typeof resource['text'] === 'string') return resource['text']
  const about = block['uri'] ?? (isObject(resource) ? resource['uri'] : undefined) ?? block['mimeType']
  return `[${String(block['type'])}${typeof about === 'string' ? ` ${about}` : ''}]`
}
