// The two ways of a tool call from the command line: through the daemon, where it goes on when the command has ended, and in
// the command's own process.
import { Cancellation, McpxError } from '../../base/index.ts'
import type { JsonObject } from '../../base/index.ts'
import { LOCAL_USER } from '../../endpoint/index.ts'
import type { View } from '../../gateway/index.ts'
import { callTool } from '../../http/index.ts'
import type { AskReport, ToolRequest } from '../../http/index.ts'
import type { DaemonRecord } from '../daemon-record.ts'
import { onStopSignal } from '../signals.ts'
import { ask } from './daemon-client.ts'

/** What a call comes to. */
export type Progress =
  | { readonly status: 'done'; readonly result: JsonObject }
  /** `goOn` is what `mcpx call` is given to answer later; undefined where nothing outlives the command. */
  | {
      readonly status: 'input_required'
      readonly questions: JsonObject
      readonly goOn: string | undefined
    }

export interface Line {
  /** Rejects with the McpxError of the call. */
  start(): Promise<Progress>
  answer(answers: JsonObject): Promise<Progress>
}

export function throughDaemon(daemon: DaemonRecord, request: ToolRequest | { readonly id: string }): Line {
  const watched = async (asked: AskReport): Promise<Progress> => {
    // An interrupted command gives its call up, on its server too.
    const unheard = onStopSignal(() => {
      void ask(daemon, `/v1/ask/${asked.id}`, { method: 'DELETE' })
        .catch(() => {})
        .finally(() => process.exit(130))
    })
    try {
      return await settled(daemon, asked)
    } finally {
      unheard()
    }
  }
  let id = 'id' in request ? request.id : ''
  return {
    start: async () => {
      if ('id' in request) return settled(daemon, { id, status: 'running' })
      const { server, tool, args, capabilities } = request
      const asked = await ask<AskReport>(daemon, '/v1/ask', {
        ...{ method: 'POST', body: { server, tool, args, capabilities } },
      })
      id = asked.id
      return watched(asked)
    },
    answer: async (answers) =>
      watched(await ask<AskReport>(daemon, `/v1/ask/${id}/answers`, { method: 'POST', body: answers })),
  }
}

/** A call that its server forgets is gone on with by its state; one that is open on a server ends with the command. */
export function inProcess(view: View, request: ToolRequest): Line {
  let state: string | undefined
  const run = async (answers: JsonObject | undefined): Promise<Progress> => {
    const outcome = await callTool(
      view,
      { ...request, answers, state },
      { caller: { principal: LOCAL_USER }, cancellation: new Cancellation() },
    )
    if (outcome.status === 'failed') throw outcome.error
    if (outcome.status === 'done') return outcome
    state = outcome.state
    return { status: 'input_required', questions: outcome.questions, goOn: undefined }
  }
  return { start: () => run(undefined), answer: run }
}

async function settled(daemon: DaemonRecord, asked: AskReport): Promise<Progress> {
  for (let now = asked; ; now = await ask<AskReport>(daemon, `/v1/ask/${asked.id}?wait=5s`)) {
    switch (now.status) {
      case 'running':
        continue
      case 'done':
        return { status: 'done', result: now.result }
      case 'input_required':
        return { status: 'input_required', questions: now.questions, goOn: now.id }
      case 'failed':
        throw new McpxError('UPSTREAM_ERROR', now.detail)
    }
  }
}
