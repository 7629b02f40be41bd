// What a start that found no era says: what happened, to which server, what was asked, and what to do next.
import { clip, clipList, McpxError } from '../base/index.ts'
import { METHOD, revisionsOf } from '../spec/index.ts'
import type { CloseReason, RpcError } from '../wire/index.ts'
import type { ProbeState } from './probe-state.ts'
import type { FailureReading } from './read-failure.ts'
import type { Question } from './verdict.ts'

export function noMutualVersion(state: ProbeState, theirs: readonly string[]): McpxError {
  const ours = [...revisionsOf('modern'), ...revisionsOf('legacy')]
  return new McpxError(
    'NO_MUTUAL_VERSION',
    `Server "${state.plan.server}" speaks ${clipList(theirs) || 'no revision that it names'}; mcpx speaks ${ours.join(', ')}. ` +
      'They share no revision: update the server, or mcpx.',
    { data: { theirs: [...theirs], ours } },
  )
}

export function refusedAsModern(state: ProbeState, error: RpcError): McpxError {
  return new McpxError(
    'UPSTREAM_PROTOCOL',
    `Server "${state.plan.server}" is modern and refused server/discover with ${error.code}: ${clip(error.message, 200)}`,
    { data: { error } },
  )
}

/** Both questions, or the only one allowed, were refused. */
export function refused(state: ProbeState): McpxError {
  const { discover, initialize } = state.refusals
  const told = (['discover', 'initialize'] as const)
    .map((question) => [question, state.refusals[question]] as const)
    .filter(([, refusal]) => refusal !== undefined)
    .map(([question, refusal]) => `${methodOf(question)} was refused (${clip(refusal?.answer ?? '', 200)})`)
    .join(', and ')
  const data = { discover: discover?.answer, initialize: initialize?.answer }
  if (state.plan.scope === 'first-only') {
    const preference = state.plan.first === 'discover' ? 'force-discover' : 'force-initialize'
    return new McpxError(
      'ERA_REFUSED',
      `Server "${state.plan.server}": ${told}. The preference ${preference} allows nothing else; prefer-discover would try the other era.`,
      { data },
    )
  }
  if (state.transport !== 'stdio' && discover !== undefined && initialize !== undefined) {
    return new McpxError(
      'NOT_AN_MCP_ENDPOINT',
      `Server "${state.plan.server}": ${told}. Is the URL that of an MCP endpoint?`,
      { data },
    )
  }
  return new McpxError(
    'ERA_REFUSED',
    `Server "${state.plan.server}": ${told}. It speaks no era that mcpx knows.`,
    { data },
  )
}

export function authRequired(state: ProbeState, status: number): McpxError {
  return new McpxError(
    'AUTH_REQUIRED',
    `Server "${state.plan.server}" asks for credentials (HTTP ${status}). Set its "headers" in the configuration, for example ` +
      '"Authorization": "Bearer ${env:TOKEN}".',
    { data: { status } },
  )
}

export function broken(state: ProbeState, reading: FailureReading & { kind: 'broken' }): McpxError {
  const server = state.plan.server
  if (reading.status === undefined) {
    return new McpxError('UPSTREAM_UNREACHABLE', `Server "${server}" cannot be reached: ${reading.why}`)
  }
  const said =
    reading.error === undefined ? '' : ` (${reading.error.code}: ${clip(reading.error.message, 200)})`
  return new McpxError(
    'HTTP_STATUS',
    `Server "${server}" answered ${reading.why}${said}. That says nothing of its era; try again later.`,
    {
      data: { status: reading.status, error: reading.error },
    },
  )
}

export function legacyHttpRefused(state: ProbeState, sse: McpxError): McpxError {
  const { discover, initialize } = state.refusals
  return new McpxError(
    'LEGACY_HTTP_REFUSED',
    `Server "${state.plan.server}" refused initialize (${initialize?.why}) and offers no HTTP+SSE stream either (${clip(sse.message, 200)}). ` +
      'Is the URL that of an MCP endpoint?',
    { cause: sse, data: { discover: discover?.answer, initialize: initialize?.answer, sse: sse.message } },
  )
}

export function closedDuringProbe(state: ProbeState, reason: CloseReason): McpxError {
  const asked = (['discover', 'initialize'] as const)
    .filter((question) => state.progress[question] !== 'unsent')
    .map(methodOf)
    .join(' and ')
  const starts = state.opened > 1 ? ` (start ${state.opened})` : ''
  return new McpxError(
    'CLOSED_DURING_PROBE',
    `Server "${state.plan.server}" ${describeClose(reason)} after ${asked || 'it was opened'}${starts}.${stderrOf(reason)}`,
    { data: { reason, opened: state.opened } },
  )
}

export function startTimeout(state: ProbeState): McpxError {
  const pending = (['discover', 'initialize'] as const)
    .filter((question) => state.progress[question] === 'pending')
    .map(methodOf)
    .join(' and ')
  return new McpxError(
    'UPSTREAM_START_TIMEOUT',
    `Server "${state.plan.server}" did not answer ${pending || 'the opening'} within ${state.plan.startTimeout / 1000} s. ` +
      'If it is only slow to start, raise "startTimeout".',
  )
}

export function givenUp(state: ProbeState, reason: string): McpxError {
  return new McpxError('CANCELLED', `The start of server "${state.plan.server}" was given up: ${reason}`)
}

/** How a channel closed, in few words. */
export function describeClose(reason: CloseReason): string {
  switch (reason.kind) {
    case 'closed':
      return 'was closed'
    case 'disconnected':
      return `disconnected (${reason.message})`
    case 'exited':
      return reason.signal === null ? `exited with code ${reason.code}` : `was ended by ${reason.signal}`
  }
}

/** The last lines of an ended process's stderr as the end of a message, or nothing. */
export function stderrOf(reason: CloseReason): string {
  return reason.kind === 'exited' ? stderrTail(reason.stderr) : ''
}

/** The last lines of a stderr as the end of a message, or nothing. */
export function stderrTail(lines: readonly string[]): string {
  if (lines.length === 0) return ''
  const shown = lines.slice(-10).map((line) => `  ${clip(line, 200)}`)
  return ` Its stderr ends:\n${shown.join('\n')}`
}

function methodOf(question: Question): string {
  return question === 'discover' ? METHOD.discover : METHOD.initialize
}
