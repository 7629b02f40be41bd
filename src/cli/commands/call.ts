import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { findConfig } from '../config-source.ts'
import { findDaemon } from '../daemon-record.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { unknownServer } from '../../http/index.ts'
import { putToPerson } from '../form.ts'
import { print, printJson } from '../output.ts'
import { inProcess, throughDaemon } from './call-line.ts'
import type { Line, Progress } from './call-line.ts'
import { ask } from './daemon-client.ts'
import { settingFlags, withRuntime, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

interface CallOptions extends CommonOptions {
  readonly continue?: string
  readonly answer: readonly string[]
}

/** What a command can be asked at all. */
const ASKED: JsonObject = { elicitation: { form: {}, url: {} } }
/** For whoever comes back with an answer (EX_TEMPFAIL). */
const ASKS = 75

/**
 * `mcpx call <server>.<tool> [json]`: one tool call, its text on stdout. Through the daemon of the configuration where one
 * runs. What the tool asks is put to a person on a terminal; else the exit code is 75, and how to answer is on stderr.
 */
export function addCall(program: Command): void {
  withSettings(program.command('call'))
    .description('call a tool: its text goes to stdout; the exit code is 1 when the tool reports an error')
    .argument('[server.tool]', 'the server of the configuration and its tool, with a dot between')
    .argument('[json]', 'the arguments as a JSON object; - reads them from stdin')
    .option('--json', 'print the whole result as JSON')
    .option('--continue <id>', 'go on with a call that asked something; its id is in what was printed then')
    .option('--answer <key=json>', 'an answer to what the call asked; may be repeated', collect, [])
    .addHelpText('after', '\nExample:\n  mcpx call files.read_text_file \'{"path": "README.md"}\'')
    .action(async (target: string | undefined, json: string | undefined, options: CallOptions) => {
      if (options.continue !== undefined) return goOn(options.continue, options)
      if (target === undefined) throw new McpxError('USAGE', 'Name what to call: mcpx call <server>.<tool>')
      const args = parseArguments(json === '-' ? await readAll(process.stdin) : json)
      const daemon = daemonFor(options)
      if (daemon !== undefined) {
        const { servers } = await ask<{ servers: { name: string }[] }>(daemon, '/v1/servers')
        const { server, tool } = splitTarget(
          target,
          servers.map(({ name }) => name),
        )
        return see(throughDaemon(daemon, requestFor(server, tool, args)), { server, options })
      }
      await withRuntime(options, async ({ gateway }) => {
        const { server, tool } = splitTarget(target, gateway.names)
        const view = gateway.only(server)
        if (view !== undefined)
          await see(inProcess(view, requestFor(server, tool, args)), { server, options })
      })
    })
}

/** Settings of this one command cannot be the daemon's. */
function daemonFor(options: CallOptions): DaemonRecord | undefined {
  if (Object.keys(settingFlags(options)).length > 0) return undefined
  return findDaemon(findConfig({ cwd: process.cwd(), env: process.env, named: options.config }))
}

async function goOn(id: string, options: CallOptions): Promise<void> {
  const daemon = daemonFor(options)
  if (daemon === undefined) {
    throw new McpxError(
      'USAGE',
      'The daemon in which the call waited does not run any more. Make the call anew.',
    )
  }
  const line = throughDaemon(daemon, { id })
  const answers = answersIn(options.answer)
  const first = Object.keys(answers).length === 0 ? line.start() : line.answer(answers)
  await see({ ...line, start: () => first }, { server: 'the server', options })
}

function requestFor(server: string, tool: string, args: JsonObject): Parameters<typeof inProcess>[1] {
  return { server, tool, args, capabilities: ASKED, answers: undefined, state: undefined }
}

/** Sees a call through: its result is printed, its questions are put to whoever is there. */
async function see(
  line: Line,
  { server, options }: { readonly server: string; readonly options: CallOptions },
): Promise<void> {
  let progress = await line.start()
  while (progress.status === 'input_required') {
    const answers = await answered(progress, server)
    if (answers === undefined) return tellHow(progress)
    progress = await line.answer(answers)
  }
  show(progress.result, options.json === true)
}

/** A person's answers, or undefined where there is no terminal, or a question that none can answer. */
async function answered(
  { questions }: Extract<Progress, { status: 'input_required' }>,
  server: string,
): Promise<JsonObject | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined
  const answers: JsonObject = {}
  for (const [key, question] of Object.entries(questions)) {
    const { method, params } = isObject(question) ? question : {}
    const asked = { server, method: String(method), params: isObject(params) ? params : {} }
    const answer = await putToPerson(asked, { input: process.stdin, output: process.stderr })
    if (answer === undefined) return undefined
    answers[key] = answer
  }
  return answers
}

function tellHow({ questions, goOn: id }: Extract<Progress, { status: 'input_required' }>): void {
  process.exitCode = ASKS
  process.stderr.write(`The tool asks:\n${JSON.stringify(questions, null, 2)}\n`)
  if (id === undefined) {
    process.stderr.write(
      'It waited in this command, which has no terminal to ask on. With mcpx daemon running, the call waits there for an answer.\n',
    )
    return
  }
  const answers = Object.entries(questions).map(
    ([key, question]) => ` --answer '${key}=${exampleFor(question)}'`,
  )
  process.stderr.write(`Answer with:\n  mcpx call --continue ${id}${answers.join('')}\n`)
}

function exampleFor(question: unknown): string {
  const params = isObject(question) && isObject(question['params']) ? question['params'] : {}
  if (params['mode'] === 'url') return '{"action": "accept"}'
  const schema = params['requestedSchema']
  if (!isObject(schema)) return '{}'
  const fields = Object.keys(isObject(schema['properties']) ? schema['properties'] : {})
  return `{"action": "accept", "content": {${fields.map((field) => `"${field}": …`).join(', ')}}}`
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

function answersIn(words: readonly string[]): JsonObject {
  const answers: JsonObject = {}
  for (const word of words) {
    const at = word.indexOf('=')
    if (at < 1)
      throw new McpxError(
        'USAGE',
        `"${word}" is not key=json, as in --answer 'elicitation-1={"action": "decline"}'.`,
      )
    answers[word.slice(0, at)] = parseArguments(word.slice(at + 1))
  }
  return answers
}

/** Splits at the dot after the longest server name that fits: both names may hold dots themselves. */
function splitTarget(target: string, names: readonly string[]): { server: string; tool: string } {
  const [server] = names.filter((name) => target.startsWith(`${name}.`)).sort((a, b) => b.length - a.length)
  if (!target.includes('.') || target === `${server}.`) {
    throw new McpxError('USAGE', `"${target}" names no tool: write <server>.<tool>, as mcpx tools does.`)
  }
  if (server === undefined) throw unknownServer(target.slice(0, target.indexOf('.')), names)
  return { server, tool: target.slice(server.length + 1) }
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

function show(result: JsonObject, json: boolean): void {
  if (json) printJson(result)
  const { content, isError } = result
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
