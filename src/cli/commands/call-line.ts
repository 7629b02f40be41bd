// The two ways of a tool call from the command line: through the daemon, where it goes on when the command has ended, and in
// the command's own process.
import { Cancellation, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { LOCAL_USER } from '../../endpoint/index.ts'
import type { Gateway, View } from '../../gateway/index.ts'
import { callTool } from '../../http/index.ts'
import type { AskReport, ToolRequest } from '../../http/index.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import type { GoOn } from './answer-words.ts'
import { ask, isFailureCode } from './daemon-client.ts'

/** What a call comes to. */
export type Progress =
  | { readonly status: 'done'; readonly result: JsonObject }
  /** `goOn` says how it is answered later; undefined where nothing outlives the command. */
  | {
      readonly status: 'input_required'
      readonly questions: JsonObject
      readonly goOn: GoOn | undefined
    }

export interface Line {
  /** Rejects with the McpxError of the call. */
  start(): Promise<Progress>
  answer(answers: JsonObject): Promise<Progress>
}

export interface DaemonLine extends Line {
  /** Ends the call, on its server too. Never rejects. */
  giveUp(): Promise<void>
}

/** `id` is that of a call which was started before. */
export function throughDaemon(
  daemon: DaemonRecord,
  request: ToolRequest | { readonly id: string },
): DaemonLine {
  let begun = 'id' in request ? Promise.resolve(pathOf(request.id)) : undefined
  const begin = (): Promise<string> =>
    (begun ??= ask<AskReport>(daemon, '/v1/ask', { method: 'POST', body: request }).then(({ id }) =>
      pathOf(id),
    ))
  return {
    start: async () => settled(daemon, await begin()),
    answer: async (answers) => {
      const path = await begin()
      await ask(daemon, `${path}/answers`, { method: 'POST', body: answers })
      return settled(daemon, path)
    },
    giveUp: async () => {
      try {
        if (begun !== undefined) await ask(daemon, await begun, { method: 'DELETE' })
      } catch {
        // It is over already, or its daemon is.
      }
    },
  }
}

/** A call that its server forgets is gone on with by its state; one that is open on a server ends with the command. */
export function inProcess(gateway: Gateway, view: View, request: ToolRequest): Line {
  const { server, tool, args } = request
  let { state } = request
  const run = async (answers: JsonObject | undefined): Promise<Progress> => {
    const outcome = await callTool(
      view,
      { ...request, answers, state },
      { caller: { principal: LOCAL_USER }, cancellation: new Cancellation() },
    )
    if (outcome.status === 'failed') throw outcome.error
    if (outcome.status === 'done') return outcome
    const { questions } = outcome
    state = outcome.state
    const goOn = gateway.parked() > 0 ? undefined : { target: `${server}.${tool}`, args, state }
    return { status: 'input_required', questions, goOn }
  }
  return { start: () => run(request.answers), answer: run }
}

function pathOf(id: string): string {
  return `/v1/ask/${encodeURIComponent(id)}`
}

async function settled(daemon: DaemonRecord, path: string): Promise<Progress> {
  for (;;) {
    const now = await ask<AskReport>(daemon, `${path}?wait=5s`)
    switch (now.status) {
      case 'running':
        continue
      case 'done':
        return { status: 'done', result: now.result }
      case 'input_required':
        return { status: 'input_required', questions: now.questions, goOn: { id: now.id } }
      case 'failed':
        // A daemon of another version may know other codes.
        throw new McpxError(isFailureCode(now.code) ? now.code : 'UPSTREAM_ERROR', now.detail, {
          data: { error: now.error },
        })
    }
  }
}
