import type { Command } from 'commander'
import { isObject, McpxError } from '../../base/index.ts'
import type { QuestionReport } from '../../http/index.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { formatAge, print, printable, printJson, table, textOf } from '../output.ts'
import { ask, neededDaemon, openEvents } from './daemon-client.ts'
import type { CommonOptions } from './shared.ts'

interface ListOptions extends CommonOptions {
  readonly watch?: boolean
}

interface AnswerOptions extends CommonOptions {
  readonly result?: string
  readonly decline?: boolean
  readonly cancel?: boolean
}

/** `mcpx questions`: what servers ask and no caller can answer, and the answers to it. */
export function addQuestions(program: Command): void {
  const command = program
    .command('questions')
    .description('show what servers ask that their callers cannot answer, and answer it')
    .option('-c, --config <file>', 'the configuration file; without it one is searched for')
    .option('--watch', 'take questions from now on: on a terminal they are put to you as they come')
    .option('--json', 'print JSON')
    .action(async (options: ListOptions) => {
      const daemon = neededDaemon(options)
      if (options.watch === true) return watch(daemon, options)
      const { questions } = await ask<{ questions: QuestionReport[] }>(daemon, '/v1/questions')
      if (options.json === true) printJson({ questions })
      else printList(questions)
    })
  command
    .command('answer')
    .description('answer a question')
    .argument('<id>', 'its id, as mcpx questions shows it')
    .argument('[values...]', 'the fields of a form, each as key=value')
    .option('--result <json>', 'the whole result, for what is no form')
    .option('--decline', 'say no')
    .option('--cancel', 'say nothing')
    .action(async (id: string, words: string[], options: AnswerOptions) => {
      const daemon = neededDaemon({ ...command.opts(), ...options })
      await ask(daemon, `/v1/questions/${encodeURIComponent(id)}`, {
        method: 'POST',
        body: await resultOf(daemon, id, { words, options }),
      })
    })
}

async function resultOf(
  daemon: DaemonRecord,
  id: string,
  { words, options }: { readonly words: readonly string[]; readonly options: AnswerOptions },
): Promise<unknown> {
  if (options.decline === true) return { action: 'decline' }
  if (options.cancel === true) return { action: 'cancel' }
  try {
    if (options.result !== undefined) return JSON.parse(options.result)
    const { valuesOf } = await import('../form.ts')
    const { questions } = await ask<{ questions: QuestionReport[] }>(daemon, '/v1/questions')
    const question = questions.find((candidate) => candidate.id === id)
    return { action: 'accept', content: valuesOf(words, question?.params['requestedSchema']) }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new McpxError('INPUT_NOT_JSON', `The answer cannot be read: ${error.message}`)
  }
}

function printList(questions: readonly QuestionReport[]): void {
  if (questions.length === 0) return print('No question waits.')
  const rows = questions.map(({ id, server, method, params, askedAt }) => [
    id,
    server,
    method,
    `${formatAge(Math.max(0, Date.now() - askedAt))} ago`,
    printable(textOf(params['message'])).replaceAll('\n', ' '),
  ])
  print(table([['ID', 'SERVER', 'KIND', 'ASKED', 'QUESTION'], ...rows]))
  print('\nAnswer with: mcpx questions answer <id> key=value …, or --decline, or --cancel')
}

/** Until the daemon ends or the command is interrupted. */
async function watch(daemon: DaemonRecord, options: ListOptions): Promise<void> {
  const { createParser } = await import('eventsource-parser')
  const terminal = process.stdin.isTTY && process.stderr.isTTY && options.json !== true
  const waiting: QuestionReport[] = []
  let working: Promise<void> | undefined
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const value: unknown = JSON.parse(data)
      if (!isObject(value)) return
      if (!terminal) return printJson({ event, ...value })
      if (event === 'question.ended') {
        const at = waiting.findIndex(({ id }) => id === value['id'])
        if (at >= 0) waiting.splice(at, 1)
      }
      if (event !== 'question.asked') return
      waiting.push(value as unknown as QuestionReport)
      working ??= work().finally(() => {
        working = undefined
      })
    },
  })
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await putOne(daemon, next)
  }
  if (terminal) print('Waiting for questions; Ctrl-C ends it.')
  for await (const text of openEvents(daemon, '/v1/questions/stream')) parser.feed(text)
  await working
}

async function putOne(daemon: DaemonRecord, question: QuestionReport): Promise<void> {
  const { putToPerson } = await import('../form.ts')
  const terminal = { input: process.stdin, output: process.stderr }
  const result = await putToPerson({ ...question, params: { ...question.params } }, terminal)
  if (result === undefined) {
    print(`A terminal cannot answer ${question.method}: mcpx questions answer ${question.id} --result '{…}'`)
    return
  }
  try {
    await ask(daemon, `/v1/questions/${question.id}`, { method: 'POST', body: result })
  } catch (error) {
    if (!(error instanceof McpxError)) throw error
    print(error.message)
  }
}
