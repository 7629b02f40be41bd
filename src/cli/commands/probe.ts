import type { Command } from 'commander'
import { asMcpxError, McpxError, SILENT } from '../../base/index.ts'
import { connect } from '../../pool/index.ts'
import type { Connection, ProbeFrame } from '../../pool/index.ts'
import { parseDuration } from '../../config/index.ts'
import { ERRORS } from '../../spec/index.ts'
import { createDialer, systemClock } from '../../transport/index.ts'
import type { Target } from '../../wire/index.ts'
import { print, printJson, styled, table } from '../output.ts'
import { MCPX_INFO } from '../runtime.ts'
import { onStopSignal } from '../signals.ts'

interface ProbeOptions {
  readonly json?: boolean
  readonly header: readonly string[]
  readonly timeout: string
}

/** `mcpx probe <url | -- command…>`: which era a server speaks, and why. Nothing is kept. */
export function addProbe(program: Command): void {
  program
    .command('probe')
    .description('find out which era a server speaks, and say why; nothing is kept')
    .argument('<target...>', 'a URL, or -- and a command with its arguments')
    .option(
      '--header <name: value>',
      'a header for a URL; may be repeated',
      (value: string, all: string[]) => [...all, value],
      [],
    )
    .option('--timeout <duration>', 'how long the whole may take', '60s')
    .option('--json', 'print JSON')
    .action(async (words: readonly string[], options: ProbeOptions) => {
      const { connection, frames, error } = await probe(targetOf(words, options), options)
      if (options.json === true) printJson(reportOf(connection, frames, error))
      else explain(connection, frames, error)
      process.exitCode = connection === undefined ? 1 : 0
    })
}

interface Outcome {
  readonly connection: Connection | undefined
  readonly frames: readonly ProbeFrame[]
  readonly error: McpxError | undefined
}

async function probe(target: Target, options: ProbeOptions): Promise<Outcome> {
  const startTimeout = parseDuration(options.timeout)
  if (startTimeout === undefined)
    throw new McpxError('USAGE', `--timeout ${options.timeout} is no duration such as 30s.`)
  const server = target.kind === 'http' ? target.url : target.command
  const dialer = createDialer({ clock: systemClock, log: SILENT, name: server })
  let lastId = 0
  const connecting = connect({
    target,
    dialer,
    clock: systemClock,
    log: SILENT,
    identity: { info: MCPX_INFO, capabilities: {} },
    nextId: () => ++lastId,
    callTimeout: startTimeout,
    callTimeoutMax: startTimeout,
    plan: {
      server,
      transport: target.kind === 'http' ? 'streamable-http' : 'stdio',
      first: 'discover',
      scope: 'both',
      remembered: undefined,
      probeTimeout: 2000,
      startTimeout,
    },
    onClosed() {},
    onNotification() {},
    onCorrected() {},
    onSighting() {},
    asksAside: () => false,
    onStrayInquiry: async () => ({
      error: { code: ERRORS.methodNotFound, message: 'a probe answers no questions' },
    }),
  })
  const unheard = onStopSignal(() => connecting.giveUp('interrupted'))
  try {
    const connection = await connecting.connected
    return { connection, frames: connecting.frames, error: undefined }
  } catch (error) {
    return { connection: undefined, frames: connecting.frames, error: asMcpxError(error) }
  } finally {
    unheard()
    await dialer.close()
  }
}

function targetOf(words: readonly string[], options: ProbeOptions): Target {
  const [first = '', ...args] = words
  if (/^https?:\/\//i.test(first)) {
    if (!URL.canParse(first)) throw new McpxError('USAGE', `${first} is no URL.`)
    return { kind: 'http', url: first, headers: Object.fromEntries(options.header.map(headerOf)) }
  }
  return { kind: 'stdio', command: first, args, env: {}, cwd: undefined }
}

function headerOf(text: string): [string, string] {
  const colon = text.indexOf(':')
  if (colon < 1) throw new McpxError('USAGE', `--header ${text} has no colon: write "Name: value".`)
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
}

function reportOf(
  connection: Connection | undefined,
  frames: readonly ProbeFrame[],
  error: McpxError | undefined,
): unknown {
  const verdict = connection?.verdict
  return {
    verdict:
      verdict === undefined
        ? null
        : {
            era: verdict.era,
            revision: verdict.revision,
            transport: verdict.transport,
            source: verdict.source,
          },
    frames,
    error: error === undefined ? null : { code: error.code, message: error.message },
  }
}

function explain(
  connection: Connection | undefined,
  frames: readonly ProbeFrame[],
  error: McpxError | undefined,
): void {
  const rows = frames.map(({ dir, method, ms, summary }) => [
    `${ms} ms`,
    dir === 'sent' ? '→' : '←',
    method,
    summary,
  ])
  if (rows.length > 0) print(`${table([['AT', '', 'FRAME', 'SAYS'], ...rows])}\n`)
  if (connection === undefined) {
    process.stderr.write(`${styled('red', 'No verdict.')} ${error?.message ?? ''}\n`)
    return
  }
  const { era, revision, transport, source } = connection.verdict
  print(`${styled('bold', era)}: ${REASONS[source](era)} Revision ${revision}, over ${transport}.`)
}

const REASONS = {
  probe: (era: string) =>
    era === 'modern'
      ? 'it answered server/discover with a revision that needs no handshake.'
      : 'it refused server/discover as servers before 2026-07-28 do, and answered initialize.',
  raced: () => 'it was silent on server/discover, so initialize was asked beside it and answered first.',
  closed: () => 'it went away on server/discover; a fresh start answered initialize.',
  cache: () => 'it is what was remembered.',
  forced: () => 'nothing else was asked.',
} as const
