import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { FAILURES, isObject, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { ASKED, unknownServer } from '../../http/index.ts'
import type { ToolRequest } from '../../http/index.ts'
import { objectIn } from '../json-argument.ts'
import { print, printable, printJson } from '../output.ts'
import { onStopSignal } from '../signals.ts'
import { answerCommand, answersIn } from './answer-words.ts'
import { inProcess, throughDaemon } from './call-line.ts'
import type { DaemonLine, Line, Progress } from './call-line.ts'
import { ask } from './daemon-client.ts'
import { sharedDaemon, withRuntime, withSettings } from './shared.ts'
import type { CommonOptions } from './shared.ts'

interface CallOptions extends CommonOptions {
  readonly continue?: string
  readonly state?: string
  readonly answer: readonly string[]
}

type Asking = Extract<Progress, { status: 'input_required' }>

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
    .option('--state <state>', 'the same for a call that asked while no daemon ran, with the same arguments')
    .option('--answer <key=json>', 'an answer to what the call asked; may be repeated', collect, [])
    .addHelpText('after', '\nExample:\n  mcpx call files.read_text_file \'{"path": "README.md"}\'')
    .action(async (...given: [string | undefined, string | undefined, CallOptions, Command]) => {
      const [target, json, options, command] = given
      if (options.continue !== undefined) return goOn(options.continue, options)
      // Only --continue needs no target.
      if (target === undefined) return command.error("error: missing required argument 'server.tool'")
      const args = objectIn(json === '-' ? await readAll(process.stdin) : json)
      const daemon = sharedDaemon(options)
      const names = daemon && (await serversOf(daemon))
      if (daemon !== undefined && names !== undefined) {
        const request = requestFor(splitTarget(target, names), args, options)
        return seeInDaemon(throughDaemon(daemon, request), request.server, options)
      }
      await withRuntime(options, async ({ gateway }) => {
        const request = requestFor(splitTarget(target, gateway.names), args, options)
        const view = gateway.only(request.server)
        if (view !== undefined) await see(inProcess(gateway, view, request), request.server, options)
      })
    })
}

/** Undefined where nobody answers: a daemon that was killed leaves its word, and its number may be another's by now. */
async function serversOf(daemon: DaemonRecord): Promise<readonly string[] | undefined> {
  try {
    const { servers } = await ask<{ servers: { name: string }[] }>(daemon, '/v1/servers')
    return servers.map(({ name }) => name)
  } catch (error) {
    if (error instanceof McpxError && error.code === 'STOPPING') return undefined
    throw error
  }
}

async function goOn(id: string, options: CallOptions): Promise<void> {
  const daemon = sharedDaemon(options)
  if (daemon === undefined) {
    throw new McpxError(
      'USAGE',
      'The daemon in which the call waited does not run any more. Make the call anew.',
    )
  }
  const line = throughDaemon(daemon, { id })
  const answers = answersIn(options.answer)
  const first = Object.keys(answers).length === 0 ? undefined : answers
  const start = (): Promise<Progress> => (first === undefined ? line.start() : line.answer(first))
  await seeInDaemon({ ...line, start }, 'the server', options)
}

function requestFor(
  { server, tool }: { readonly server: string; readonly tool: string },
  args: JsonObject,
  { answer, state }: CallOptions,
): ToolRequest {
  const answers = answer.length === 0 ? undefined : answersIn(answer)
  return { server, tool, args, capabilities: ASKED, answers, state }
}

/** An interrupted command gives its call up, which would go on in the daemon without it. */
async function seeInDaemon(line: DaemonLine, server: string, options: CallOptions): Promise<void> {
  const unheard = onStopSignal(() => void line.giveUp().finally(() => process.exit(130)))
  try {
    await see(line, server, options)
  } finally {
    unheard()
  }
}

/** Sees a call through: its result is printed, its questions are put to whoever is there. */
async function see(line: Line, server: string, options: CallOptions): Promise<void> {
  const json = options.json === true
  try {
    let progress = await line.start()
    while (progress.status === 'input_required') {
      const answers = await answered(progress, server)
      if (answers === undefined) return tellHow(progress)
      progress = await line.answer(answers)
    }
    show(progress.result, json)
  } catch (error) {
    if (!(error instanceof McpxError) || error.code !== 'UPSTREAM_ERROR') throw error
    process.exitCode = FAILURES.UPSTREAM_ERROR.exit
    if (json) printJson({ error: error.data['error'] })
    else process.stderr.write(`${error.message}\n`)
  }
}

/** A person's answers, or undefined where there is no terminal, or a question that none can answer. */
async function answered({ questions }: Asking, server: string): Promise<JsonObject | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined
  const { putToPerson } = await import('../form.ts')
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

function tellHow({ questions, goOn: later }: Asking): void {
  process.exitCode = ASKS
  process.stderr.write(`The tool asks:\n${printable(JSON.stringify(questions, null, 2))}\n`)
  process.stderr.write(
    later === undefined
      ? 'It waited in this command, which has no terminal to ask on. With mcpx daemon running, the call waits there for an answer.\n'
      : `Answer with:\n  ${answerCommand(later, questions)}\n`,
  )
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
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
