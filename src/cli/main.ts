#!/usr/bin/env node
// The command line. Exit codes are those of base/failure.ts and docs/errors.md.
import { Command, CommanderError } from 'commander'
import { asMcpxError, FAILURES } from '../base/index.ts'
import { addAdd } from './commands/add.ts'
import { addCall } from './commands/call.ts'
import { addClients } from './commands/clients.ts'
import { addConfig } from './commands/config.ts'
import { addDaemon } from './commands/daemon.ts'
import { addImport } from './commands/import.ts'
import { addInstall } from './commands/install.ts'
import { addKeys } from './commands/keys.ts'
import { addLogin } from './commands/login.ts'
import { addLogout } from './commands/logout.ts'
import { addProbe } from './commands/probe.ts'
import { addProtocol } from './commands/protocol.ts'
import { addQuestions } from './commands/questions.ts'
import { addRecord } from './commands/record.ts'
import { addRemove } from './commands/remove.ts'
import { addReplay } from './commands/replay.ts'
import { addServe } from './commands/serve.ts'
import { addSettings } from './commands/settings.ts'
import { addToken } from './commands/token.ts'
import { addTools } from './commands/tools.ts'
import { styled } from './output.ts'
import { VERSION } from './version.ts'

const program = new Command('mcpx')
  .description('Any MCP client works with any MCP server.')
  .version(VERSION)
  .exitOverride()
  .enablePositionalOptions()
  .showHelpAfterError('(mcpx --help tells what there is)')

for (const add of [
  addDaemon,
  addServe,
  addCall,
  addTools,
  addProbe,
  addProtocol,
  addRecord,
  addReplay,
  addClients,
  addQuestions,
  addKeys,
  addToken,
  addLogin,
  addLogout,
  addSettings,
  addConfig,
  addAdd,
  addRemove,
  addImport,
  addInstall,
])
  add(program)
for (const command of program.commands)
  command.exitOverride().showHelpAfterError(`(mcpx ${command.name()} --help tells more)`)

// Where files may not grow, writing one fails with an error that is handled, instead of ending the process.
process.on('SIGXFSZ', () => {})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Says what went wrong and returns the exit code. */
function report(error: unknown): number {
  // Commander has printed its own message; help and version are no failures.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : FAILURES.USAGE.exit
  const failure = asMcpxError(error)
  process.stderr.write(`${styled('red', 'mcpx:')} ${failure.message}\n`)
  if (failure.code === 'INTERNAL')
    process.stderr.write(`${failure.cause instanceof Error ? failure.cause.stack : ''}\n`)
  return FAILURES[failure.code].exit
}
