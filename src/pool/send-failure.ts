import { clip, McpxError } from '../base/index.ts'
import { describeClose, stderrOf } from '../era/index.ts'
import { ERRORS } from '../spec/index.ts'
import type { Era } from '../spec/index.ts'
import type { CloseReason, SendFailure } from '../wire/index.ts'

type StatusFailure = SendFailure & { readonly kind: 'status' }

/**
 * The error of a request whose answer cannot come. `data.ran` is `no` where it is proven that the server did not run it, so
 * that it may be sent again, and `unknown` otherwise.
 */
export function failureOf(failure: SendFailure, server: string, method: string): McpxError {
  switch (failure.kind) {
    case 'network': {
      const ran = failure.sent ? 'unknown' : 'no'
      const note = failure.sent ? ' It may have run.' : ''
      return new McpxError(
        'UPSTREAM_UNREACHABLE',
        `${method} on server "${server}" got no answer: ${failure.message}.${note}`,
        {
          data: { ran },
        },
      )
    }
    case 'too-large':
      return new McpxError(
        'MESSAGE_TOO_LARGE',
        `The answer of server "${server}" to ${method} is larger than ${failure.bytes} bytes.`,
        {
          data: { ran: 'unknown' },
        },
      )
    case 'not-json-rpc':
      return new McpxError(
        'UPSTREAM_PROTOCOL',
        `Server "${server}" answered ${method} with HTTP ${failure.status} and no JSON-RPC message (${failure.contentType || 'no content'}).`,
        { data: { ran: 'unknown', status: failure.status, body: failure.body } },
      )
    case 'status':
      return statusFailure(failure, server, method)
  }
}

/** The error of a request on a connection that is gone. `running` is the method of one that had been sent: it may have run. */
export function closedError(server: string, reason: CloseReason, running?: string): McpxError {
  const lost = running === undefined ? '' : ` while it was asked ${running}, which may have run`
  const text = `Server "${server}" ${describeClose(reason)}${lost}.${stderrOf(reason)}`
  return new McpxError('UPSTREAM_CLOSED', text, {
    data: { reason, ran: running === undefined ? 'no' : 'unknown' },
  })
}

export function cancelled(server: string, method: string, reason: string): McpxError {
  return new McpxError('CANCELLED', `${method} on server "${server}" was cancelled: ${reason}`)
}

/** Statuses that ask for credentials, or refuse those that came. */
export function isAuthStatus(status: number): boolean {
  return status === 401 || status === 403 || status === 407
}

/** What legacy servers answer for a name that they do not have; some do it with a 404. */
const NOT_FOUND: ReadonlySet<number> = new Set([
  ERRORS.methodNotFound,
  ERRORS.invalidParams,
  ERRORS.resourceNotFound,
])

/** Whether a 404 is that of a legacy session, which may carry a JSON-RPC error with the id of the request. */
export function isSessionGone({ status, response }: StatusFailure, era: Era): boolean {
  if (status !== 404 || era !== 'legacy') return false
  return response === undefined || ('error' in response && !NOT_FOUND.has(response.error.code))
}

function statusFailure(failure: StatusFailure, server: string, method: string): McpxError {
  const { status, response, body, refusal } = failure
  if (refusal !== undefined) return refusal
  // What is said of refused credentials may repeat them, so none of it is kept.
  if (isAuthStatus(status)) {
    const hint = 'Check the "headers" of its configuration.'
    const text = `Server "${server}" refused the credentials for ${method} (HTTP ${status}). ${hint}`
    return new McpxError('AUTH_REQUIRED', text, { data: { status, ran: 'no' } })
  }
  const error = response !== undefined && 'error' in response ? response.error : undefined
  const data = { status, body: clip(body, 1000), error, ran: status === 404 ? 'no' : 'unknown' }
  const said = error === undefined ? clip(body.trim(), 200) : `${error.code}: ${clip(error.message, 200)}`
  return new McpxError(
    'HTTP_STATUS',
    `Server "${server}" answered ${method} with HTTP ${status}${said === '' ? '' : ` (${said})`}.`,
    {
      data,
    },
  )
}
