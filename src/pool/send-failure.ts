import { clip, McpxError } from '../base/index.ts'
import type { SendFailure } from '../wire/index.ts'

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

function statusFailure(failure: SendFailure & { kind: 'status' }, server: string, method: string): McpxError {
  const { status, response, body } = failure
  const error = response !== undefined && 'error' in response ? response.error : undefined
  const data = { status, body: clip(body, 1000), error, ran: status === 404 ? 'no' : 'unknown' }
  if (status === 401 || status === 403) {
    const challenge = failure.headers['www-authenticate']
    const hint = 'Check the "headers" of its configuration.'
    return new McpxError(
      'AUTH_REQUIRED',
      `Server "${server}" refused the credentials for ${method} (HTTP ${status}). ${hint}`,
      {
        data: { ...data, challenge, ran: 'no' },
      },
    )
  }
  const said = error === undefined ? clip(body.trim(), 200) : `${error.code}: ${clip(error.message, 200)}`
  return new McpxError(
    'HTTP_STATUS',
    `Server "${server}" answered ${method} with HTTP ${status}${said === '' ? '' : ` (${said})`}.`,
    {
      data,
    },
  )
}
