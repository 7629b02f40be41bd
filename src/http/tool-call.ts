// A tool call that comes by the REST interface: asked by results, like a modern client's.
import { asMcpxError, isObject, McpxError } from '../base/index.ts'
import type { Cancellation, JsonObject } from '../base/index.ts'
import { METHOD, newest } from '../spec/index.ts'
import type { RevisionId } from '../spec/index.ts'
import type { Answer, Call, CallHandler } from '../wire/index.ts'

/** What a body of `/v1/call` or `/v1/ask` says. */
export interface ToolRequest {
  readonly server: string
  readonly tool: string
  readonly args: JsonObject
  /** What the caller can be asked, as a modern client declares it. */
  readonly capabilities: JsonObject
  /** What goes on with an earlier answer. */
  readonly answers: JsonObject | undefined
  readonly state: string | undefined
}

export interface Caller {
  readonly principal: string
  readonly revision?: RevisionId
  readonly session?: string | undefined
}

/** What an answer comes to. */
export type Outcome =
  | { readonly status: 'done'; readonly result: JsonObject }
  | { readonly status: 'input_required'; readonly questions: JsonObject; readonly state: string }
  | { readonly status: 'failed'; readonly error: McpxError }

/** What a person can be asked who calls by REST, or from the command line. */
export const ASKED: JsonObject = { elicitation: { form: {}, url: {} } }

/** Throws USAGE for a body that is no request. */
export function toolRequestOf(body: unknown): ToolRequest {
  const { server, tool, args = {}, capabilities = ASKED, answers, state } = isObject(body) ? body : {}
  if (typeof server !== 'string' || typeof tool !== 'string' || !isObject(args) || !isObject(capabilities)) {
    throw new McpxError('USAGE', 'The body must be {"server": "…", "tool": "…", "args": {…}}.')
  }
  if ((answers !== undefined && !isObject(answers)) || (state !== undefined && typeof state !== 'string')) {
    throw new McpxError('USAGE', '"answers" must be an object of answers by key, and "state" a string.')
  }
  return { server, tool, args, capabilities, answers, state }
}

/** Calls the tool. Never rejects. */
export async function callTool(
  view: CallHandler,
  request: ToolRequest,
  { caller, cancellation }: { readonly caller: Caller; readonly cancellation: Cancellation },
): Promise<Outcome> {
  const { principal, revision = newest(), session } = caller
  const { tool, args, capabilities, answers, state } = request
  const call: Call = {
    method: METHOD.toolsCall,
    params: {
      ...{ name: tool, arguments: args },
      ...(answers === undefined ? {} : { inputResponses: answers }),
      ...(state === undefined ? {} : { requestState: state }),
    },
    caller: { revision, clientInfo: undefined, capabilities, principal, session },
    cancellation,
    asked: 'by-result',
    wantsProgress: false,
    logLevel: undefined,
    notify() {},
  }
  try {
    return outcomeOf(await view.handle(call), request.server)
  } catch (error) {
    return { status: 'failed', error: asMcpxError(error) }
  }
}

function outcomeOf(answer: Answer, server: string): Outcome {
  if ('error' in answer) {
    const { code, message } = answer.error
    const text = `Server "${server}" answered with error ${code}: ${message}`
    return {
      status: 'failed',
      error: new McpxError('UPSTREAM_ERROR', text, { data: { error: answer.error } }),
    }
  }
  const { resultType, inputRequests, requestState } = answer.result
  if (resultType !== 'input_required') return { status: 'done', result: answer.result }
  return {
    status: 'input_required',
    questions: isObject(inputRequests) ? inputRequests : {},
    state: typeof requestState === 'string' ? requestState : '',
  }
}
